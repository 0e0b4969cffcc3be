"""One open session: an append-only log in memory. What is accepted is final; what is refused leaves no trace."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest_core.base.jsjson import NotPlainJson, plain_copy
from palimpsest_core.log.markers import sequence_number
from palimpsest_core.log.validate import Fault, LogState, validate_append, validate_log
from palimpsest_core.model.event import UNSET, Event, UnsetType
from palimpsest_core.model.header import Header
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.headers import as_header, checked_header

END_SEED = "session/end-seed"
_LIFE = itertools.count(1)
_SEED_KEYS = frozenset(("type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"))

Row = dict[str, Any]
Listener = Callable[["LiveSession", Sequence[Event]], None]


class LiveSession:
    """An open session. Thread-safe; made by a `SessionStore`, which is the one that appends.

    `life` is a number that no other opening of any session shares; `version` grows with every append. Together they
    tell whether anything changed. Events are values of this session: whoever hands one on copies its `data`.
    """

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.header_row: Row = checked_header(header)
        self.header: Header = as_header(self.header_row)
        self.id: str = self.header.id
        self.life = next(_LIFE)
        self.lock = threading.RLock()
        self._events: list[Event] = []
        self._rows: list[Row] = []
        self._snapshot: tuple[Event, ...] | None = ()
        self._state = LogState()
        self._telling: int | None = None

    def __len__(self) -> int:
        return len(self._events)

    @property
    def version(self) -> int:
        """Grows with every append; equal to the number of events."""
        return len(self._events)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events by now, in order; the tuple does not change any more."""
        with self.lock:
            if self._snapshot is None:
                self._snapshot = tuple(self._events)
            return self._snapshot

    def rows(self, start: int, stop: int | None = None) -> list[Row]:
        """The stored objects of events `start` to before `stop`, for the writer."""
        with self.lock:
            return self._rows[start:stop]

    def plant(self, seed: Sequence[Mapping[str, Any]], now: int) -> None:
        """Fill the empty log with whole events and close the seed with its end marker, unless it ends in one.

        Raises `WriteRefused(BAD_EVENT)` naming the first event that breaks the shape or the surface rules.
        """
        rows = [self._seed_row(index, raw) for index, raw in enumerate(seed)]
        if not rows or rows[-1]["type"] != END_SEED:
            rows.append({"type": END_SEED, "seq": len(rows), "time": now, "data": {}})
        self.adopt(rows, [event_of(row) for row in rows])

    def adopt(self, rows: Sequence[Row], events: Sequence[Event]) -> None:
        """Fill the empty log with events that come from a stored one; the same checks as for a seed."""
        fault = validate_log(self.header, events)
        if fault is not None:
            raise _refused(fault)
        with self.lock:
            for event in events:
                self._state.push(event)
            self._events = list(events)
            self._rows = list(rows)
            self._snapshot = None

    def _seed_row(self, index: int, raw: Mapping[str, Any]) -> Row:
        if not isinstance(raw, Mapping):
            raise WriteRefused(Refusal.BAD_EVENT, f"The seed event at {index} is no object.")
        try:
            row: Row = plain_copy(dict(raw))
        except NotPlainJson as error:
            raise WriteRefused(Refusal.NOT_JSON, f"The seed event at {index} cannot be stored: {error}.") from error
        unknown = row.keys() - _SEED_KEYS
        missing = {"type", "seq", "time", "data"} - row.keys()
        if unknown or missing:
            key = min(unknown or missing)
            word = "an unknown key" if unknown else "no key"
            raise WriteRefused(Refusal.BAD_EVENT, f"The seed event at {index} has {word} {key!r}.")
        if row["seq"] != index or isinstance(row["seq"], bool):
            raise WriteRefused(Refusal.NOT_CONTIGUOUS, f"The seed event at {index} has seq {row['seq']!r}.")
        return row

    def append(
        self,
        type: str,
        data: Any,
        *,
        time: int,
        surface_op: Any = UNSET,
        source_event_seqs: Any = UNSET,
        ignorable: bool | UnsetType = UNSET,
    ) -> Event:
        """Take the next event; returns it as logged.

        Raises `WriteRefused` (`NOT_JSON`, `BAD_EVENT`) and leaves the log as it was when the data is not plain JSON or
        the event breaks a rule. A listener must not append to the session that is telling it.
        """
        if self._telling == threading.get_ident():
            raise WriteRefused(Refusal.BAD_EVENT, f"A listener of session {self.id!r} tried to append to it.")
        if not isinstance(type, str):
            raise WriteRefused(Refusal.BAD_EVENT, f"An event's type must be a text, not {type!r}.")
        if ignorable is not UNSET and ignorable is not True:
            raise WriteRefused(Refusal.BAD_EVENT, f"An event's ignorable mark must be true, not {ignorable!r}.")
        with self.lock:
            row: Row = {"type": type, "seq": len(self._events), "time": time, "data": data}
            if source_event_seqs is not UNSET:
                row["sourceEventSeqs"] = source_event_seqs
            if surface_op is not UNSET:
                row["surfaceOp"] = surface_op
            if ignorable is not UNSET:
                row["ignorable"] = ignorable
            try:
                row = plain_copy(row)
            except NotPlainJson as error:
                raise WriteRefused(Refusal.NOT_JSON, f"The event {type!r} cannot be stored: {error}.") from error
            event = event_of(row)
            fault = validate_append(self._state, event)
            if fault is not None:
                raise _refused(fault)
            self._state.push(event)
            self._events.append(event)
            self._rows.append(row)
            self._snapshot = None
            return event

    def cut_after(self, boundary: int | None) -> list[Row]:
        """The prefix that a fork takes: events `0..boundary`, all of them without a boundary.

        Raises `WriteRefused`: `BAD_EVENT` for a boundary that is no seq of this log, `OPEN_TURN` when the prefix ends
        inside a turn.
        """
        with self.lock:
            rows = self._rows
            if boundary is not None:
                seq = sequence_number(boundary)
                if seq is None or seq >= len(rows):
                    raise WriteRefused(Refusal.BAD_EVENT, f"Session {self.id!r} has no event {boundary!r} to fork at.")
                rows = rows[: seq + 1]
            for row in reversed(rows):
                if row["type"] == "turn/end":
                    break
                if row["type"] == "turn/start":
                    raise WriteRefused(
                        Refusal.OPEN_TURN,
                        f"A fork of session {self.id!r} there would end inside the turn that starts at {row['seq']}.",
                    )
            return list(rows)

    def tell(self, events: Sequence[Event], listeners: Sequence[Listener]) -> list[BaseException]:
        """Call the listeners one by one; a failing one does not keep the others from hearing. Returns the failures."""
        failures: list[BaseException] = []
        self._telling = threading.get_ident()
        try:
            for listener in listeners:
                try:
                    listener(self, events)
                except Exception as error:
                    failures.append(error)
        finally:
            self._telling = None
        return failures


def event_of(row: Mapping[str, Any]) -> Event:
    """The event of a stored object."""
    return Event(
        type=row["type"],
        seq=row["seq"],
        time=row["time"],
        data=row["data"],
        surface_op=row.get("surfaceOp", UNSET),
        source_event_seqs=row.get("sourceEventSeqs", UNSET),
        ignorable=row.get("ignorable", UNSET),
    )


def _refused(fault: Fault) -> WriteRefused:
    return WriteRefused(Refusal.BAD_EVENT, fault.message)
