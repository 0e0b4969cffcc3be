"""What a timeline needs to know of a row beyond its envelope, without building the payload."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from palimpsest_core.formats.rows import StoredRow, payload
from palimpsest_core.log.messages import is_human_prompt, result_call_id, tool_result
from palimpsest_core.log.shapes import member, text_at
from palimpsest_core.model.event import Event
from palimpsest_core.query.table import Flag


class _Kind(msgspec.Struct):
    kind: str = ""


class _Sourced(msgspec.Struct):
    """A user message's payload as every writer but the oldest stores it."""

    source: _Kind


class _Reasoned(msgspec.Struct):
    reason: _Kind


class _Called(msgspec.Struct):
    callId: str = ""


class _Result(msgspec.Struct):
    source: _Called


class _Answered(msgspec.Struct):
    """A tool result's payload as every writer but the oldest stores it."""

    message: _Result


_called = msgspec.json.Decoder(_Called).decode
_answered = msgspec.json.Decoder(_Answered).decode
_sourced = msgspec.json.Decoder(_Sourced).decode
_reasoned = msgspec.json.Decoder(_Reasoned).decode

_PROMPTS: Final = frozenset({"user/message", "steering/message"})
_FAILING: Final = frozenset({"tool/result", "tool/code-dispatch", "tool/ptc-dispatch"})
_ENDING: Final = frozenset({"command/done", "compaction/end", "compact/end"})
_SIMPLE: Final = {
    "assistant/chunk": int(Flag.CHUNK),
    "turn/start": int(Flag.TURN),
    "session/end-seed": int(Flag.RESUME),
}
_PROMPT: Final = int(Flag.PROMPT)
_ERROR: Final = int(Flag.ERROR)

LOOKED_AT: Final = frozenset({*_PROMPTS, *_FAILING, *_ENDING, *_SIMPLE, "turn/end"})
"""Types for which `row_flags` can answer anything."""


def row_flags(row: StoredRow) -> int:
    """`Flag` bits of one stored row: prompts, errors, chunks, turn starts and resume markers. Never raises."""
    kind = row.type
    if kind not in LOOKED_AT:
        return 0
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple
    raw: Any = row.envelope.data if row.envelope is not None else member(row.value, "data")
    if isinstance(raw, msgspec.Raw):
        bits = _raw_flags(kind, raw)
        if bits is not None:
            return bits
        try:
            raw = payload(raw)
        except ValueError:
            return 0
    return value_flags(kind, raw)


def _raw_flags(kind: str, raw: msgspec.Raw) -> int | None:
    """The answer as far as it can be had without building values; None when it cannot."""
    try:
        if kind in _PROMPTS:
            return _PROMPT if _sourced(raw).source.kind == "user" else 0
        if kind == "turn/end":
            return _ERROR if _reasoned(raw).reason.kind == "error" else 0
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    # Quotes inside text are escaped, so without these bytes there is no such key.
    data = bytes(raw)
    return None if b'rror"' in data or b"\\u" in data else 0


def call_id(row: StoredRow) -> str:
    """The call id of a `tool/call` or `tool/result` row; empty when it names none. Never raises."""
    raw: Any = row.envelope.data if row.envelope is not None else member(row.value, "data")
    if isinstance(raw, msgspec.Raw):
        if named := _raw_call_id(row.type, raw):
            return named
        try:
            raw = payload(raw)
        except ValueError:
            return ""
    return text_at(raw, "callId") if row.type == "tool/call" else result_call_id(raw)


def _raw_call_id(kind: str, raw: msgspec.Raw) -> str:
    """The call id as far as it can be had without building values; empty when it cannot."""
    try:
        return (_called(raw) if kind == "tool/call" else _answered(raw).message.source).callId
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return ""


def value_flags(kind: str, data: Any) -> int:
    """As `row_flags`, for a payload that is built already."""
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple
    event = Event(kind, 0, 0, data)
    if kind in _PROMPTS:
        return _PROMPT if is_human_prompt(event) else 0
    if kind == "tool/result":
        result = tool_result(event)
        failed = result is not None and result.is_error
    elif kind in _FAILING:
        failed = member(data, "isError") is True
    elif kind == "turn/end":
        failed = member(data, "reason", "kind") == "error"
    else:
        failed = member(data, "kind") == "error" or bool(member(data, "error"))
    return _ERROR if failed and kind in LOOKED_AT else 0
