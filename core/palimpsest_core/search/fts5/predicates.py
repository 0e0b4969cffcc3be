"""Event filters as SQL over a document row `d` (engine contract, section 5, point 4). Values are always bound."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

from palimpsest_core.base.jstext import well_formed
from palimpsest_core.query.filters import Clause, Range, Values
from palimpsest_core.search.fts5.schema import SURFACE_CODES
from palimpsest_core.search.fts5.tables import sql_number


class Condition(NamedTuple):
    """A condition to put after `where ...` (it starts with " and ") and its bindings. `never`: nothing passes."""

    sql: str
    bindings: tuple[Any, ...]
    never: bool = False


ANY = Condition("", ())
"""The condition that everything passes."""


def event_condition(db: apsw.Connection, clauses: Iterable[Clause], kind_table: str) -> Condition:
    """The condition that all clauses hold for the document row `d`; event types are looked up in `kind_table`."""
    parts: list[str] = []
    bindings: list[Any] = []
    for clause in clauses:
        if isinstance(clause, Range):
            assert clause.kind in ("seq", "time")
            for bound, operator in ((clause.low, ">="), (clause.high, "<=")):
                if bound is not None:
                    parts.append(f" and d.{clause.kind} {operator} ?")
                    bindings.append(sql_number(bound))
            continue
        assert isinstance(clause, Values)
        if clause.kind == "surface":
            part = surface_condition(clause)
        else:
            codes = sorted(_kinds(db, clause, kind_table))
            part = f" and d.kind in ({','.join(map(str, codes))})" if codes else ""
        if not part:
            return Condition("", (), never=True)
        parts.append(part)
    return Condition("".join(parts), tuple(bindings))


def surface_condition(clause: Values) -> str:
    """The condition that the document row `d` is in one of these states; "" when there are none."""
    codes = sorted({SURFACE_CODES[value] for value in clause.values if value is not None})
    return f" and d.surface in ({','.join(map(str, codes))})" if codes else ""


def _kinds(db: apsw.Connection, clause: Values, kind_table: str) -> set[int]:
    found = set()
    for value in clause.values:
        row = db.execute(f"select id from {kind_table} where name=?", (well_formed(value or ""),)).fetchone()
        if row is not None:
            found.add(int(row[0]))
    return found
