"""The indexer and the search worker as processes: they report, follow, take over, and stop with their parent."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, prompt, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.search import EventHit
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import session_search
from palimpsest_core.sync.lifeline import config_json
from palimpsest_core.sync.searchclient import SearchClient

PATIENCE = 60.0
CONFIG = Config()


class Worker:
    """A running indexer; `expect` waits for a report."""

    def __init__(self, root: Path, index: Path, *more: str) -> None:
        command = [sys.executable, "-m", "palimpsest_core.sync.indexer", "--root", str(root), "--index", str(index)]
        self.process = subprocess.Popen([*command, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seen: list[dict[str, Any]] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def expect(self, event: str, accept: Callable[[dict[str, Any]], bool] = lambda report: True) -> dict[str, Any]:
        while True:
            line = self._lines.get(timeout=PATIENCE)
            assert line is not None, f"ended without {event}: {self.seen}"
            report = json.loads(line)
            self.seen.append(report)
            if report["event"] == event and accept(report):
                return report

    def tell(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def begin(*more: str) -> Worker:
        workers.append(Worker(tmp_path / "root", tmp_path / "index.sqlite", *more))
        return workers[-1]

    yield begin
    for worker in workers:
        if worker.process.poll() is None:
            worker.process.kill()
            worker.process.wait()


def log(tmp_path: Path, name: str, text: str) -> str:
    return write(tmp_path / "root", frames([header(session_id=name), prompt(0, text)]), session_id=name).path


def hits(tmp_path: Path, query: str) -> list[str]:
    index = Fts5Provider(str(tmp_path / "index.sqlite"), root=os.path.realpath(tmp_path / "root"))
    try:
        return sorted(hit.header.id for hit in index.search_sessions(session_search(query, config=CONFIG)).items)
    finally:
        index.close()


def test_it_indexes_everything_reports_and_ends(tmp_path: Path, start: Callable[..., Worker]) -> None:
    for name in "ab":
        log(tmp_path, name, "needle")
    bad = write(tmp_path / "root", b"no log", session_id="bad").path
    worker = start()
    assert worker.expect("failed")["path"] == os.path.realpath(bad)
    refreshed = worker.expect("refreshed")
    assert (refreshed["added"], refreshed["changed"], refreshed["removed"]) == (2, 0, 0)
    assert worker.expect("current")["logsTotal"] == 3
    worker.expect("stopped")
    assert worker.process.wait(PATIENCE) == 0
    assert hits(tmp_path, "needle") == ["a", "b"]


def test_it_follows_appends_and_new_sessions(tmp_path: Path, start: Callable[..., Worker]) -> None:
    path = log(tmp_path, "a", "first")
    worker = start("--follow")
    worker.expect("current")
    with open(path, "ab") as file:
        file.write(frame(prompt(1, "appended needle")))
    worker.expect("refreshed", lambda report: report["changed"] == 1)
    assert hits(tmp_path, "needle") == ["a"]
    log(tmp_path, "b", "another needle")
    worker.expect("refreshed", lambda report: report["added"] == 1)
    assert hits(tmp_path, "needle") == ["a", "b"]
    os.unlink(path)
    worker.expect("refreshed", lambda report: report["removed"] == 1)
    assert hits(tmp_path, "needle") == ["b"]
    assert worker.close() == 0


def test_a_second_one_waits_and_takes_over_when_the_first_is_killed(
    tmp_path: Path, start: Callable[..., Worker]
) -> None:
    path = log(tmp_path, "a", "needle")
    first = start("--follow")
    first.expect("current")
    second = start("--follow")
    second.expect("waiting")
    assert start().process.wait(PATIENCE) == 0
    first.process.kill()
    first.process.wait()
    second.expect("current")
    with open(path, "ab") as file:
        file.write(frame(prompt(1, "for the second")))
    second.expect("refreshed", lambda report: report["changed"] == 1)
    assert hits(tmp_path, "second") == ["a"]


def test_it_stops_cleanly_on_a_signal(tmp_path: Path, start: Callable[..., Worker]) -> None:
    log(tmp_path, "a", "needle")
    worker = start("--follow")
    worker.expect("current")
    worker.process.send_signal(signal.SIGTERM)
    worker.expect("stopped")
    assert worker.process.wait(PATIENCE) == 0


def test_it_fills_a_new_index_when_the_file_is_taken_away(tmp_path: Path, start: Callable[..., Worker]) -> None:
    log(tmp_path, "a", "needle")
    worker = start("--follow")
    worker.expect("current")
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
        if (tmp_path / name).exists():
            (tmp_path / name).rename(tmp_path / f"old-{name}")
    worker.expect("started")
    worker.expect("current")
    assert hits(tmp_path, "needle") == ["a"]


def test_it_pauses_and_goes_on(tmp_path: Path, start: Callable[..., Worker]) -> None:
    log(tmp_path, "a", "needle")
    worker = start("--follow")
    worker.expect("current")
    worker.tell(b"pause")
    path = log(tmp_path, "b", "needle paused")
    worker.tell(b"resume")
    worker.tell(b"refresh")
    with open(path, "ab") as file:
        file.write(frame(prompt(1, "after")))
    worker.expect("refreshed")
    worker.close()


def test_an_index_that_cannot_be_used_is_said(tmp_path: Path, start: Callable[..., Worker]) -> None:
    log(tmp_path, "a", "needle")
    (tmp_path / "index.sqlite").write_text("my notes" * 30)
    worker = start()
    assert worker.expect("error")["code"] == "SESSION_QUERY_INDEX_FAILED"
    assert worker.process.wait(PATIENCE) == 1


def test_settings_travel_to_the_process(tmp_path: Path, start: Callable[..., Worker]) -> None:
    log(tmp_path, "a", "会话搜索功能")
    config = Config(tokenizer="unicode61-cjk")
    start("--config", config_json(config)).expect("stopped")
    client = SearchClient(root=str(tmp_path / "root"), index=str(tmp_path / "index.sqlite"), config=config)
    try:
        assert [hit.header.id for hit in client.search_sessions("搜索").items] == ["a"]
    finally:
        client.close()


@pytest.fixture
def client(tmp_path: Path, start: Callable[..., Worker]) -> Iterator[SearchClient]:
    for number in range(3):
        log(tmp_path, f"s{number}", "needle " * (number + 1))
    start().expect("stopped")
    made = SearchClient(root=str(tmp_path / "root"), index=str(tmp_path / "index.sqlite"), config=CONFIG)
    yield made
    made.close()


def test_the_search_worker_answers_pages_and_events(client: SearchClient) -> None:
    page = client.search_sessions("needle", limit=2)
    assert [(hit.header.id, hit.matches) for hit in page.items] == [("s2", 1), ("s1", 1)]
    rest = client.search_sessions("needle", limit=2, cursor=page.next_cursor)
    assert [hit.header.id for hit in rest.items] == ["s0"]
    events = client.search_events("s1", "needle \ud800")
    assert [hit.seq for hit in events.items] == [0]


def test_the_search_worker_tells_the_hits_of_a_scan_on_their_way(client: SearchClient) -> None:
    told: list[tuple[str, int]] = []
    looked: list[tuple[int, int]] = []

    def on_hits(hits: list[EventHit], done: int, total: int) -> None:
        told.extend((hit.session_id, hit.seq) for hit in hits)
        looked.append((done, total))

    client.scan_text("eedl", on_hits)
    assert sorted(told) == [("s0", 0), ("s1", 0), ("s2", 0)]
    assert looked[-1] == (3, 3)
    told.clear()
    client.scan_text("eedl", on_hits, [{"kind": "id", "values": ["s1"]}])
    assert told == [("s1", 0)]
    with pytest.raises(SessionQueryError) as caught:
        client.scan_text(" ", on_hits)
    assert caught.value.code is ErrorCode.INVALID_QUERY


def test_errors_of_the_search_worker_are_the_engine_s(client: SearchClient) -> None:
    for code, call in [
        (ErrorCode.INVALID_QUERY, lambda: client.search_sessions("")),
        (ErrorCode.INVALID_CURSOR, lambda: client.search_sessions("needle", cursor="forged")),
        (ErrorCode.INVALID_CURSOR, lambda: client.search_sessions("needle", cursor=None)),
        (ErrorCode.INVALID_FILTER, lambda: client.search_sessions("needle", [{"kind": "nope"}])),
        (ErrorCode.SESSION_NOT_FOUND, lambda: client.search_events("absent", "needle")),
    ]:
        with pytest.raises(SessionQueryError) as caught:
            call()
        assert caught.value.code is code


def test_a_cancelled_search_returns_at_once_and_the_next_one_works(client: SearchClient) -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(SessionQueryError) as caught:
        client.search_sessions("needle", cancel=cancel)
    assert caught.value.code is ErrorCode.ABORTED
    cancel = CancelToken()
    threading.Timer(0.001, cancel.set).start()

    def search_on() -> None:
        while True:
            client.search_sessions("needle", cancel=cancel)

    with pytest.raises(SessionQueryError) as caught:
        search_on()
    assert caught.value.code is ErrorCode.ABORTED
    assert len(client.search_sessions("needle").items) == 3


def test_a_dead_search_worker_is_started_again(client: SearchClient) -> None:
    assert len(client.search_sessions("needle").items) == 3
    process = client._process
    assert process is not None
    process.kill()
    process.wait()
    assert len(client.search_sessions("needle").items) == 3


def test_the_search_worker_sees_a_new_index_in_the_old_one_s_place(
    tmp_path: Path, client: SearchClient, start: Callable[..., Worker]
) -> None:
    assert len(client.search_sessions("needle").items) == 3
    for name in os.listdir(tmp_path):
        if name.startswith("index.sqlite") and not name.endswith(".lock"):
            os.rename(tmp_path / name, tmp_path / f"old-{name}")
    assert client.search_sessions("needle").items == []
    start().expect("stopped")
    assert len(client.search_sessions("needle").items) == 3
