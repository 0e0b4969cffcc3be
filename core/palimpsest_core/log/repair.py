"""What an interrupted log lacks: the events that close its open turn (spec: session format, section 9).

The scan is incremental; the closers are made in memory, marked `synthetic`, and never written by a reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from palimpsest_core.log.messages import result_call_id
from palimpsest_core.log.shapes import is_null, member, objects_at
from palimpsest_core.model.event import UNSET, Event

STARTED_TEXT: Final = (
    "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. "
    "Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it "
    "may have side effects, first verify external state or ask the user. Do not retry blindly."
)
"""The result text of a call that was recorded before the crash."""

NOT_STARTED_TEXT: Final = (
    "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed."
)
"""The result text of a call that was asked for and never recorded."""


class _Pending(msgspec.Struct):
    """A call without a result: the step that asked for it, and the seq of its `tool/call` once recorded."""

    step: Any
    call_seq: int | None = None
    step_is_null: bool = False


class _Saved(msgspec.Struct, array_like=True):
    turn: Any = None
    turn_open: bool = False
    step: Any = None
    step_open: bool = False
    pending: dict[str, _Pending] = {}
    last_seq: int = -1
    last_time: int = 0


class RepairScan:
    """Watches turns, steps and calls go by. Saving and restoring goes on as if nothing had happened."""

    __slots__ = ("_generation", "_state")

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._state = _Saved()

    @property
    def open(self) -> bool:
        """Whether the log ends inside a turn (a crash, or a session that is still at work)."""
        return self._state.turn_open

    def push(self, event: Event) -> None:
        """Take the next event."""
        self.push_data(event.type, event.seq, event.time, event.data)

    def push_data(self, type: str, seq: int, time: int, data: Any) -> None:
        """Take the next event by its parts. `data` matters for the types in `READS` only; others may pass None."""
        state = self._state
        state.last_seq, state.last_time = seq, time
        # A null turn or step counts as none, one that is missing as open: so the harness has it.
        match type:
            case "turn/start":
                state.turn, state.turn_open = member(data, "turn"), not is_null(data, "turn")
                state.step, state.step_open = None, False
                state.pending.clear()
            case "turn/end":
                state.turn, state.turn_open = None, False
                state.step, state.step_open = None, False
                state.pending.clear()
            case "step/start":
                state.step, state.step_open = member(data, "step"), not is_null(data, "step")
            case "step/end":
                state.step, state.step_open = None, False
                state.pending.clear()
            case "assistant/message":
                self._ask(data)
            case "tool/call":
                self._record(data, seq)
            case "tool/result":
                state.pending.pop(result_call_id(data), None)

    def _ask(self, data: Any) -> None:
        for block in objects_at(data, "message", "content"):
            call = block.get("id")
            if block.get("type") == "tool-call" and isinstance(call, str):
                self._state.pending[call] = _Pending(member(data, "step"), step_is_null=is_null(data, "step"))

    def _record(self, data: Any, seq: int) -> None:
        call = member(data, "callId")
        pending = self._state.pending.get(call) if isinstance(call, str) else None
        if pending is not None:
            pending.call_seq = seq

    def closers(self) -> list[Event]:
        """The events that close the open turn, at the last event's time; empty when no turn is open."""
        state = self._state
        if not state.turn_open:
            return []
        made: list[Event] = []
        for call, pending in state.pending.items():
            made.append(self._result(state.last_seq + 1 + len(made), call, pending))
        if state.step_open:
            made.append(self._event("step/end", state.last_seq + 1 + len(made), self._place(state.step)))
        end = {**self._place(None), "reason": {"kind": "interrupted"}}
        made.append(self._event("turn/end", state.last_seq + 1 + len(made), end))
        return made

    def _place(self, step: Any) -> dict[str, Any]:
        """Turn and step as the log numbers them; a number that the log does not give stays absent."""
        numbers = {"turn": self._state.turn, "step": step}
        return {name: number for name, number in numbers.items() if number is not None}

    def _event(self, type: str, seq: int, data: dict[str, Any], **marks: Any) -> Event:
        return Event(type=type, seq=seq, time=self._state.last_time, data=data, synthetic=True, **marks)

    def _result(self, seq: int, call: str, pending: _Pending) -> Event:
        started = pending.call_seq is not None
        content = [{"type": "text", "text": STARTED_TEXT if started else NOT_STARTED_TEXT}]
        message: dict[str, Any] = {"id": f"interrupted-tool-result-{call}-{seq}"}
        source = {"kind": "tool", "callId": call}
        if self._generation >= 4:
            message |= {"role": "tool", "source": source, "toolCallId": call, "isError": True, "content": content}
        else:
            # Keys in the order in which the harness writes them.
            block = {"type": "tool-result", "toolCallId": call, "isError": True, "content": content}
            message |= {"role": "user", "source": source, "content": [block]}
        error = (
            {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
            if started
            else {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
        )
        place = {**self._place(None), "step": None} if pending.step_is_null else self._place(pending.step)
        data = {**place, "message": message, "error": error}
        sources = [pending.call_seq] if started else UNSET
        return self._event("tool/result", seq, data, surface_op="append", source_event_seqs=sources)

    def save(self) -> bytes:
        """The state as bytes, to go on from when the log has grown."""
        # As JSON: a turn may be anything, a text with half a surrogate pair in it too.
        return json.dumps(msgspec.to_builtins(self._state)).encode("ascii")

    @classmethod
    def restore(cls, generation: int, state: bytes) -> RepairScan:
        """The scan that `save` wrote down. Raises ValueError when the bytes are no such state."""
        scan = cls(generation)
        try:
            scan._state = msgspec.convert(json.loads(state), _Saved)
        except (ValueError, msgspec.ValidationError) as cause:
            raise ValueError("The saved repair state cannot be read; scan the log again.") from cause
        return scan


READS: Final = frozenset(
    {"turn/start", "turn/end", "step/start", "step/end", "assistant/message", "tool/call", "tool/result"}
)
"""The event types whose payload the scan looks into."""


def closers(events: Iterable[Event], generation: int) -> list[Event]:
    """The closers of a whole log; empty when its last turn is closed."""
    scan = RepairScan(generation)
    for event in events:
        scan.push(event)
    return scan.closers()
