"""Answers about one log that has been read: pure functions over its events (spec: engine contract, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken, watched
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.log.loose import documents
from palimpsest_core.log.surface import SurfaceFold, fold_events
from palimpsest_core.log.taking import handing_refusal
from palimpsest_core.log.text import Registry
from palimpsest_core.log.textfault import text_fault
from palimpsest_core.log.titles import UnreadableTitle, current_title, reference_title
from palimpsest_core.log.validate import Fault, validate_log, validate_messages
from palimpsest_core.model.event import Event, EventDocument, EventRecord, EventTrace, EventWindow, event_json
from palimpsest_core.model.finding import Finding
from palimpsest_core.model.header import Header
from palimpsest_core.model.jsonable import detached
from palimpsest_core.model.session import SessionLog, SurfaceSnapshot, Title
from palimpsest_core.query.filters import Clause, event_matcher, text_patterns


class Observed(msgspec.Struct, frozen=True):
    """One session as a source showed it: its header and the events of the balanced view, seqs dense from 0.

    `shared` marks events that belong to somebody else (a live session), whose payloads must be copied on the way out.
    `strict`: read as the reference reads it, with its refusals.
    """

    header: Header
    events: Sequence[Event]
    generation: int = 0
    findings: Sequence[Finding] = ()
    shared: bool = False
    strict: bool = False

    def fold(self, cancel: CancelToken | None = None) -> SurfaceFold:
        """The surface after the last event.

        Read strictly, a surface whose rules are broken is `INVALID_SURFACE`: the engine never shows a guess. For a
        stored log this never happens, since its validation has refused it before.
        """
        fold = fold_events(watched(self.events, cancel), self.generation)
        if self.strict and fold.unreliable:
            raise SessionQueryError(ErrorCode.INVALID_SURFACE, fold.problems[0])
        return fold

    def as_json(self, event: Event) -> dict[str, Any]:
        """One event as a detached JSON object."""
        shown = event_json(event)
        return detached(shown) if self.shared else shown


class Window(msgspec.Struct, frozen=True):
    """How many events before and after a target are asked for; made by `parse_window`."""

    before: int
    after: int


def whole_number(value: Any) -> int | None:
    """`value` as an integer when it is one as the harness counts (2.0 is, True and "2" are not), else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


def parse_window(before: Any, after: Any, most: int) -> Window:
    """Check the window of `read_event`: whole numbers in 0..`most`, else `INVALID_WINDOW`."""
    sizes = []
    for name, value in (("before", before), ("after", after)):
        size = whole_number(value)
        if size is None or not 0 <= size <= most:
            raise SessionQueryError(
                ErrorCode.INVALID_WINDOW, f"The window's {name} must be a whole number from 0 to {most}."
            )
        sizes.append(size)
    return Window(*sizes)


def find_event(seen: Observed, seq: Any) -> Event:
    """The event with number `seq`; whatever is no such number is `EVENT_NOT_FOUND`."""
    number = whole_number(seq)
    if number is None or not 0 <= number < len(seen.events):
        raise SessionQueryError(
            ErrorCode.EVENT_NOT_FOUND,
            f'Session "{seen.header.id}" has {len(seen.events)} events; there is no event {seq!r}.',
        )
    return seen.events[number]


def _refuse(fault: Fault | None) -> None:
    if fault is not None:
        raise SessionQueryError(fault.code, fault.message)


def session_log(seen: Observed, cancel: CancelToken | None = None) -> SessionLog:
    """Header and all events.

    Read strictly, a live log that could not be another one's seed is `CORRUPT_SESSION` (a stored one is checked when it
    is read), and so are a number that JSON does not have (1e400, -0) and an open turn or step without a number: here,
    and only here.
    """
    if seen.strict and seen.shared:
        _refuse(validate_log(seen.header, watched(seen.events, cancel)))
    refused = handing_refusal(watched(seen.events, cancel)) if seen.strict else None
    if refused is not None:
        raise refused
    events = [seen.as_json(event) for event in watched(seen.events, cancel)]
    return SessionLog(session=seen.header, events=events)


def event_record(seen: Observed, fold: SurfaceFold, event: Event) -> EventRecord:
    """Where one event stands."""
    return EventRecord(
        session_id=seen.header.id,
        seq=event.seq,
        type=event.type,
        time=event.time,
        surface=fold.kind(event.seq),
    )


def event_records(seen: Observed, cancel: CancelToken | None = None) -> list[EventRecord]:
    """Every event, ascending, with its surface."""
    fold = seen.fold(cancel)
    return [event_record(seen, fold, event) for event in watched(seen.events, cancel)]


def check_texts(events: Iterable[Event]) -> None:
    """Raise `CORRUPT_SESSION` for an event of which the reference cannot take the text (strict mode asks)."""
    for event in events:
        fault = text_fault(event)
        if fault is not None:
            raise SessionQueryError(ErrorCode.CORRUPT_SESSION, fault)


