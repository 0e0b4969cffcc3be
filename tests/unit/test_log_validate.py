"""Strict replay refuses what the reference refuses, with the reference's code. Each case was checked against it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from palimpsest_core.base.errors import ErrorCode
from palimpsest_core.log.validate import LogState, json_equal, validate_append, validate_log, validate_stored
from palimpsest_core.model.event import UNSET, Event
from palimpsest_core.model.header import Header

CORRUPT, FAILED = ErrorCode.CORRUPT_SESSION, ErrorCode.PERSISTENCE_FAILED
HEAD = {"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/w", "delegationDepth": 0}
MODEL = {"kind": "model", "provider": "p", "model": "m"}
TEXT = [{"type": "text", "text": "x"}]


def result(call: str, content: Any = TEXT, **more: Any) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": call, "content": content}
    message = {"id": f"t-{call}", "role": "user", "source": {"kind": "tool", "callId": call}, "content": [block]}
    return {"turn": 1, "step": 1, "message": message, **more}


def sound() -> list[dict[str, Any]]:
    """A log with every shape that is looked at."""
    asked = [{"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}]
    answer = {"id": "a", "role": "assistant", "source": MODEL, "content": asked}
    rows: list[dict[str, Any]] = [
        {"type": "turn/start", "data": {"turn": 1}},
        {
            "type": "user/message",
            "data": {"id": "u", "role": "user", "source": {"kind": "user"}, "content": TEXT},
            "surfaceOp": "append",
        },
        {"type": "step/start", "data": {"turn": 1, "step": 1}},
        {
            "type": "request/header",
            "data": {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"},
        },
        {
            "type": "assistant/message",
            "data": {"turn": 1, "step": 1, "message": answer},
            "surfaceOp": "append",
            "sourceEventSeqs": [],
        },
        {"type": "tool/call", "data": {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": "{}"}},
        {"type": "tool/result", "data": result("c"), "surfaceOp": "append", "sourceEventSeqs": [5]},
        {
            "type": "tool/result",
            "data": result("c", []),
            "surfaceOp": {"op": "replace", "start": 6, "end": 6},
            "sourceEventSeqs": [6],
        },
        {"type": "step/end", "data": {"turn": 1, "step": 1}},
        {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}},
    ]
    return copy.deepcopy(rows)


def events(rows: list[dict[str, Any]]) -> list[Event]:
    known = {"type", "data", "surfaceOp", "sourceEventSeqs", "ignorable", "time"}
    return [
        Event(
            row["type"],
            seq,
            row.get("time", seq),
            row.get("data"),
            row.get("surfaceOp", UNSET),
            row.get("sourceEventSeqs", UNSET),
            row.get("ignorable", UNSET),
            {key: row[key] for key in row if key not in known} or UNSET,
        )
        for seq, row in enumerate(rows)
    ]


def code(rows: list[dict[str, Any]], head: dict[str, Any] = HEAD) -> ErrorCode | None:
    fault = validate_stored(head, events(rows))
    assert fault is None or fault.message.endswith(".")
    return fault.code if fault else None


def test_a_sound_log_passes() -> None:
    assert code(sound()) is None
    assert code([]) is None


def put(seq: int, path: str, value: Any) -> Any:
    """A change: `value` at the dotted `path` of event `seq` (`...` removes it)."""

    def change(rows: list[dict[str, Any]]) -> None:
        place: Any = rows[seq]
        *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        for key in keys:
            place = place[key]
        if value is ...:
            del place[last]
        else:
            place[last] = value

    return change


def add(type: str, data: Any, **more: Any) -> Any:
    """A change: one more event at the end."""
    return lambda rows: rows.append({"type": type, "data": data, **more})


REPLACE = {"op": "replace", "start": 1, "end": 4}
CHANGES = [
    # Envelope.
    (put(0, "extra", 1), CORRUPT),
    (put(0, "ignorable", False), CORRUPT),
    (put(0, "ignorable", True), None),
    (put(0, "time", 2**53), CORRUPT),
    (put(0, "time", -5), None),
    # Messages.
    (put(1, "data.id", ""), CORRUPT),
    (put(1, "data.role", "assistant"), CORRUPT),
    (put(1, "data.source", {}), CORRUPT),
    (put(1, "data.content", "x"), CORRUPT),
    (put(1, "data.content", [None, 5]), None),
    (put(1, "data", None), CORRUPT),
    (put(4, "data.message.source.provider", ""), CORRUPT),
    (put(4, "data.message.source.kind", "user"), CORRUPT),
    (put(4, "data.message.content", [None]), CORRUPT),
    (put(4, "data.message", ...), CORRUPT),
    (put(6, "data.message.content.0.toolCallId", "d"), CORRUPT),
    (put(6, "data.message.content.0.type", "text"), CORRUPT),
    (put(6, "data.message.source.callId", ""), CORRUPT),
    (put(7, "data.message.content", []), CORRUPT),
    # Request headers.
    (put(3, "data.header.config.model", ""), CORRUPT),
    (put(3, "data.header.config.reasoningEffort", None), CORRUPT),
    (put(3, "data.header.config.reasoningEffort", "high"), None),
    (put(3, "data.header.adapterDefaults", {"reasoningEffort": True}), CORRUPT),
    (put(3, "data.header.adapterDefaults", {}), None),
    (put(3, "data.header.adapterDefaults", None), CORRUPT),
    (put(3, "data.reason", "fallback"), CORRUPT),
    (put(3, "data", None), CORRUPT),
    # Boundaries.
    (put(0, "data", None), CORRUPT),
    (put(0, "data", []), None),
    (put(2, "data", None), CORRUPT),
    (put(5, "data", None), CORRUPT),
    (put(5, "data", "x"), None),
    (put(8, "data", None), None),
    (put(9, "data", None), None),
    (put(9, "data.turn", 0), CORRUPT),
    (put(9, "data.more", 1), CORRUPT),
    (put(9, "data.reason.more", 1), CORRUPT),
    (put(9, "data.reason", {"kind": "new", "more": 1}), None),
    (put(9, "data.reason", {"kind": "aborted", "more": 1}), CORRUPT),
    (put(9, "data.reason", {"kind": "aborted", "reason": 5}), None),
    (put(9, "data.reason", {"kind": "error", "step": 1}), CORRUPT),
    (put(9, "data.reason", {"kind": "disposed", "more": 1}), CORRUPT),
    (put(9, "data.reason", "completed"), CORRUPT),
    (put(0, "data.trigger", {"kind": ""}), CORRUPT),
    # Types.
    (add("acme/own", {}), FAILED),
    (add("acme/own", {}, ignorable=True), None),
    (add("acme/own", {}, ignorable=True, surfaceOp="append"), CORRUPT),
    (add("compact/start", {}), FAILED),
    (add("mode/set", {}), CORRUPT),
    (add("steering/message", {}, surfaceOp="append"), CORRUPT),
    (add("request/header-delta", {}), CORRUPT),
    # The surface.
    (put(0, "surfaceOp", "append"), CORRUPT),
    (put(0, "surfaceOp", None), CORRUPT),
    (put(0, "sourceEventSeqs", [0]), CORRUPT),
    (put(1, "surfaceOp", ...), CORRUPT),
    (put(1, "surfaceOp", None), CORRUPT),
    (put(6, "sourceEventSeqs", []), CORRUPT),
    (put(6, "sourceEventSeqs", [5, 5]), CORRUPT),
    (put(6, "sourceEventSeqs", [6]), CORRUPT),
    (put(6, "sourceEventSeqs", [5.0, 1]), None),
    (put(6, "sourceEventSeqs", [-1]), CORRUPT),
    (put(6, "sourceEventSeqs", [True]), CORRUPT),
    (put(6, "sourceEventSeqs", [[4, 5]]), CORRUPT),
    (put(6, "sourceEventSeqs", None), CORRUPT),
    (put(6, "sourceEventSeqs", ...), None),
    (put(7, "surfaceOp", {"op": "replace", "startSeq": 6, "endSeq": 6}), CORRUPT),
    (put(7, "surfaceOp", {"op": "replace", "start": 5, "end": 6}), CORRUPT),
    (put(7, "surfaceOp", {"op": "replace", "start": 4, "end": 6}), CORRUPT),
    (put(7, "sourceEventSeqs", [5]), CORRUPT),
    (put(7, "sourceEventSeqs", [5, 6, 1]), None),
    (put(7, "data.meta", 1), CORRUPT),
    (put(7, "data.message.id", "other"), CORRUPT),
    (put(7, "data.message.content.0.isError", True), CORRUPT),
    (add("user/message", sound()[1]["data"], surfaceOp=REPLACE, sourceEventSeqs=[1, 4]), None),
    (add("user/message", sound()[1]["data"], surfaceOp=REPLACE, sourceEventSeqs=[4]), CORRUPT),
    (add("assistant/message", sound()[4]["data"], surfaceOp=REPLACE, sourceEventSeqs=[1, 4]), None),
]


@pytest.mark.parametrize(("change", "wanted"), CHANGES)
def test_one_change_decides_the_verdict(change: Any, wanted: ErrorCode | None) -> None:
    rows = sound()
    change(rows)
    assert code(rows) is wanted


HEADS = [
    ({"version": 1}, FAILED),
    ({"version": 0.0}, None),
    ({"cwd": "w"}, CORRUPT),
    ({"cwd": None}, CORRUPT),
    ({"parentSession": None}, CORRUPT),
    ({"seedLength": -1}, CORRUPT),
    ({"seedLength": 3}, None),
    ({"more": 1}, None),
]


@pytest.mark.parametrize(("change", "wanted"), HEADS)
def test_a_header_is_looked_at_too(change: dict[str, Any], wanted: ErrorCode | None) -> None:
    assert code(sound(), {**HEAD, **change}) is wanted


def test_an_unknown_type_weighs_more_than_a_broken_surface_and_less_than_a_broken_message() -> None:
    rows = sound()
    rows[7]["sourceEventSeqs"] = [5]
    rows.append({"type": "acme/own", "data": {}})
    assert code(rows) is FAILED
    rows[1]["data"]["id"] = ""
    assert code(rows) is CORRUPT


def test_an_open_call_without_an_id_cannot_be_closed() -> None:
    rows = sound()[:5]
    del rows[4]["data"]["message"]["content"][0]["id"]
    assert code(rows) is CORRUPT
    assert code([*rows, {"type": "step/end", "data": {}}]) is None


def test_a_live_seed_may_hold_any_type_but_no_gap() -> None:
    head = Header(version=0, id="s", created_at=1, cwd="/w")
    log = events([*sound(), {"type": "acme/own", "data": {}}, {"type": "mode/set", "data": {}}])
    assert validate_log(head, log) is None
    assert validate_log(head, log[1:]) is not None
    assert validate_log(Header(version=0, id="s", created_at=1, cwd="w"), []) is not None


def append(state: LogState, type: str, data: Any, op: Any = UNSET, sources: Any = UNSET) -> bool:
    """Try to append; whether it was accepted."""
    event = Event(type, len(state.fold.surface) + 50, 0, data, op, sources)
    if validate_append(state, event) is not None:
        return False
    state.push(event)
    return True


def test_a_live_append_minds_the_surface_and_not_the_shape() -> None:
    state = LogState()
    assert append(state, "user/message", {}, "append")
    assert append(state, "acme/own", None)
    assert not append(state, "user/message", {})
    assert not append(state, "turn/start", {"turn": 1}, "append")
    assert not append(state, "request/header", {"reason": "fallback"})
    assert not append(state, "request/header-delta", {})
    assert append(state, "request/header", None)


def test_a_result_is_rewritten_by_its_like_only() -> None:
    state = LogState()
    for seq in (0, 1):
        event = Event("tool/result", seq, 0, result("c"), "append")
        assert validate_append(state, event) is None
        state.push(event)
    over = {"op": "replace", "start": 1, "end": 1}
    assert validate_append(state, Event("tool/result", 2, 0, result("c", [1]), over, [1])) is None
    assert validate_append(state, Event("tool/result", 2, 0, result("d"), over, [1])) is not None
    assert validate_append(state, Event("tool/result", 2, 0, {"message": 5}, over, [1])) is not None
    both = {"op": "replace", "start": 0, "end": 1}
    assert validate_append(state, Event("tool/result", 2, 0, result("c"), both, [0, 1])) is not None


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ("x", ["x"], False),
    ],
)
def test_payloads_are_compared_as_json(a: Any, b: Any, equal: bool) -> None:
    assert json_equal(a, b) is equal
