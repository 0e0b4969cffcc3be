"""Strict replay of a generation 0 log, with the reference's rules: which logs it refuses, and which appends.

Tolerant reading never asks here. The first fault is the answer, as an error code and one sentence; physical damage is
the reader's business and comes before. `validate_stored` is for a log on disk, `validate_log` for the events of a live
session, `validate_append` for its next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from palimpsest_core.base.errors import ErrorCode
from palimpsest_core.formats.v0 import REFERENCE_TYPES
from palimpsest_core.log import shapecheck
from palimpsest_core.log.markers import Marker, Replace, parse_op, sequence_number
from palimpsest_core.log.shapes import is_null, list_at, member
from palimpsest_core.log.surface import SurfaceFold, surface_types
from palimpsest_core.model.event import UNSET, Event
from palimpsest_core.model.header import Header

_SURFACE: Final = surface_types(0)


class Fault(NamedTuple):
    """Why a log or an event is refused."""

    code: ErrorCode
    message: str


def _corrupt(message: str | None) -> Fault | None:
    return None if message is None else Fault(ErrorCode.CORRUPT_SESSION, message)


class LogState:
    """What an accepted log amounts to, for the next event: its surface, and the tool results on it."""

    __slots__ = ("_results", "fold")

    def __init__(self) -> None:
        self.fold = SurfaceFold(0)
        self._results: dict[int, Any] = {}

    def push(self, event: Event) -> None:
        """Take an event that `validate_append` has accepted."""
        step = self.fold.push(event)
        for seq in step.replaced:
            self._results.pop(seq, None)
        if event.type == "tool/result":
            self._results[event.seq] = event.data

    def result(self, seq: int) -> Any:
        """The payload of a current tool result."""
        return self._results.get(seq)


def validate_append(state: LogState, event: Event) -> Fault | None:
    """Whether `event` may follow the log in `state`: the vocabulary and surface rules of a live append.

    It does not look at the message's shape (the reference does not either), nor at whether the payload is plain JSON.
    """
    return _corrupt(shapecheck.removed_fault(event.type, event.data, event.seq) or _surface_fault(state, event))


def validate_log(header: Header, events: Iterable[Event]) -> Fault | None:
    """The first fault of whole events as a live session's seed: envelopes, messages, request headers, the surface.

    Event types are not looked at: a live session takes any.
    """
    fault = _header_fault({"cwd": header.cwd} if header.cwd is not None else {})
    return _corrupt(fault) or _replay_fault(events)


def validate_messages(events: Iterable[Event]) -> Fault | None:
    """The first message that is none: the reference copies messages out of a live session, and looks at them then."""
    return next((fault for event in events if (fault := _corrupt(shapecheck.message_fault(event)))), None)


def _replay_fault(events: Iterable[Event]) -> Fault | None:
    state = LogState()
    for index, event in enumerate(events):
        fault = (
            shapecheck.removed_fault(event.type, event.data, index)
            or shapecheck.envelope_fault(event, index)
            or shapecheck.request_fault(event)
            or shapecheck.message_fault(event)
            or _surface_fault(state, event)
        )
        if fault is not None:
            return _corrupt(fault)
        state.push(event)
    return None


def validate_stored(header: Mapping[str, Any], events: Iterable[Event]) -> Fault | None:
    """The first fault of a stored log: `header` is its first line's object, `events` what could be read, modernised.

    `events` is gone through several times.

    `PERSISTENCE_FAILED` for another format version and for an event type that the reference does not know and that is
    not marked as ignorable; `CORRUPT_SESSION` for everything else. The order of the checks is the reference's, because
    it decides which of the two a log with several faults gets.
    """
    if header.get("version") != 0:
        message = f"The log has format version {header.get('version')!r}; strict reading knows version 0 only."
        return Fault(ErrorCode.PERSISTENCE_FAILED, message)
    for event in events:
        fault = (
            shapecheck.removed_fault(event.type, event.data, event.seq)
            or shapecheck.old_shape_fault(event)
            or shapecheck.message_fault(event)
        )
        if fault is not None:
            return _corrupt(fault)
    for event in events:
        if event.type not in REFERENCE_TYPES and event.ignorable is not True:
            message = f"Event {event.seq} has the unknown type {event.type!r} and is not marked as ignorable."
            return Fault(ErrorCode.PERSISTENCE_FAILED, message)
    return _corrupt(_closing_fault(events) or _header_fault(header)) or _replay_fault(events)


def _closing_fault(events: Iterable[Event]) -> str | None:
    """Whether the scan for an open turn fails, or the open turn asks for a call that no closing result can name."""
    turn_open = False
    nameless: int | None = None
    for event in events:
        fault = shapecheck.boundary_fault(event)
        if fault is not None:
            return fault
        match event.type:
            case "turn/start":
                turn_open, nameless = not is_null(event.data, "turn"), None
            case "turn/end":
                turn_open, nameless = False, None
            case "step/end":
                nameless = None
            case "assistant/message":
                for block in list_at(event.data, "message", "content"):
                    call = member(block, "id")
                    if member(block, "type") == "tool-call" and not (isinstance(call, str) and call):
                        nameless = event.seq
    if turn_open and nameless is not None:
        return f"The open last turn asks for a call without an id at event {nameless}, so it cannot be closed."
    return None


def _header_fault(header: Mapping[str, Any]) -> str | None:
    cwd = header.get("cwd")
    if "cwd" in header and (not isinstance(cwd, str) or not cwd.startswith("/")):
        return "The header's cwd is no absolute path."
    for key in ("parentSession", "agentPreset"):
        if key in header and not isinstance(header[key], str):
            return f"The header's {key} is no text."
    for key in ("seedLength", "delegationDepth", "createdAt"):
        if key in header and sequence_number(header[key]) is None:
            return f"The header's {key} is no whole number of at least 0."
    if "origin" in header and header["origin"] != "subagent":
        return 'The header\'s origin is not "subagent".'
    return None


def _surface_fault(state: LogState, event: Event) -> str | None:
    """Session format, section 5, for the event that comes next."""
    marked = event.surface_op is not UNSET or event.source_event_seqs is not UNSET
    if event.type not in _SURFACE:
        return (
            f"Event {event.seq} of type {event.type} carries surface marks, which this type must not."
            if marked
            else None
        )
    op = parse_op(event.surface_op)
    if op is Marker.NONE:
        return f"Event {event.seq} of type {event.type} has no surface marker."
    if op is Marker.MALFORMED or (isinstance(op, Replace) and op.modern):
        return f"The surface marker of event {event.seq} is neither append nor a replacement of two nodes."
    fault = _sources_fault(event)
    if fault is not None or not isinstance(op, Replace):
        return fault
    fault = state.fold.fault_of(event.type, event.seq, op, event.source_event_seqs)
    if fault is None and event.type == "tool/result":
        fault = _rewrite_fault(event, state.result(op.start))
    return fault


def _sources_fault(event: Event) -> str | None:
    sources = event.source_event_seqs
    if sources is UNSET:
        return None
    if not isinstance(sources, list):
        return f"The sources of event {event.seq} are no list."
    if not sources and event.type != "assistant/message":
        return f"Event {event.seq} of type {event.type} has an empty list of sources."
    numbers = [sequence_number(source) for source in sources]
    if None in numbers:
        return f"The sources of event {event.seq} are not all event numbers."
    if len(set(numbers)) != len(numbers):
        return f"The sources of event {event.seq} name an event twice."
    late = next((number for number in numbers if number is not None and number >= event.seq), None)
    return None if late is None else f"Event {event.seq} cites event {late}, which is not earlier."


def _rewrite_fault(event: Event, original: Any) -> str | None:
    """A tool result may rewrite another one's content and nothing else."""
    before, after = _without_content(original), _without_content(event.data)
    if before is None or after is None:
        return f"The tool result {event.seq} or the one it rewrites has no message with content."
    if not json_equal(before, after):
        return f"The tool result {event.seq} changes more than the content of the one it rewrites."
    return None


def _without_content(data: Any) -> dict[str, Any] | None:
    """A tool result's payload with its one block's content taken out."""
    message = member(data, "message")
    content = member(message, "content")
    if not isinstance(content, list):
        return None
    first = content[0] if content and isinstance(content[0], dict) else {}
    return {**data, "message": {**message, "content": [{**first, "content": None}]}}


def json_equal(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal: numbers by value, true is not 1, the order of keys does not matter."""
    pending = [(a, b)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pending.extend((item, right[key]) for key, item in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right))
        elif isinstance(left, bool) is not isinstance(right, bool) or left != right:
            return False
    return True
