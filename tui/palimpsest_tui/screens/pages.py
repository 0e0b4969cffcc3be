"""A page of fixed text in a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palimpsest_tui.reading.lines import Document
from palimpsest_tui.widgets.cells import Matcher
from palimpsest_tui.widgets.inspector import Inspector

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Block


class Page(Inspector):
    """Text that is there from the start, as tall as it is where there is room."""

    def __init__(self, blocks: Sequence[Block], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._page = Document(blocks)

    def on_mount(self) -> None:
        """Show the text."""
        self.turn(self._page)

    def turn_to(self, blocks: Sequence[Block]) -> None:
        """Show other text."""
        self.turn(Document(blocks))

    def turn(self, page: Document) -> None:
        """Show another text."""
        self._page = page
        self.show(page, Matcher(""), keep=False)
        self.styles.height = max(1, len(page))
