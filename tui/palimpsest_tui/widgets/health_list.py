"""The list of the health screen: one line for each file with something to say about it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment

from palimpsest_core import LogHealth, RowCounts
from palimpsest_core.model.health import Ailment
from palimpsest_tui.widgets.cells import clip, fit, fit_right
from palimpsest_tui.widgets.health_rows import HealthRow, chief, health_rows, name_of, place, rows_told, what
from palimpsest_tui.widgets.line_list import LineList

_STYLE = {Ailment.UNREADABLE: "badge--error", Ailment.DAMAGED: "badge--error"}
_ROWS_WIDTH = 13
_PLACE_WIDTH = 24


class HealthList(LineList):
    """Logs under headings; what does not fit is left out from the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"badge--error", "session--heading"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[HealthRow] = ()
        self._counts: Mapping[str, RowCounts] = {}

    def show(self, ailing: Sequence[LogHealth], counts: Mapping[str, RowCounts]) -> None:
        """Show logs. The cursor stays on its log, or goes to the first."""
        known = self.touched and self.row_count() > 0
        self._rows, self._counts = health_rows(ailing), counts
        self.rows_changed(keep=known)
        if not known and self.row_count() > 1:
            self.go(1)

    def show_counts(self, counts: Mapping[str, RowCounts]) -> None:
        """More rows were counted."""
        self._counts = counts
        self.redraw()

    def health_at(self, row: int) -> LogHealth | None:
        """The log of a row; None for a heading."""
        return self._rows[row].health if 0 <= row < len(self._rows) else None

    def go_path(self, path: str) -> bool:
        """Put the cursor on a file."""
        row = self.row_of(path)
        if row is not None:
            self.go(row, centre=True)
        return row is not None

    def row_count(self) -> int:
        """Logs and headings."""
        return len(self._rows)

    def row_key(self, row: int) -> Hashable:
        """A log by its path."""
        health = self._rows[row].health
        return health.path if health is not None else ("heading", self._rows[row].heading)

    def row_of(self, key: Hashable) -> int | None:
        """Where that log is now."""
        return next((row for row in range(len(self._rows)) if self.row_key(row) == key), None)

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """Name, generation, what is the matter, where, rows shown and withheld."""
        health, heading, logs = self._rows[row]
        dim = self.partial("line--dim")
        if health is None:
            counted = f"  {logs}"
            return [[
                Segment(clip(heading, width - len(counted)), self.partial("session--heading")),
                Segment(counted, dim),
            ]]  # fmt: skip
        with_place = width >= 84
        name_room = 20 if width < 84 else min(38, width // 3)
        generation = "" if health.generation is None or health.session_id is None else f"v{health.generation}"
        room = width - name_room - 6 - _ROWS_WIDTH - (_PLACE_WIDTH if with_place else 0)
        counted = rows_told(self._counts.get(health.path), short=True) if health.session_id is not None else ""
        segments = [
            Segment(" " + fit(name_of(health), name_room - 1)),
            Segment(" " + fit(generation, 4) + " ", dim),
            Segment(fit(what(health), room), self.partial(_STYLE.get(health.ailment, "line--strong"))),
        ]
        if with_place:
            segments.append(Segment(" " + fit(place(chief(health)), _PLACE_WIDTH - 1), dim))
        segments.append(Segment(fit_right(counted, _ROWS_WIDTH - 1), dim))
        return [segments]
