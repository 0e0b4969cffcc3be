"""The inspector: draws the lines of a document; whoever fills it makes the document elsewhere."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from palimpsest_tui.reading.lines import EMPTY, text_of
from palimpsest_tui.widgets.cells import Matcher
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.timeline import highlighted

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Document, Link

_SEARCH_LINES = 20_000


class Tab(StrEnum):
    """What the inspector shows of an event."""

    TEXT = "text"
    RAW = "raw"
    TRACE = "trace"


class Inspector(LineList):
    """A pager over a document. Text scrolls; where lines can be gone into (raw, trace) it has a cursor."""

    ALLOW_SELECT = True

    class LinkChosen(Message):
        """A person went along a link."""

        def __init__(self, inspector: Inspector, link: Link) -> None:
            super().__init__()
            self.inspector = inspector
            self.link = link

        @property
        def control(self) -> Inspector:
            """The inspector."""
            return self.inspector

    class Resized(Message):
        """The inspector has another width: its text has to be wrapped anew."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._told_width = 0
        self.document: Document = EMPTY
        self._matcher = Matcher("")
        self._wide = 0
        self._match_row = -1

    def show(self, document: Document, matcher: Matcher, *, keep: bool) -> None:
        """Show a document from its start, or from the first match; `keep` stays where the reader is."""
        at = round(self.scroll_y)
        cursor = self.cursor
        self.document = document
        self._matcher = matcher
        self._wide = 0
        self.rows_changed(keep=keep)
        if keep:
            self.go(cursor, tell=False)
            self._scroll_now(at)
            return
        match = self._first_match() if matcher else None
        self._match_row = -1 if match is None else match
        if match is not None:
            self.go(match, tell=False)
            self._scroll_now(match - 3)
        elif document.has_cursor:
            self.go(document.first_line, tell=False)

    def go_match(self, step: int) -> bool:
        """Go to the next (1) or previous (-1) line that matches. False when there is none."""
        here = self.cursor if self.document.has_cursor else self._match_row
        stop = min(len(self.document), _SEARCH_LINES) if step > 0 else -1
        for row in range(here + step, stop, step):
            if row >= 0 and self._matcher and self._matcher.spans(text_of(self.document.line(row))):
                self._match_row = row
                self.go(row, tell=False)
                self._scroll_now(row - 3)
                return True
        return False

    def _first_match(self) -> int | None:
        for number in range(min(len(self.document), _SEARCH_LINES)):
            if number >= self.document.first_line and self._matcher.spans(text_of(self.document.line(number))):
                return number
        return None

    def on_resize(self) -> None:
        """Tell of another width."""
        super().on_resize()
        self._tell_width()

    def on_show(self) -> None:
        """Tell of coming back, as wide as before perhaps: nothing was read while it could not be seen."""
        self._tell_width()

    def on_hide(self) -> None:
        """Forget what was told."""
        self._told_width = 0

    def _tell_width(self) -> None:
        width = self.scrollable_content_region.width
        if width != self._told_width:
            self._told_width = width
            self.post_message(self.Resized())

    # Rows --------------------------------------------------------------------------------------------------------

    def row_count(self) -> int:
        """Lines of the document."""
        return len(self.document)

    def rail_cell(self, row: int) -> Segment | None:
        """A cursor mark where lines can be gone into, a margin of one cell elsewhere."""
        return Segment(" ")

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """One line with its styles, matches marked."""
        segments: list[Segment] = []
        for text, name in self.document.line(row):
            style = self.partial(name) if name else Style.null()
            spans = self._matcher.spans(text) if self._matcher else []
            segments += highlighted(text, spans, style, self.partial("line--hit"))
        if self._wide:
            strip = Strip(segments)
            return [list(strip.crop(min(self._wide, strip.cell_length), None))]
        return [segments]

    def render_line(self, y: int) -> Strip:
        """A line of the document, what is selected with the mouse marked."""
        strip = super().render_line(y)
        number = y + round(self.scroll_y)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            start, end = span
            end = strip.cell_length if end == -1 else end
            chosen = Strip(list(strip.crop(start, end))).apply_style(Style(reverse=True))
            strip = Strip.join([strip.crop(0, start), chosen, strip.crop(end)])
        return strip.apply_offsets(0, number)

    def _draw(self, row: int, line: int, width: int, state: int) -> Strip:
        return super()._draw(row, line, width, state if self.document.has_cursor else 0)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the margin."""
        lines = "\n".join(" " + text_of(self.document.line(number)) for number in range(len(self.document)))
        return selection.extract(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.redraw()

    # Motion ------------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Move the cursor where there is one, else scroll."""
        if self.document.has_cursor:
            super().action_move(rows)
        else:
            self._scroll_now(round(self.scroll_y) + rows)

    def action_page(self, pages: float) -> None:
        """Move by a part of what is on the screen."""
        if self.document.has_cursor:
            super().action_page(pages)
        else:
            self._scroll_now(round(self.scroll_y) + round(self.scrollable_content_region.height * pages))

    def action_go_top(self) -> None:
        """Go to the first line."""
        super().action_go_top()
        self._scroll_now(0)

    def action_go_bottom(self) -> None:
        """Go to the last line."""
        super().action_go_bottom()
        self._scroll_now(self.virtual_size.height)

    def action_choose(self) -> None:
        """Go along the link of the line, or fold what starts on it."""
        if not self.document.has_cursor or not self.row_count():
            return
        link = self.document.links.get(self.cursor)
        if link is not None:
            self.post_message(self.LinkChosen(self, link))
        else:
            self.fold_line()

    def fold_line(self, *, opened: bool | None = None) -> bool:
        """Fold or unfold what starts on the line under the cursor; `opened` wants that state. True when it changed."""
        if not self.document.has_cursor or not self.row_count():
            return False
        state = self.document.fold(self.cursor)
        if state is None:
            return False
        if opened is not None and state is not opened:
            self.document.fold(self.cursor)
            return False
        at = round(self.scroll_y)
        cursor = self.cursor
        self._strips.clear()
        self.virtual_size = Size(self.size.width, max(1, self.row_count()))
        self.go(cursor, tell=False)
        self._scroll_now(at)
        self.refresh()
        return True

    def pan(self, cells: int) -> bool:
        """Move long lines sideways. False where there is nothing more on that side."""
        widest = max((len(text_of(self.document.line(row))) for row in self.visible_rows()), default=0)
        wanted = max(0, min(self._wide + cells, widest - self.size.width + 2))
        if wanted == self._wide:
            return False
        self._wide = wanted
        self.redraw()
        return True
