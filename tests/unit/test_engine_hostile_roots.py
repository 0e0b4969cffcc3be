"""Roots that nobody means well: odd names, what is no file, families in circles. All is listed, nothing hangs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from logmaking import frames, header, prompt, row, write

from palimpsest_core import Engine
from palimpsest_tui.cli import main as script

SOUND = [prompt(0, "needle"), row(1, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})]
NAMES = [b"new\nline", b"\x1b[31m\x1b]0;own\x07", "rtl\u202egnp".encode(), b"-rf", b"..x", b"a'b\"c;$(id)", b"\x80\xff"]


@pytest.fixture
def odd_names(tmp_path: Path) -> Path:
    for number, name in enumerate(NAMES):
        folder = os.path.join(os.fsencode(tmp_path), b"--" + name + b"--", name)
        os.makedirs(folder)
        with open(folder + b"/session.jsonl.zstd", "wb") as file:
            file.write(frames([header(0, f"s{number}"), *SOUND]))
    return tmp_path


def test_folders_of_any_name_are_listed_before_and_after_they_are_read(odd_names: Path) -> None:
    with Engine(odd_names, index=":memory:") as engine:
        before = {row.id: row.path for row in engine.sessions()}
        engine.refresh()
        assert {row.id: row.path for row in engine.sessions()} == before
        assert len(before) == len(NAMES)
        assert len(engine.search_sessions("needle").items) == len(NAMES)
        for session_id, path in before.items():
            assert os.path.exists(path)
            assert [row.path for row in engine.logs_of(session_id)] == [path]
            with engine.open_log(session_id).closing() as log:
                log.load()
                assert len(log) == 2
            assert engine.plan_export(session_id).logs[0].path == path


@pytest.mark.parametrize("command", [["ls"], ["doctor"], ["stats"], ["search", "needle"], ["show", "s6"]])
def test_folders_of_any_name_can_be_told_of(
    odd_names: Path, command: list[str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    common = ["--root", str(odd_names), "--index", str(odd_names / "index.sqlite")]
    assert script.run([*common, *command]) in (0, 3)
    told = capfdbinary.readouterr().out.decode()
    assert all(char.isprintable() or char in "\n\t" for char in told)
    assert script.run([*common, *command, "--json"]) in (0, 3)
    assert json.loads(capfdbinary.readouterr().out)["command"] == command[0]


def test_what_bears_a_log_s_name_and_is_no_file_is_told_and_never_waited_for(tmp_path: Path) -> None:
    write(tmp_path, frames([header(0, "ok"), *SOUND]), session_id="ok")
    project = tmp_path / "--srv-a--"
    for name in ("pipe", "folder", "device", "lost"):
        (project / name).mkdir()
    os.mkfifo(project / "pipe" / "session.jsonl.zstd")
    (project / "folder" / "session.jsonl.zstd").mkdir()
    (project / "device" / "session.jsonl").symlink_to("/dev/zero")
    (project / "lost" / "session.jsonl").symlink_to(tmp_path / "nowhere")
    (project / "up").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert [row.id for row in engine.sessions()] == ["ok"]
        assert len(engine.search_sessions("needle").items) == 1
        told = {Path(each.path).parent.name for each in engine.health()}
    assert {"pipe", "folder", "device", "lost"} <= told


def test_circles_and_long_lines_of_parents_have_an_end(tmp_path: Path) -> None:
    parents = {
        "own": "own",
        "c1": "c2",
        "c2": "c3",
        "c3": "c1",
        **{f"d{at:03}": f"d{at - 1:03}" for at in range(1, 300)},
    }
    for name, parent in {**parents, "d000": None}.items():
        head = header(0, name, **({"parentSession": parent} if parent else {}))
        write(tmp_path, frames([head, *SOUND]), session_id=name)
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert len(engine.sessions()) == 304
        for name, least in (("own", 1), ("c1", 3), ("d000", 300), ("d299", 300)):
            assert len(str(engine.lineage(name))) > 0
            assert len(engine.plan_export(name).logs) == (least if name != "d299" else 1)
