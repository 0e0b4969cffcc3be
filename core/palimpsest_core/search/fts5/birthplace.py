"""Where a hit in an inherited prefix is shown: at its birthplace, unless it does not pass the filters there.

A copy is the same event as the one it was made of, but for its surface: what a parent replaced since can be current in
a fork that left before. So a filter by surface has to be asked of both.
"""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest_core.query.filters import Clause, Values
from palimpsest_core.search.fts5.predicates import surface_condition

_KEPT_SKIPS = "(select f.skip from temp.folded f where f.n = d.n)"
_KEPT_PARENTS = "(select f.parent from temp.folded f where f.n = d.n)"


def surface_test(clauses: Iterable[Clause]) -> str:
    """What the surface filters of a request ask of a document row `p`, as SQL behind other conditions; "" for none."""
    return "".join(
        surface_condition(clause, "p") for clause in clauses if isinstance(clause, Values) and clause.kind == "surface"
    )


def not_folded(surfaces: str, skip: str = _KEPT_SKIPS, parent: str = _KEPT_PARENTS) -> str:
    """The condition that the document `d` is shown in its own log: it is no copy of one that passes `surfaces`.

    `skip` tells how many events of its log are copies and `parent` of which log, as SQL.
    """
    own = f"d.seq >= coalesce({skip}, 0)"
    if not surfaces:
        return f" and {own}"
    # Documents of a run ascend by seq, one for an event at most: none lies further from its begin than its seq tells.
    born = (
        "select 1 from main.extent e cross join main.doc p on p.id between e.first and min(e.last, e.first + d.seq)"
        f" where e.n = {parent} and p.seq = d.seq{surfaces}"
    )
    return f" and ({own} or not exists ({born}))"
