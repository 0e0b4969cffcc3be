"""Many integers as one parameter of a statement."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import apsw

from palimpsest_core.search.fts5.schema import has_carray


class Numbers:
    """Binds integers as a table with the column `value`: an array where SQLite takes one (twice as fast), else JSON."""

    def __init__(self, db: apsw.Connection) -> None:
        self._carray = has_carray(db)

    def bound(self, numbers: Iterable[int]) -> tuple[str, Any]:
        """What to put into `from`, and its binding. There must be at least one number."""
        if self._carray:
            return "carray(?)", apsw.carray(numbers if isinstance(numbers, array) else array("q", numbers))
        return "json_each(?)", f"[{','.join(map(str, numbers))}]"
