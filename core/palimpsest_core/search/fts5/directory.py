"""What searches need to know of all sessions at once: filters become sets of log numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import apsw

from palimpsest_core.base.jstext import well_formed
from palimpsest_core.query.filters import Clause, Range, Values
from palimpsest_core.search.fts5.extents import Extents


class LogPlace(NamedTuple):
    """One session as its filters see it; `number` is that of its log."""

    number: int
    session: str
    created_at: int | float
    cwd: str | None
    parent: str | None
    version: int
    cut: int
    events: int
    first_time: int | float | None
    last_time: int | float | None
    live: bool
    persisted: bool


_COLUMNS = "n, session, created_at, cwd, parent, version, cut, events, first_time, last_time, live, persisted"

_LOOKED_UP: dict[str, Callable[[LogPlace], str | None]] = {
    "id": attrgetter("session"),
    "cwd": attrgetter("cwd"),
    "parent": attrgetter("parent"),
}
"""The kinds of filters that name values of a place, each with what they name."""


class Directory:
    """The sessions of one table that answer, by number and by id, and where the documents of all logs there are."""

    def __init__(self, db: apsw.Connection, table: str, extents: Extents) -> None:
        self._extents = extents
        rows = db.execute(
            f"select {_COLUMNS} from {table} where answers and session is not null and created_at is not null"
        )
        self.places = list(map(LogPlace._make, rows))
        self.by_session = {place.session: place for place in self.places}
        self._known: dict[str, dict[str | None, list[LogPlace]]] = {}
        self._forks: dict[str, list[LogPlace]] = {}
        for place in self.places:
            if place.cut and place.parent is not None:
                self._forks.setdefault(place.parent, []).append(place)

    def select(self, clauses: Iterable[Clause], event_clauses: Iterable[Clause] = ()) -> frozenset[int]:
        """Numbers of the sessions that pass the filters, less those without a document in the asked time."""
        places = self.places
        for clause in clauses:
            if isinstance(clause, Values) and clause.kind in _LOOKED_UP and places is self.places:
                known = self._looked_up(clause.kind)
                places = [place for value in _texts(clause) for place in known.get(value, ())]
            else:
                test = _session_test(clause)
                places = [place for place in places if test(place)]
        for clause in event_clauses:
            if isinstance(clause, Range) and clause.kind == "time":
                test = _time_test(clause)
                places = [place for place in places if test(place)]
        return frozenset([place.number for place in places])

    def _looked_up(self, kind: str) -> dict[str | None, list[LogPlace]]:
        """All places by one of their texts."""
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = {}
            value_of = _LOOKED_UP[kind]
            for place in self.places:
                known.setdefault(value_of(place), []).append(place)
        return known

    def ranges(self, numbers: frozenset[int]) -> list[tuple[int, int]]:
        """The fewest ascending, inclusive rowid ranges that hold exactly the documents of these logs."""
        extents, places = self._all_extents
        out: list[tuple[int, int]] = []
        before = -2
        for place in sorted(place for number in numbers for place in places.get(number, ())):
            first, last, _ = extents[place]
            out.append((out.pop()[0], last) if place == before + 1 else (first, last))
            before = place
        return out

    @cached_property
    def _all_extents(self) -> tuple[list[tuple[int, int, int]], dict[int, list[int]]]:
        """All extents, ascending, and for each log the places of its own among them."""
        extents = self._extents.every()
        places: dict[int, list[int]] = {}
        for place, (_, _, number) in enumerate(extents):
            places.setdefault(number, []).append(place)
        return extents, places

    def inherited(self, among: frozenset[int] | None) -> list[tuple[int, int, int]]:
        """`(number, skip, parent)`: the first `skip` events of that log are a copy that its parent's log, of this
        number, also answers for.

        `among` restricts the parents to those that the search looks at. Event numbers agree only between logs of one
        format (versions 0 and 1 number alike).
        """
        out = []
        for parent_id, children in self._forks.items():
            parent = self.by_session.get(parent_id)
            if parent is None or (among is not None and parent.number not in among):
                continue
            for place in children:
                same_numbers = parent.version == place.version or max(parent.version, place.version) <= 1
                if same_numbers and place.number != parent.number and parent.events >= place.cut:
                    out.append((place.number, place.cut, parent.number))
        return out

    def carriers(self, session: str, seq: int) -> list[str]:
        """Ids of the sessions whose inherited prefix holds event `seq` of `session`: nearest first, then oldest."""
        out: list[str] = []
        seen = {session}
        waiting: Sequence[str] = [session]
        while waiting:
            found = [place for parent in waiting for place in self._forks.get(parent, ()) if place.cut > seq]
            found.sort(key=lambda place: (place.created_at, place.session))
            waiting = [child for child in dict.fromkeys(place.session for place in found) if child not in seen]
            seen.update(waiting)
            out += waiting
        return out


def _session_test(clause: Clause) -> Callable[[LogPlace], bool]:
    if isinstance(clause, Range):
        low, high = clause.low, clause.high
        return lambda place: (low is None or place.created_at >= low) and (high is None or place.created_at <= high)
    assert isinstance(clause, Values)
    values = _texts(clause)
    if clause.kind in _LOOKED_UP:
        value_of = _LOOKED_UP[clause.kind]
        return lambda place: value_of(place) in values
    live, persisted = "live" in values, "persisted" in values
    return lambda place: (live and place.live) or (persisted and place.persisted)


def _texts(clause: Values) -> frozenset[str | None]:
    return frozenset(None if value is None else well_formed(value) for value in clause.values)


def _time_test(clause: Range) -> Callable[[LogPlace], bool]:
    low, high = clause.low, clause.high

    def overlaps(place: LogPlace) -> bool:
        if place.first_time is None or place.last_time is None:
            return True  # not known: its documents are looked at
        return (low is None or place.last_time >= low) and (high is None or place.first_time <= high)

    return overlaps
