"""The lineage pane: the family of the open session as a tree to walk."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from palimpsest_core import printable_line
from palimpsest_tui.widgets.cells import clip, width_of
from palimpsest_tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from palimpsest_tui.widgets.lineage_rows import LineageRow


class LineageTree(LineList):
    """One line a node; enter goes there."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[LineageRow] = ()

    def show(self, rows: Sequence[LineageRow], *, keep: bool = True) -> None:
        """Show a family. The cursor stays on its node, or goes to the open session (always so unless `keep`)."""
        key = self.row_key(self.cursor) if self.row_count() and keep else None
        self._rows = rows
        known = key is not None and self.row_of(key) is not None
        self.rows_changed(keep=known)
        if not known:
            current = next((number for number, row in enumerate(rows) if row.current), 0)
            self.go(current, centre=True, tell=False)

    def row_at(self, row: int) -> LineageRow | None:
        """The node of a row."""
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def row_count(self) -> int:
        """Nodes."""
        return len(self._rows)

    def row_key(self, row: int) -> Hashable:
        """A session, or a place in it."""
        node = self._rows[row]
        return (node.session_id or node.label, node.seq)

    def row_of(self, key: Hashable) -> int | None:
        """Where that node is now."""
        return next((number for number in range(len(self._rows)) if self.row_key(number) == key), None)

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """Rail, sign, title, what kind of branch and where it left."""
        node = self._rows[row]
        rail = node.rail
        if width_of(rail) > width // 2:
            rail = "…" + rail[-(width // 2) :]
        note = node.note or node.reason
        note_text = f"  {printable_line(note)}" if note else ""
        room = width - width_of(rail) - 2
        label_room = max(8, room - width_of(note_text))
        label = clip(printable_line(node.label), label_room)
        style = self.partial("line--strong") if node.current else Style.null()
        if node.reason and node.session_id is None:
            style = self.partial("line--dim")
        return [
            [
                Segment(rail, self.partial("lineage--rail")),
                Segment(node.sign + " ", style),
                Segment(label, style),
                Segment(note_text, self.partial("badge--error" if node.reason else "lineage--note")),
            ]
        ]
