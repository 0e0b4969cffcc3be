"""What searches need to know of all sessions at once: filters become sets of log numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import apsw

from palimpsest_core.base.jstext import well_formed
from palimpsest_core.query.filters import Clause, Range, Values
from palimpsest_core.search.fts5.schema import POSITION_BITS, POSITION_MASK


class LogPlace(NamedTuple):
    """One session as its filters see it; `number` is what its documents' rowids start with."""

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


class Directory:
    """The sessions of one table that answer, by number and by id, and the numbers of all logs there."""

    def __init__(self, db: apsw.Connection, table: str) -> None:
        self.numbers = [int(row[0]) for row in db.execute(f"select n from {table} order by n")]
        rows = db.execute(
            f"select {_COLUMNS} from {table} where answers and session is not null and created_at is not null"
        )
        self.places = [LogPlace(*row) for row in rows]
        self.by_session = {place.session: place for place in self.places}
        self._forks: dict[str, list[LogPlace]] = {}
        for place in self.places:
            if place.cut and place.parent is not None:
                self._forks.setdefault(place.parent, []).append(place)

    def select(self, clauses: Iterable[Clause], event_clauses: Iterable[Clause] = ()) -> frozenset[int]:
        """Numbers of the sessions that pass the filters, less those without a document in the asked time."""
        tests = [test for clause in clauses for test in [_session_test(clause)]]
        tests += [_time_test(clause) for clause in event_clauses if isinstance(clause, Range) and clause.kind == "time"]
        return frozenset(place.number for place in self.places if all(test(place) for test in tests))

    def ranges(self, numbers: frozenset[int]) -> list[tuple[int, int]]:
        """The fewest inclusive rowid ranges that hold exactly the documents of these logs."""
        out: list[tuple[int, int]] = []
        before = -2
        for number in sorted(numbers):
            index = bisect_left(self.numbers, number)
            last = number << POSITION_BITS | POSITION_MASK
            if index == before + 1 and out:
                out[-1] = (out[-1][0], last)
            else:
                out.append((number << POSITION_BITS, last))
            before = index
        return out

    def inherited(self, among: frozenset[int] | None) -> list[tuple[int, int]]:
        """`(number, skip)`: the first `skip` events of that log are a copy that its parent's log also answers for.

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
                    out.append((place.number, place.cut))
        return out

    def carriers(self, session: str, seq: int) -> list[str]:
        """Ids of the sessions whose inherited prefix holds event `seq` of `session`, nearest first."""
        out: list[str] = []
        seen = {session}
        waiting: Sequence[str] = [session]
        while waiting:
            found = [place.session for parent in waiting for place in self._forks.get(parent, ()) if place.cut > seq]
            waiting = [child for child in dict.fromkeys(found) if child not in seen]
            seen.update(waiting)
            out += waiting
        return out


def _session_test(clause: Clause) -> Callable[[LogPlace], bool]:
    if isinstance(clause, Range):
        low, high = clause.low, clause.high
        return lambda place: (low is None or place.created_at >= low) and (high is None or place.created_at <= high)
    assert isinstance(clause, Values)
    values = frozenset(None if value is None else well_formed(value) for value in clause.values)
    if clause.kind == "id":
        return lambda place: place.session in values
    if clause.kind == "cwd":
        return lambda place: place.cwd in values
    if clause.kind == "parent":
        return lambda place: place.parent in values
    live, persisted = "live" in values, "persisted" in values
    return lambda place: (live and place.live) or (persisted and place.persisted)


def _time_test(clause: Range) -> Callable[[LogPlace], bool]:
    low, high = clause.low, clause.high

    def overlaps(place: LogPlace) -> bool:
        if place.first_time is None or place.last_time is None:
            return True  # not known: its documents are looked at
        return (low is None or place.last_time >= low) and (high is None or place.first_time <= high)

    return overlaps
