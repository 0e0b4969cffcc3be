"""Whether the harness takes a stored generation 0 log: the one order of questions for everybody who asks.

A strict read asks it of what it read, a rescue of the copy that it would write. Findings of the reader come in as they
are; the rows that they tell of are not among the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jsjson import NotPlainJson, plain_copy
from palimpsest_core.formats.strict import envelope_refusal, physical_refusal
from palimpsest_core.log.repair import closers
from palimpsest_core.log.validate import validate_stored
from palimpsest_core.model.event import Event, event_json
from palimpsest_core.model.finding import Finding


def refusal(
    header: Mapping[str, Any], events: Iterable[Event], findings: Iterable[Finding]
) -> SessionQueryError | None:
    """The error with which the harness refuses every read of a log; None when it takes it.

    `header` is the first line's object, `events` what could be read, without closers; they are gone through several
    times. Bytes and rows come first, then content, then envelopes.
    """
    findings = list(findings)
    refused = physical_refusal(findings)
    if refused is not None:
        return refused
    fault = validate_stored(header, events)
    return SessionQueryError(fault.code, fault.message) if fault is not None else envelope_refusal(findings)


def handing_refusal(events: Iterable[Event]) -> SessionQueryError | None:
    """The error with which the harness, of a log that it takes, will not hand out all events: `CORRUPT_SESSION`.

    `events` are those of the balanced view, closers included. Refused are an open turn or step without a number, and
    numbers that JSON does not have (1e400, -0).
    """
    unclosed = next(filter(None, map(closer_fault, events)), None)
    if unclosed is not None:
        return SessionQueryError(ErrorCode.CORRUPT_SESSION, unclosed)
    for event in events:
        try:
            plain_copy(event_json(event))
        except NotPlainJson as cause:
            return SessionQueryError(ErrorCode.CORRUPT_SESSION, f"Event {event.seq} is not plain: {cause}.")
    return None


def closer_fault(event: Event) -> str | None:
    """Why the harness could not store this closer: the log does not number the turn or the step that it closes."""
    wanted = {"turn"} if event.type == "turn/end" else {"turn", "step"}
    if not event.synthetic or event.data.keys() >= wanted:
        return None
    return f"The open last turn cannot be closed: the log does not number what event {event.seq} would close."


class Balanced:
    """Events with their closers behind them, gone through anew at each pass; only the closers are kept."""

    def __init__(self, events: Iterable[Event], generation: int) -> None:
        self._events = events
        self._closers = closers(events, generation)

    def __iter__(self) -> Iterator[Event]:
        return chain(self._events, self._closers)
