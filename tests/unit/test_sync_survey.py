"""Looking over a root again: every kind of change is seen, and an unchanged root is recognised as such."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core.model.config import Config, parse_config
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.sync import survey
from palimpsest_core.sync.reconcile import Reconciler, Refresh
from palimpsest_core.sync.survey import Survey


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every folder had been left alone for long; then times must differ, so a clock tick goes by first."""
    monkeypatch.setattr(survey, "SETTLED_SECONDS", -3600.0)


def log(root: Path, name: str, cwd: str = "/srv/a", version: int = 0) -> str:
    rows = [header(version, name, cwd=cwd), prompt(0, "x")]
    return write(root, frames(rows), version=version, session_id=name, cwd=cwd).path


def append(path: str) -> None:
    with open(path, "ab") as file:
        file.write(b"x")


CHANGES: dict[str, Callable[[Path, str], object]] = {
    "an append": lambda root, path: append(path),
    "a touch": lambda root, path: os.utime(path, (5, 5)),
    "a removed log": lambda root, path: os.unlink(path),
    "a new session": lambda root, path: log(root, "new"),
    "a new project": lambda root, path: log(root, "new", "/srv/other"),
    "a new generation": lambda root, path: log(root, "a", version=2),
    "a replaced log": lambda root, path: (Path(path + ".new").write_bytes(b"y"), os.rename(path + ".new", path)),
    "a renamed session folder": lambda root, path: os.rename(os.path.dirname(path), os.path.dirname(path) + "-b"),
    "a renamed project": lambda root, path: os.rename(Path(path).parents[1], str(Path(path).parents[1]) + "-b"),
    "a flat log": lambda root, path: Path(path).parents[1].joinpath("x.jsonl").touch(),
    "a removed root": lambda root, path: root.rename(root.with_name("gone")),
}


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(tmp_path: Path, change: str) -> None:
    root = tmp_path / "root"
    path = log(root, "a")
    log(root, "b", "/srv/b")
    looking = Survey(str(root))
    assert len(looking.look() or ()) == 2
    assert looking.look() is None
    time.sleep(0.02)
    CHANGES[change](root, path)
    assert looking.look() is not None


WITHOUT_A_STAT = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of every change")


def watching(root: Path) -> Survey:
    """A survey that looked so often that it relies on watches, where it can."""
    looking = Survey(str(root))
    assert looking.look() is not None
    for _ in range(3):
        assert looking.look() is None
    return looking


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_at_once_by_whoever_relies_on_watches(tmp_path: Path, change: str) -> None:
    root = tmp_path / "root"
    path = log(root, "a")
    log(root, "b", "/srv/b")
    looking = watching(root)
    CHANGES[change](root, path)
    assert looking.look() is not None


@WITHOUT_A_STAT
@pytest.mark.usefixtures("settled")
def test_an_unchanged_root_is_not_looked_at_again_until_something_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(tmp_path / "root", "a")
    looking = watching(tmp_path / "root")
    looked: list[bool] = []
    stand = Survey._folders_stand
    monkeypatch.setattr(Survey, "_folders_stand", lambda self, seen: looked.append(True) or stand(self, seen))
    assert looking.look() is None
    assert not looked
    append(path)
    assert [file.path for file in looking.look() or ()] == [path]
    assert looking.look() is None
    assert len(looked) == 1
    monkeypatch.setattr(survey, "LOOK_ALL_THE_SAME_SECONDS", -1.0)
    assert looking.look() is None
    assert len(looked) == 2


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("kind", ["a link to a log", "a log with two names", "a link to a folder"])
def test_what_can_be_changed_from_elsewhere_is_looked_at_each_time(tmp_path: Path, kind: str) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    path, folder = log(root, "a"), os.path.dirname(log(root, "a"))
    if kind == "a link to a folder":
        os.rename(folder, other)
        os.symlink(other, folder)
        elsewhere = str(other / os.path.basename(path))
    elif kind == "a link to a log":
        os.rename(path, other)
        os.symlink(other, path)
        elsewhere = str(other)
    else:
        os.link(path, other)
        elsewhere = str(other)
    looking = watching(root)
    time.sleep(0.02)
    append(elsewhere)
    assert looking.look() is not None


@pytest.mark.usefixtures("settled")
def test_a_root_that_is_another_folder_now_is_looked_at_though_no_watch_tells(tmp_path: Path) -> None:
    root, above = tmp_path / "above" / "root", tmp_path / "above"
    log(root, "a")
    looking = watching(root)
    above.rename(tmp_path / "elsewhere")
    log(root, "b")
    assert [file.folder for file in looking.look() or ()] == ["b"]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_by_whoever_goes_on_from_a_saved_look(tmp_path: Path, change: str) -> None:
    root = tmp_path / "root"
    path = log(root, "a")
    log(root, "b", "/srv/b")
    first = Survey(str(root))
    first.look()
    saved = first.save()
    assert saved is not None
    assert Survey(str(root), saved).look() is None
    time.sleep(0.02)
    CHANGES[change](root, path)
    assert sorted(file.path for file in Survey(str(root), saved).look() or ()) == sorted(
        file.path for file in Survey(str(root)).look() or ()
    )


def test_a_saved_look_that_cannot_be_read_is_looked_past(tmp_path: Path) -> None:
    log(tmp_path, "a")
    assert len(Survey(str(tmp_path), b"\xc1 nothing").look() or ()) == 1


@pytest.mark.usefixtures("settled")
def test_a_new_process_that_finds_nothing_changed_asks_for_no_log_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, config = tmp_path / "root", Config()
    path = log(root, "a")
    with contextlib.closing(Fts5Provider(str(tmp_path / "i.sqlite"), root=str(root), config=config)) as index:
        Reconciler(index, str(root), config).run()
    with contextlib.closing(Fts5Provider(str(tmp_path / "i.sqlite"), root=str(root), config=config)) as index:
        with monkeypatch.context() as patched:
            for name in ("known_logs", "batch"):
                patched.setattr(Fts5Provider, name, None)
            assert Reconciler(index, str(root), config).run() == Refresh(logs=1)
        time.sleep(0.02)
        append(path)
        assert Reconciler(index, str(root), config).run().changed == [path]


@pytest.mark.usefixtures("settled")
def test_a_saved_look_does_not_hide_logs_that_other_extractors_must_read_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    path = log(root, "a")
    full, reference = parse_config({"extractors": "full"}), parse_config({"extractors": "reference"})
    with contextlib.closing(Fts5Provider(":memory:", root=str(root), config=full)) as index:
        Reconciler(index, str(root), full).run()
        assert Reconciler(index, str(root), full).run() == Refresh(logs=1)
        assert Reconciler(index, str(root), reference).run().changed == [path]


def test_a_root_that_changed_lately_is_walked_each_time(tmp_path: Path) -> None:
    log(tmp_path, "a")
    looking = Survey(str(tmp_path))
    for _ in range(3):
        assert len(looking.look() or ()) == 1


def test_a_missing_root_is_empty_and_seen_when_it_comes(tmp_path: Path) -> None:
    looking = Survey(str(tmp_path / "later"))
    assert looking.look() == []
    log(tmp_path / "later", "a")
    assert len(looking.look() or ()) == 1
