"""Shapes older than the last release of generation 0, read as modern ones (session format, section 6.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from logmaking import CONFIG, header, row, text_of, write

from palimpsest_core.formats.reader import LogReader, ReadState, read_log
from palimpsest_core.model.event import Event
from palimpsest_core.storage.layout import LogFile

TEXT = [{"type": "text", "text": "hi"}]


def log_of(root: Path, *rows: Any) -> LogFile:
    return write(root, text_of([header(), *rows]), plain=True)


def events(root: Path, *rows: Any) -> list[Event]:
    return read_log(log_of(root, *rows), config=CONFIG).events


def old_result(seq: int, text: str, start: int | None = None) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    op = "append" if start is None else {"op": "replace", "start": start, "end": start}
    data = {"turn": 1, "step": 1, "callId": "c1", "content": content, "isError": False}
    return row(seq, "tool/result", data, surfaceOp=op)


def new_result(seq: int, message_id: str) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": "c1", "content": TEXT, "isError": False}
    message = {"id": message_id, "role": "user", "source": {"kind": "tool", "callId": "c1"}, "content": [block]}
    return row(seq, "tool/result", {"turn": 1, "step": 1, "message": message}, surfaceOp="append")


def test_prompts_and_steering_messages_become_user_messages(tmp_path: Path) -> None:
    source = {"kind": "user"}
    modern = {"id": "m", "role": "user", "content": TEXT, "source": source}
    found = events(
        tmp_path,
        row(0, "user/message", {"content": TEXT, "source": source}),
        row(1, "steering/message", {"turn": 1, "message": modern}),
        row(2, "steering/message", {"turn": 1, "content": TEXT, "source": source}),
        row(3, "user/message", modern),
    )
    assert {event.type for event in found} == {"user/message"}
    assert found[0].data == {"id": "legacy-message:sess:0", "role": "user", "content": TEXT, "source": source}
    assert found[1].data == found[3].data == modern
    assert found[2].data["id"] == "legacy-message:sess:2"


def test_rows_carry_the_modern_name_of_their_type(tmp_path: Path) -> None:
    file = log_of(tmp_path, row(0, "compact/start", {"turn": None}), row(1, "steering/message", {"turn": 1}))
    with LogReader(file, config=CONFIG) as reader:
        assert [r.type for batch in reader.batches() for r in batch] == ["compaction/start", "user/message"]


def test_an_answer_beside_its_provenance_becomes_a_message(tmp_path: Path) -> None:
    data = {
        "turn": 1,
        "step": 1,
        "content": TEXT,
        "provenance": {"provider": "p", "model": "m"},
        "usage": {"inputTokens": 1},
    }
    (event,) = events(tmp_path, row(0, "assistant/message", data))
    assert event.data == {
        "turn": 1,
        "step": 1,
        "usage": {"inputTokens": 1},
        "message": {
            "id": "legacy-message:sess:0",
            "role": "assistant",
            "content": TEXT,
            "source": {"kind": "model", "provider": "p", "model": "m"},
        },
    }


def test_a_rewritten_result_inherits_the_id_of_the_first(tmp_path: Path) -> None:
    found = events(tmp_path, old_result(0, "long"), old_result(1, "cut", 0), old_result(2, "gone", 1))
    assert [event.data["message"]["id"] for event in found] == ["legacy-message:sess:0"] * 3
    block = {"type": "tool-result", "toolCallId": "c1", "content": [{"type": "text", "text": "cut"}], "isError": False}
    assert found[1].data["message"]["content"] == [block]


def test_a_rewrite_of_a_modern_result_finds_its_id(tmp_path: Path) -> None:
    found = events(tmp_path, new_result(0, "RID"), old_result(1, "cut", 0))
    assert found[1].data["message"]["id"] == "RID"


def test_turn_starts_and_ends_lose_their_old_spelling(tmp_path: Path) -> None:
    reasons: list[dict[str, Any]] = [
        {"kind": "aborted"},
        {"kind": "disposed"},
        {"kind": "error", "step": 1, "message": "m", "code": "c"},
        {"kind": "error", "step": 1, "message": "m"},
        {"kind": "error", "step": 1, "failure": {"message": "m", "code": "c", "status": 500}},
        {"kind": "completed"},
    ]
    ends = [row(n + 1, "turn/end", {"turn": 1, "reason": reason}) for n, reason in enumerate(reasons)]
    found = events(tmp_path, row(0, "turn/start", {"turn": 1, "trigger": {"kind": "user"}}), *ends)
    assert found[0].data == {"turn": 1}
    assert [event.data["reason"] for event in found[1:]] == [
        {"kind": "aborted", "reason": {"kind": "legacy"}},
        {"kind": "aborted", "reason": {"kind": "disposed"}},
        {"kind": "error", "error": {"message": "m", "code": "c"}},
        {"kind": "error", "error": {"message": "m", "code": "UNKNOWN"}},
        {"kind": "error", "error": {"message": "m", "code": "c", "status": 500}},
        {"kind": "completed"},
    ]


def test_retries_and_compactions_without_id_are_grouped(tmp_path: Path) -> None:
    def retry(seq: int, number: int, step: int = 1) -> dict[str, Any]:
        return row(seq, "llm/retry", {"turn": 1, "step": step, "retry": number})

    found = events(
        tmp_path,
        retry(0, 1),
        row(1, "llm/retry-started", {"turn": 1, "step": 1, "retry": 1}),
        retry(2, 2),
        retry(3, 1),
        retry(4, 1, step=2),
        row(5, "compact/start", {"turn": None}),
        row(6, "compact/summary", {"summary": TEXT}),
        row(7, "compact/end", {"turn": None}),
        row(8, "compaction/start", {"turn": None}),
        row(9, "compaction/start", {"turn": None, "compactionId": "k"}),
    )
    assert [event.data.get("retryId") for event in found[:5]] == [f"legacy-retry:sess:{n}" for n in (0, 0, 0, 3, 4)]
    assert [event.type for event in found[5:8]] == ["compaction/start", "compaction/summary", "compaction/end"]
    ids = [event.data["compactionId"] for event in found[5:]]
    assert ids == ["legacy-compaction:sess:5"] * 3 + ["legacy-compaction:sess:8", "k"]


def test_old_shapes_are_read_alike_after_a_saved_state(tmp_path: Path) -> None:
    rows = [old_result(0, "a"), row(1, "compact/start", {"turn": None}), row(2, "llm/retry", {"turn": 1, "step": 1})]
    more = [old_result(3, "b", 0), row(4, "compact/end", {"turn": None}), row(5, "llm/retry", {"turn": 1, "step": 1})]
    state = read_log(log_of(tmp_path, *rows), config=CONFIG).state
    state = msgspec.json.decode(msgspec.json.encode(state), type=ReadState)
    with open(log_of(tmp_path, *rows).path, "ab") as out:
        out.write(text_of(more))
    file = LogFile.at(log_of(tmp_path, *rows, *more).path)
    with LogReader(file, config=CONFIG, resume=state) as reader:
        found = [event for batch in reader.batches() for r in batch for event in reader.expand(r)]
    assert found == read_log(file, config=CONFIG).events[3:]


def test_newer_generations_have_no_old_shapes(tmp_path: Path) -> None:
    file = write(tmp_path, text_of([header(1), row(0, "user/message", {"content": TEXT})]), plain=True, version=1)
    assert read_log(file, config=CONFIG).events[0].data == {"content": TEXT}
