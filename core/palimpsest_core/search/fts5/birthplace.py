"""Where a hit in an inherited prefix is shown: at its birthplace, unless it does not pass the filters there.

A copy is the same event as the one it was made of, but for its surface: what a parent replaced since can be current in
a fork that left before. So a filter by surface has to be asked of both.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from palimpsest_core.query.filters import Clause, Values
from palimpsest_core.search.fts5.predicates import surface_condition


def surface_test(clauses: Iterable[Clause]) -> str:
    """What the surface filters of a request ask of a document row `d`, as SQL behind other conditions; "" for none."""
    return "".join(
        surface_condition(clause) for clause in clauses if isinstance(clause, Values) and clause.kind == "surface"
    )


def born_in(db: apsw.Connection, parent: int, skip: int, surfaces: str) -> frozenset[int]:
    """Which of the first `skip` events of a log pass `surfaces`; one walk, since documents have no index by event."""
    sql = (
        "select d.seq from main.extent e cross join main.doc d on d.id between e.first and e.last"
        f" where e.n = ? and d.seq < ?{surfaces}"
    )
    return frozenset([seq for (seq,) in db.execute(sql, (parent, skip))])


class Copies:
    """The inherited prefixes of a search under a filter by surface; birthplaces are looked at as they are asked for."""

    def __init__(self, db: apsw.Connection, inherited: Iterable[tuple[int, int, int]], surfaces: str) -> None:
        self._db = db
        self._surfaces = surfaces
        self._copied = {number: (skip, parent) for number, skip, parent in inherited}
        self._longest: dict[int, int] = {}
        for skip, parent in self._copied.values():
            self._longest[parent] = max(skip, self._longest.get(parent, 0))
        self._born: dict[int, frozenset[int]] = {}

    def hides(self, number: int, seq: int) -> bool:
        """Whether this event of a log is a copy of one that passes."""
        skip, parent = self._copied.get(number, (0, 0))
        if seq >= skip:
            return False
        born = self._born.get(parent)
        if born is None:
            born = self._born[parent] = born_in(self._db, parent, self._longest[parent], self._surfaces)
        return seq in born
