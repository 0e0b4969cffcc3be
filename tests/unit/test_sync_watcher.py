"""The watcher tells which session folders changed: by events at once, by sweeps where events do not come."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import watchfiles
from logmaking import frames, header, prompt, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.sync.watcher import Watcher

PATIENCE = 20.0


class Watch:
    """A watcher in a thread; `wait_for` waits until a folder was told."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.cancel = CancelToken()
        self.told: list[str] = []
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        for folders in self.watcher.changes(self.cancel):
            with self._news:
                self.told += folders
                self._news.notify_all()

    def wait_for(self, folder: str) -> None:
        with self._news:
            assert self._news.wait_for(lambda: folder in self.told, PATIENCE), self.told

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def close(self) -> None:
        self.cancel.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def watching() -> Iterator[Callable[[Watcher], Watch]]:
    made: list[Watch] = []

    def start(watcher: Watcher) -> Watch:
        made.append(Watch(watcher))
        return made[-1]

    yield start
    for watch in made:
        watch.close()


def log(root: Path, name: str, text: str = "x") -> str:
    return os.path.dirname(write(root, frames([header(session_id=name), prompt(0, text)]), session_id=name).path)


def test_an_append_is_told(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    folder = log(tmp_path, "a")
    watch = watching(Watcher(tmp_path))
    watch.until(lambda: watch.watcher.watching)
    with open(os.path.join(folder, "session.jsonl.zstd"), "ab") as file:
        file.write(b"more")
    watch.wait_for(folder)


def test_new_projects_and_removed_logs_are_told(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    watch = watching(Watcher(tmp_path))
    watch.until(lambda: watch.watcher.watching)
    folder = log(tmp_path, "new")
    watch.wait_for(folder)
    watch.told.clear()
    os.unlink(os.path.join(folder, "session.jsonl.zstd"))
    watch.wait_for(folder)


def test_temporary_files_and_locks_are_not_told(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    quiet, loud = log(tmp_path, "quiet"), log(tmp_path, "loud")
    watch = watching(Watcher(tmp_path))
    watch.until(lambda: watch.watcher.watching)
    for name in ("session.lock", "session.jsonl.zstd.0123456789ab.tmp", "spill.txt"):
        Path(quiet, name).touch()
    Path(loud, "session.jsonl.zstd").write_bytes(b"changed")
    watch.wait_for(loud)
    assert quiet not in watch.told


def test_sweeps_find_changes_where_events_do_not_come(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    folder = log(tmp_path, "a")
    watch = watching(Watcher(tmp_path, poll_only=True, sweep_alone_seconds=0.02))
    time.sleep(0.05)
    log(tmp_path, "a", "something longer")
    watch.wait_for(folder)
    other = log(tmp_path, "b")
    watch.wait_for(other)
    assert not watch.watcher.watching


def test_used_up_watches_lead_to_sweeps(
    tmp_path: Path, watching: Callable[[Watcher], Watch], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(watchfiles, "watch", refuse)
    log(tmp_path, "a")
    watch = watching(Watcher(tmp_path, sweep_alone_seconds=0.02))
    time.sleep(0.05)
    watch.wait_for(log(tmp_path, "b"))


def test_a_root_that_appears_later_is_watched(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    root = tmp_path / "later"
    watch = watching(Watcher(root, sweep_alone_seconds=0.02, sweep_seconds=0.1))
    time.sleep(0.05)
    root.mkdir()
    watch.wait_for(log(root, "a"))


def test_folders_are_spelled_as_the_root_was_given(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    watch = watching(Watcher(link))
    watch.until(lambda: watch.watcher.watching)
    folder = log(real, "a")
    watch.wait_for(str(link / Path(folder).relative_to(real)))


def test_it_stops_when_cancelled(tmp_path: Path, watching: Callable[[Watcher], Watch]) -> None:
    watch = watching(Watcher(tmp_path))
    watch.until(lambda: watch.watcher.watching)
    watch.close()
