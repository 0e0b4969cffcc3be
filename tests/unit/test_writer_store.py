"""Reading back what was written, and going on after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.log.repair import NOT_STARTED_TEXT, STARTED_TEXT
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.store import JsonlStore

HEADER = {"id": "a", "createdAt": 5, "cwd": "/w"}


def interrupted(*, started: bool) -> list[dict[str, Any]]:
    message = {
        "id": "m2",
        "role": "assistant",
        "source": {"kind": "model", "provider": "p", "model": "m"},
        "content": [{"type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}"}],
    }
    rows: list[dict[str, Any]] = [
        {"type": "turn/start", "data": {"turn": 1}},
        {"type": "step/start", "data": {"turn": 1, "step": 1}},
        {"type": "assistant/message", "data": {"turn": 1, "step": 1, "message": message}, "surfaceOp": "append"},
    ]
    if started:
        call = {"turn": 1, "step": 1, "callId": "c1", "name": "bash", "arguments": "{}"}
        rows.append({"type": "tool/call", "data": call})
    return [{"type": row.pop("type"), "seq": seq, "time": 100 + seq, **row} for seq, row in enumerate(rows)]


def written(root: Path, rows: list[dict[str, Any]], compression: str = "zstd", split: int | None = None) -> Path:
    store = JsonlStore(root, compression=compression)
    store.create(HEADER)
    for part in (rows[:split], rows[split:]) if split else (rows,):
        store.append("a", part)
    return store.locate(HEADER)


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_loading_closes_an_interrupted_turn_on_disk(tmp_path: Path, compression: str, started: bool) -> None:
    path = written(tmp_path, interrupted(started=started), compression)
    before = path.read_bytes()
    store = JsonlStore(tmp_path, compression=compression)
    events = store.load("a").events
    assert [e.type for e in events[-3:]] == ["tool/result", "step/end", "turn/end"]
    assert not any(e.synthetic for e in events)
    text = events[-3].data["message"]["content"][0]["content"][0]["text"]
    assert text == (STARTED_TEXT if started else NOT_STARTED_TEXT)
    assert path.read_bytes().startswith(before)
    again = JsonlStore(tmp_path, compression=compression)
    size = path.stat().st_size
    assert again.load("a").events == events
    assert path.stat().st_size == size


def test_inspecting_shows_the_same_and_changes_no_byte(tmp_path: Path) -> None:
    path = written(tmp_path, interrupted(started=True), split=2)
    stored = path.read_bytes()[:-3]
    path.write_bytes(stored)
    events = JsonlStore(tmp_path).inspect("a").events
    assert events[-1].type == "turn/end"
    assert [e.synthetic for e in events[-2:]] == [True, True]
    assert path.read_bytes() == stored


def test_what_a_torn_frame_still_holds_is_kept(tmp_path: Path) -> None:
    rows = [
        *interrupted(started=False)[:2],
        *({"type": "todo/write", "seq": n, "time": 9, "data": {"todos": []}} for n in (2, 3)),
    ]
    path = written(tmp_path, rows, split=2)
    path.write_bytes(path.read_bytes()[:-2])
    events = JsonlStore(tmp_path).load("a").events
    assert [e.type for e in events] == ["turn/start", "step/start", "todo/write", "todo/write", "step/end", "turn/end"]
    assert [e.seq for e in JsonlStore(tmp_path).read_from("a", 0).events] == list(range(6))


def test_appending_goes_on_after_loading(tmp_path: Path) -> None:
    written(tmp_path, interrupted(started=False))
    store = JsonlStore(tmp_path)
    following = len(store.load("a").events)
    store.append("a", [{"type": "turn/start", "seq": following, "time": 1, "data": {"turn": 2}}])
    assert len(store.read_from("a", 0).events) == following + 1


def test_damage_before_committed_work_is_refused_and_left_alone(tmp_path: Path) -> None:
    rows = [
        {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}},
        {"type": "turn/end", "seq": 1, "time": 1, "data": {"turn": 1, "reason": {"kind": "completed"}}},
    ]
    path = written(tmp_path, rows, split=1)
    stored = bytearray(path.read_bytes())
    stored[-5] ^= 1
    path.write_bytes(stored)
    for call in (JsonlStore(tmp_path).load, JsonlStore(tmp_path).inspect, JsonlStore(tmp_path).read_raw):
        with pytest.raises(SessionQueryError) as caught:
            call("a")
        assert caught.value.code is ErrorCode.PERSISTENCE_FAILED
    assert path.read_bytes() == bytes(stored)


def test_content_that_breaks_the_rules_is_corrupt(tmp_path: Path) -> None:
    written(tmp_path, [{"type": "user/message", "seq": 0, "time": 1, "data": {"no": "message"}}])
    with pytest.raises(SessionQueryError) as caught:
        JsonlStore(tmp_path).load("a")
    assert caught.value.code is ErrorCode.CORRUPT_SESSION


def test_reading_from_a_number_gives_the_rest_without_closers(tmp_path: Path) -> None:
    written(tmp_path, interrupted(started=True))
    store = JsonlStore(tmp_path)
    assert [e.seq for e in store.read_from("a", 2).events] == [2, 3]
    assert store.read_from("a", 99).events == []
    with pytest.raises(ValueError, match="from_seq"):
        store.read_from("a", -1)


def test_raw_text_is_the_stored_text(tmp_path: Path) -> None:
    written(tmp_path, interrupted(started=True), split=1)
    raw = JsonlStore(tmp_path).read_raw("a")
    assert raw is not None
    assert raw.startswith(b'{"type":"session","version":0,"id":"a"')
    assert raw.count(b"\n") == 5
    assert JsonlStore(tmp_path).read_raw("b") is None


def test_a_revision_changes_with_its_log_only(tmp_path: Path) -> None:
    written(tmp_path, interrupted(started=True))
    store = JsonlStore(tmp_path)
    store.create({**HEADER, "id": "b"})
    store.append("b", [{"type": "turn/start", "seq": 0, "time": 1, "data": {}}])
    before = {s.header.id: s.revision for s in store.list_snapshots()}
    store.append("b", [{"type": "turn/start", "seq": 1, "time": 1, "data": {}}])
    after = {s.header.id: s.revision for s in store.list_snapshots()}
    assert before.keys() == after.keys() == {"a", "b"}
    assert before["a"] == after["a"]
    assert before["b"] != after["b"]


def test_a_stored_id_cannot_be_created_again_in_any_folder_or_generation(tmp_path: Path) -> None:
    path = written(tmp_path, interrupted(started=True))
    for cwd in ("/w", "/elsewhere"):
        with pytest.raises(WriteRefused) as caught:
            JsonlStore(tmp_path).create({**HEADER, "cwd": cwd})
        assert caught.value.reason is Refusal.ID_TAKEN
    path.rename(path.with_name("session.v4.jsonl.zstd"))
    with pytest.raises(WriteRefused):
        JsonlStore(tmp_path).create(HEADER)


def test_a_log_in_the_other_encoding_is_refused(tmp_path: Path) -> None:
    written(tmp_path, interrupted(started=True), "none")
    with pytest.raises(SessionQueryError) as caught:
        JsonlStore(tmp_path).load("a")
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED


def test_a_header_that_names_another_place_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, interrupted(started=True))
    other = path.parent.with_name("b")
    path.parent.rename(other)
    with pytest.raises(SessionQueryError) as caught:
        JsonlStore(tmp_path).load("b")
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED


def test_an_absent_session_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SessionQueryError) as caught:
        JsonlStore(tmp_path).load("nobody")
    assert caught.value.code is ErrorCode.SESSION_NOT_FOUND
