"""The physical side: a log appears whole or not at all, grows whole or not at all, and is never overwritten."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import zstandard

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.writer import logfile
from palimpsest_core.writer.behind import WriteBehind
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.store import JsonlStore

HEADER = {"id": "a/b", "createdAt": 5, "cwd": "/w/x"}


def event(seq: int, kind: str = "turn/start", **data: object) -> dict:
    return {"type": kind, "seq": seq, "time": 10 + seq, "data": data}


def text_of(path: Path) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read()


def test_nothing_is_written_before_the_first_event(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "root")
    store.create(HEADER)
    assert not (tmp_path / "root").exists()
    store.append("a/b", [])
    assert not (tmp_path / "root").exists()


def test_the_first_batch_publishes_header_and_events_in_two_frames(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path)
    store.create(HEADER)
    store.append("a/b", [event(0, turn=1)])
    path = tmp_path / "--w-x--" / "a~002Fb" / "session.jsonl.zstd"
    assert path == store.locate(HEADER)
    assert text_of(path) == (
        b'{"type":"session","version":0,"id":"a/b","createdAt":5,"cwd":"/w/x","delegationDepth":0}\n'
        b'{"type":"turn/start","seq":0,"time":10,"data":{"turn":1}}\n'
    )
    assert os.listdir(path.parent) == ["session.jsonl.zstd"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_same_sessions_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store = JsonlStore(tmp_path / name)
        store.create(HEADER)
        for seq in range(3):
            store.append("a/b", [event(seq, turn=seq)])
    one, two = (JsonlStore(tmp_path / name).locate(HEADER).read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_gap_is_refused_naming_the_event(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path)
    store.create(HEADER)
    with pytest.raises(WriteRefused, match=r"'turn/end' has seq 2 where 1") as caught:
        store.append("a/b", [event(0), event(2, "turn/end")])
    assert caught.value.reason is Refusal.NOT_CONTIGUOUS
    assert not store.locate(HEADER).exists()


def test_what_json_cannot_carry_is_refused_naming_event_and_place(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path)
    store.create(HEADER)
    with pytest.raises(WriteRefused, match=r"'turn/start' \(seq 1\).*data\.turn"):
        store.append("a/b", [event(0), event(1, turn=float("nan"))])


def test_an_existing_log_is_never_overwritten(tmp_path: Path) -> None:
    first, second = JsonlStore(tmp_path), JsonlStore(tmp_path)
    first.create(HEADER)
    second.create(HEADER)
    first.append("a/b", [event(0)])
    before = first.locate(HEADER).read_bytes()
    with pytest.raises(WriteRefused) as caught:
        second.append("a/b", [event(0, turn=9)])
    assert caught.value.reason is Refusal.ID_TAKEN
    assert first.locate(HEADER).read_bytes() == before
    assert len(os.listdir(first.locate(HEADER).parent)) == 1


def test_a_log_that_somebody_else_grew_is_not_appended_to(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path)
    store.create(HEADER)
    store.append("a/b", [event(0)])
    path = store.locate(HEADER)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(WriteRefused) as caught:
        store.append("a/b", [event(1)])
    assert caught.value.reason is Refusal.CHANGED_ELSEWHERE


@pytest.mark.parametrize("at", ["write", "fsync"])
def test_a_failed_append_is_rolled_back_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    store = JsonlStore(tmp_path, compression="none")
    store.create(HEADER)
    store.append("a/b", [event(0)])
    path = store.locate(HEADER)
    before = path.read_bytes()
    real_write, real_sync = os.write, os.fsync
    broken = {"on": True}

    def write(handle: int, data: bytes) -> int:
        if broken["on"] and at == "write":
            real_write(handle, bytes(data)[:7])
            broken["on"] = False
            raise OSError(28, "No space left on device")
        return real_write(handle, data)

    def sync(handle: int) -> None:
        if broken["on"] and at == "fsync":
            broken["on"] = False
            raise OSError(5, "Input/output error")
        real_sync(handle)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(SessionQueryError) as caught:
        store.append("a/b", [event(1)])
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED
    assert path.read_bytes() == before
    store.append("a/b", [event(1)])
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().count(b"\n") == 3


def test_a_failed_publication_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="not permitted"):
        logfile.publish(tmp_path / "p" / "session.jsonl", b"x")
    assert os.listdir(tmp_path / "p") == []


@pytest.mark.parametrize(
    "bad",
    [
        {"id": ""},
        {"id": 7},
        {"cwd": "work"},
        {"createdAt": -1},
        {"createdAt": 1.5},
        {"createdAt": None},
        {"parentSession": 7},
        {"origin": "user"},
        {"delegationDepth": -1},
        {"agentPreset": 3},
        {"seedLength": True},
        {"sandboxMode": "x"},
        {"version": 3},
    ],
)
def test_a_bad_header_is_refused_naming_its_key(tmp_path: Path, bad: dict) -> None:
    with pytest.raises(WriteRefused, match=next(iter(bad))) as caught:
        JsonlStore(tmp_path).create({**HEADER, **bad})
    assert caught.value.reason is Refusal.BAD_HEADER


def test_events_gather_until_flush() -> None:
    written: list[list[int]] = []
    queue = WriteBehind(lambda rows: written.append([row["seq"] for row in rows]), window_seconds=None)
    queue.add([event(0)])
    queue.add([event(1), event(2)])
    assert written == []
    assert queue.waiting == 3
    queue.flush()
    assert written == [[0, 1, 2]]


def test_the_window_writes_by_itself() -> None:
    done = threading.Event()
    queue = WriteBehind(lambda rows: done.set(), window_seconds=0.01)
    queue.add([event(0)])
    assert done.wait(30)


def test_a_failed_batch_is_kept_in_order_and_flush_tells() -> None:
    written: list[int] = []
    fail = [True]

    def write(rows: object) -> None:
        if fail[0]:
            raise OSError("disk")
        written.extend(row["seq"] for row in rows)  # type: ignore[attr-defined]

    queue = WriteBehind(write, window_seconds=None)
    queue.add([event(0)])
    with pytest.raises(OSError, match="disk"):
        queue.flush()
    queue.add([event(1)])
    fail[0] = False
    queue.flush()
    assert written == [0, 1]