def event_documents(
    seen: Observed, clauses: Iterable[Clause], registry: Registry, cancel: CancelToken | None = None
) -> list[EventDocument]:
    """Every event that has semantic text and passes `clauses`, ascending. A blank text clause is `INVALID_FILTER`.

    Read strictly, a log with an event that lacks a promised text is `CORRUPT_SESSION`, whatever the clauses.
    """
    if seen.strict:
        check_texts(watched(seen.events, cancel))
    clauses = list(clauses)
    patterns = text_patterns(clauses)
    passes = event_matcher(clauses)
    fold = seen.fold(cancel)
    found = []
    for seq, text in documents(seen.events, registry, cancel):
        event = seen.events[seq]
        surface = fold.kind(seq)
        if passes(seq, event.type, event.time, surface) and all(pattern.search(text) for pattern in patterns):
            found.append(
                EventDocument(
                    session_id=seen.header.id,
                    seq=seq,
                    type=event.type,
                    time=event.time,
                    surface=surface,
                    text=text,
                )
            )
    return found


def surface_snapshot(seen: Observed, cancel: CancelToken | None = None) -> SurfaceSnapshot:
    """The current surface in model order and the last seq it takes into account (None for an empty log)."""
    shown = [seen.events[seq] for seq in seen.fold(cancel).surface]
    last = seen.events[-1].seq if seen.events else None
    return SurfaceSnapshot(session=seen.header, captured_through_seq=last, events=_copied(seen, shown, cancel))


def _copied(seen: Observed, events: Sequence[Event], cancel: CancelToken | None = None) -> list[dict[str, Any]]:
    """Events as detached JSON objects. Read strictly, a live session's malformed message is `CORRUPT_SESSION`."""
    if seen.strict and seen.shared:
        _refuse(validate_messages(watched(events, cancel)))
    return [seen.as_json(event) for event in watched(events, cancel)]


def event_window(seen: Observed, seq: Any, window: Window) -> EventWindow:
    """One event and its neighbours, clipped to the log."""
    target = find_event(seen, seq)
    start = max(target.seq - window.before, 0)
    end = min(target.seq + window.after, len(seen.events) - 1)
    return EventWindow(
        session=seen.header,
        events=_copied(seen, seen.events[start : end + 1]),
        target=seen.as_json(target),
        start_seq=start,
        end_seq=end,
    )


def sources_of(event: Event) -> list[int]:
    """The seqs that an event cites, as logged; nothing when the list is absent or malformed."""
    sources = event.source_event_seqs
    if not isinstance(sources, list):
        return []
    return [number for number in map(whole_number, sources) if number is not None]


def replacement_chain(fold: SurfaceFold, seq: int) -> list[int]:
    """Who replaced the event, who replaced that one, and so on to the last."""
    chain = []
    follower = fold.replaced_by.get(seq)
    while follower is not None:
        chain.append(follower)
        follower = fold.replaced_by.get(follower)
    return chain


def event_trace(seen: Observed, seq: Any, cancel: CancelToken | None = None) -> EventTrace:
    """The direct links of one event and the chain of its replacers."""
    target = find_event(seen, seq)
    fold = seen.fold(cancel)
    later = watched(seen.events[target.seq + 1 :], cancel)
    derived = [event.seq for event in later if target.seq in sources_of(event)]
    chain = replacement_chain(fold, target.seq)
    return EventTrace(
        session=seen.header,
        target=event_record(seen, fold, target),
        replacement_chain=chain,
        replaced_event_seqs=list(fold.replaced_seqs.get(target.seq, ())),
        source_event_seqs=sources_of(target),
        derived_event_seqs=derived,
        replaced_by=chain[0] if chain else None,
    )


def distinct(values: Any) -> list[Any]:
    """Values in the order in which they come first, each once; nothing for None, the characters of a text.

    Lists and objects are each their own; 1 and 1.0 are one value, true is another. Raises TypeError for what cannot be
    gone through, an object included.
    """
    if isinstance(values, dict):
        raise TypeError("The session ids are no list.")
    seen: list[Any] = []
    known: set[tuple[bool, Any]] = set()
    for value in values if values is not None else ():
        if isinstance(value, (str, int, float, bool, type(None))):
            key = (isinstance(value, bool), value)
            if key in known:
                continue
            known.add(key)
        seen.append(value)
    return seen


def title_in_force(seen: Observed, cancel: CancelToken | None = None) -> Title | None:
    """The last title of the log, if it has one; read strictly, one that the reference refuses is `CORRUPT_SESSION`."""
    title = _strict_title(seen, cancel) if seen.strict else current_title(watched(seen.events, cancel))
    if title is None or not seen.shared:
        return title
    return msgspec.structs.replace(title, message_seqs=detached(title.message_seqs), source=detached(title.source))


def _strict_title(seen: Observed, cancel: CancelToken | None) -> Title | None:
    """The last title event as the reference tells it, even when it is one that people are not shown."""
    last = None
    for event in watched(seen.events, cancel):
        if event.type == "session/title":
            last = event
    try:
        return reference_title(last) if last is not None else None
    except UnreadableTitle as cause:
        raise SessionQueryError(ErrorCode.CORRUPT_SESSION, str(cause)) from cause
