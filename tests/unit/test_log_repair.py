"""Closing an interrupted log in memory."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.log.repair import NOT_STARTED_TEXT, STARTED_TEXT, RepairScan, closers
from palimpsest_core.model.event import UNSET, Event


def log(*rows: tuple[str, Any]) -> list[Event]:
    return [Event(kind, seq, 100 + seq, data) for seq, (kind, data) in enumerate(rows)]


TURN = ("turn/start", {"turn": 2})
STEP = ("step/start", {"turn": 2, "step": 1})


def asks(*calls: str) -> tuple[str, Any]:
    content = [{"type": "tool-call", "id": call, "name": "n", "arguments": "{}"} for call in calls]
    return "assistant/message", {"turn": 2, "step": 1, "message": {"content": content}}


def call(name: str) -> tuple[str, Any]:
    return "tool/call", {"turn": 2, "step": 1, "callId": name, "name": "n", "arguments": "{}"}


def result(name: str) -> tuple[str, Any]:
    message = {"source": {"kind": "tool", "callId": name}, "content": []}
    return "tool/result", {"turn": 2, "step": 1, "message": message}


def test_each_open_call_gets_a_result_then_step_and_turn_end() -> None:
    made = closers(log(TURN, STEP, asks("a", "b", "c"), call("b"), result("a")), 0)
    assert [event.type for event in made] == ["tool/result", "tool/result", "step/end", "turn/end"]
    recorded, asked, step, turn = made
    assert (recorded.seq, recorded.time, recorded.synthetic) == (5, 104, True)
    assert recorded.data["error"] == {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
    assert recorded.source_event_seqs == [3]
    assert recorded.data["message"] == {
        "id": "interrupted-tool-result-b-5",
        "role": "user",
        "source": {"kind": "tool", "callId": "b"},
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "b",
                "isError": True,
                "content": [{"type": "text", "text": STARTED_TEXT}],
            }
        ],
    }
    assert asked.data["error"] == {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
    assert asked.source_event_seqs is UNSET
    assert asked.data["message"]["content"][0]["content"][0]["text"] == NOT_STARTED_TEXT
    assert step.data == {"turn": 2, "step": 1}
    assert turn.data == {"turn": 2, "reason": {"kind": "interrupted"}}


def test_from_generation_4_on_a_result_is_a_tool_message() -> None:
    made = closers(log(TURN, STEP, asks("a")), 4)
    assert made[0].data["message"] == {
        "id": "interrupted-tool-result-a-3",
        "role": "tool",
        "source": {"kind": "tool", "callId": "a"},
        "toolCallId": "a",
        "isError": True,
        "content": [{"type": "text", "text": NOT_STARTED_TEXT}],
    }


@pytest.mark.parametrize(
    ("rows", "types"),
    [
        ((), []),
        ((TURN, ("turn/end", {"turn": 2})), []),
        ((STEP, asks("a")), []),
        ((TURN,), ["turn/end"]),
        ((TURN, STEP), ["step/end", "turn/end"]),
        ((TURN, STEP, asks("a"), ("step/end", {})), ["turn/end"]),
        ((TURN, STEP, asks("a"), TURN), ["turn/end"]),
        ((TURN, asks("a"), call("zz")), ["tool/result", "turn/end"]),
    ],
)
def test_only_what_is_open_is_closed(rows: tuple[tuple[str, Any], ...], types: list[str]) -> None:
    assert [event.type for event in closers(log(*rows), 0)] == types


def test_a_scan_that_is_asked_early_can_go_on() -> None:
    scan = RepairScan(0)
    events = log(TURN, STEP, ("step/end", {}), ("turn/end", {}))
    scan.push(events[0])
    assert scan.open
    assert len(scan.closers()) == 1
    for event in events[1:]:
        scan.push(event)
    assert not scan.open
    assert scan.closers() == []
    with pytest.raises(ValueError, match="scan the log again"):
        RepairScan.restore(0, b"nonsense")


def test_the_state_of_a_scan_can_be_saved_whatever_a_turn_is() -> None:
    scan = RepairScan(0)
    scan.push(Event("turn/start", 0, 5, {"turn": {"\ud800": ["\udc00", 1 << 80]}}))
    restored = RepairScan.restore(0, scan.save())
    assert restored.closers() == scan.closers()
