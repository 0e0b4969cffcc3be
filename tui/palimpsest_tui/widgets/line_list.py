"""The virtual list that every pane builds on: it draws only the lines on the screen, whatever the number of rows.

A row has no object. A subclass says how many rows there are, what each is called (its key) and how it is drawn; the
list keeps the cursor on the same key when rows come, go or change their order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from palimpsest_tui.key_order import MovesCursor
from palimpsest_tui.keys import Where, bindings
from palimpsest_tui.widgets.cells import clip
from palimpsest_tui.widgets.inks import Inked

NO_STYLE = Style.null()


class LineList(ScrollView, Inked, MovesCursor, can_focus=True):
    """A list of rows of equal height, one row under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.LIST)
    DEFAULT_CSS = """
    LineList {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        & > .line--cursor { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
        & > .line--cursor-blurred { background: $block-cursor-blurred-background; }
        & > .line--dim { color: $dim; }
        & > .line--hit { background: $warning 40%; color: $text; text-style: bold underline; }
        & > .line--strong { text-style: bold; }
    }
    """
    CURSOR_MARK = ">"
    MOTIONS = ("move(", "page(", "go_top", "go_bottom")

    class Moved(Message):
        """The cursor came to another row (or to another thing in the same row); `by_hand` when a person moved it."""

        def __init__(self, line_list: LineList, row: int, *, by_hand: bool = False) -> None:
            super().__init__()
            self.line_list = line_list
            self.row = row
            self.by_hand = by_hand

        @property
        def control(self) -> LineList:
            """The list."""
            return self.line_list

        def can_replace(self, message: Message) -> bool:
            """Of several moves that wait, only where the last one led is of interest."""
            return (
                isinstance(message, LineList.Moved)
                and message.line_list is self.line_list
                and message.by_hand is self.by_hand
            )

    class Chosen(Message):
        """A person went into a row: enter, or a click on the row under the cursor."""

        def __init__(self, line_list: LineList, row: int) -> None:
            super().__init__()
            self.line_list = line_list
            self.row = row

        @property
        def control(self) -> LineList:
            """The list."""
            return self.line_list

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._cursor = 0
        self._cursor_key: Hashable = None
        self._strips: LRUCache[tuple[int, int, int, int], Strip] = LRUCache(2048)
        self._empty: list[str] = []
        self.touched = False
        """Whether a person moved the cursor themselves."""

    # What a subclass provides ------------------------------------------------------------------------------------

    @property
    def row_lines(self) -> int:
        """Lines of the screen that one row takes; the same for all rows."""
        return 1

    def row_count(self) -> int:
        """How many rows there are now."""
        raise NotImplementedError

    def row_key(self, row: int) -> Hashable:
        """What stays the same about a row when its number changes."""
        return row

    def row_of(self, key: Hashable) -> int | None:
        """The row that has `key` now."""
        return key if isinstance(key, int) and key < self.row_count() else None

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """The segments of each line of a row, `width` cells for use; what is longer is cut."""
        raise NotImplementedError

    def rail_cell(self, row: int) -> Segment | None:
        """The first cell of a row when the cursor is elsewhere; None when the rows have no gutter."""
        return Segment(" ")

    # The cursor --------------------------------------------------------------------------------------------------

    @property
    def cursor(self) -> int:
        """The row under the cursor; 0 when there is none."""
        return self._cursor

    def go(self, row: int, *, centre: bool = False, tell: bool = True, by_hand: bool = False) -> None:
        """Put the cursor on a row (the nearest there is) and show it; `tell` posts `Moved`."""
        count = self.row_count()
        row = max(0, min(row, count - 1))
        moved = row != self._cursor or self._cursor_key is None
        old, self._cursor = self._cursor, row
        self._cursor_key = self.row_key(row) if count else None
        self._refresh_row(old)
        self._refresh_row(row)
        self.show_cursor(centre=centre)
        if tell and moved and count:
            self._tell_move(row, by_hand=by_hand)

    def _tell_move(self, row: int, *, by_hand: bool = False) -> None:
        """Tell the screen itself: nobody between it and the list wants to know."""
        (self.screen if self.is_attached else self).post_message(self.Moved(self, row, by_hand=by_hand))

    def show_cursor(self, *, centre: bool = False) -> None:
        """Scroll so that the row under the cursor is on the screen."""
        height = self.scrollable_content_region.height
        if height <= 0:
            return
        lines = self.row_lines
        top, bottom = self._cursor * lines, (self._cursor + 1) * lines
        offset = round(self.scroll_y)
        if centre and not (offset <= top and bottom <= offset + height):
            offset = top - height // 3
        elif top < offset:
            offset = top
        elif bottom > offset + height:
            offset = bottom - height
        self._scroll_now(offset)

    def _scroll_now(self, offset: int) -> None:
        """Scroll to a line at once; the bound is ours because the virtual size may be set in this very turn."""
        limit = max(0, self.virtual_size.height - self.scrollable_content_region.height)
        self.scroll_to(y=max(0, min(offset, limit)), animate=False, immediate=True, force=True)

    # Changes of the rows -----------------------------------------------------------------------------------------

    def rows_changed(self, *, keep: bool = True, tell: bool = False) -> None:
        """Call after the rows changed. Unless `keep` is off, the cursor stays on its row and that at its place."""
        self._strips.clear()
        count = self.row_count()
        seen_at = self._cursor * self.row_lines - round(self.scroll_y)
        self.virtual_size = Size(self.size.width, max(1, count) * self.row_lines)
        found = self.row_of(self._cursor_key) if keep and self._cursor_key is not None else None
        if found is None:
            found = self._cursor if keep else 0
            self._cursor_key = None
        self._cursor = max(0, min(found, count - 1))
        if count:
            self._cursor_key = self.row_key(self._cursor)
            self._scroll_now(self._cursor * self.row_lines - seen_at if keep else 0)
            self.show_cursor()
        else:
            self._cursor_key = None
            self._scroll_now(0)
        self.refresh()
        if tell and count:
            self._tell_move(self._cursor)

    def rows_appended(self) -> None:
        """Call after rows were added at the end: nothing that is drawn changes."""
        self.virtual_size = Size(self.size.width, max(1, self.row_count()) * self.row_lines)
        if self._cursor_key is None and self.row_count():
            self._cursor_key = self.row_key(self._cursor)
        self.refresh()

    def redraw(self) -> None:
        """Draw every row anew, such as after another theme or another matched phrase."""
        self._strips.clear()
        self.refresh()

    def redraw_rows(self, rows: Iterable[int]) -> None:
        """Draw some rows anew."""
        wanted = set(rows)
        for key in [key for key in self._strips.keys() if key[0] in wanted]:  # noqa: SIM118 - LRUCache is no dict
            self._strips.discard(key)
        self.refresh()

    def set_empty(self, *lines: str) -> None:
        """What to say while there are no rows: what is the matter, and what to do next."""
        if list(lines) != self._empty:
            self._empty = list(lines)
            if not self.row_count():
                self.refresh()

    def visible_rows(self) -> range:
        """The rows on the screen."""
        lines = self.row_lines
        top = round(self.scroll_y)
        return range(top // lines, min(self.row_count(), (top + self.size.height - 1) // lines + 1))

    # Drawing -----------------------------------------------------------------------------------------------------

    def _refresh_row(self, row: int) -> None:
        self.refresh_lines(row * self.row_lines, self.row_lines)

    def partial(self, name: str) -> Style:
        """The style of a component class without the background it inherits."""
        return self.get_component_rich_style(name, partial=True)

    def render_line(self, y: int) -> Strip:
        """One line of the screen; rows come from the cache when nothing about them changed."""
        width = self.scrollable_content_region.width
        row, line = divmod(y + round(self.scroll_y), self.row_lines)
        if row >= self.row_count():
            return self._blank_line(y, width)
        on_cursor = row == self._cursor
        state = 0 if not on_cursor else 2 if self.has_focus else 1
        key = (row, line, width, state)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._draw(row, line, width, state)
            if self.may_cache(row):
                self._strips[key] = strip
        return strip

    def may_cache(self, row: int) -> bool:
        """Whether a drawn row may be kept; a row still waiting for its text may not."""
        return True

    def _draw(self, row: int, line: int, width: int, state: int) -> Strip:
        base = self.rich_style
        gutter = self.rail_cell(row)
        room = width if gutter is None else width - 1
        lines = self.draw_row(row, room)
        segments = lines[line] if line < len(lines) else []
        if gutter is not None:
            mark = Segment(self.CURSOR_MARK, self.partial("line--strong")) if state else gutter
            segments = [mark if line == 0 else Segment(" "), *segments]
        if state == 2:
            cursor = self.get_component_rich_style("line--cursor")
            segments = [Segment(text, _weight(style) + cursor) for text, style, _ in segments]
            return Strip(segments).adjust_cell_length(width, cursor)
        if state == 1:
            base = base + self.partial("line--cursor-blurred")
        return Strip(segments).adjust_cell_length(width, base).apply_style(base)

    def _blank_line(self, y: int, width: int) -> Strip:
        base = self.rich_style
        if self.row_count() or not self._empty:
            return Strip.blank(width, base)
        lines = self._empty_lines(max(1, width - 2))
        top = max(0, min(2, (self.size.height - len(lines)) // 2))
        if not top <= y < top + len(lines):
            return Strip.blank(width, base)
        text, strong = lines[y - top]
        style = base + self.partial("line--strong" if strong else "line--dim")
        return Strip([Segment(" ", base), Segment(text, style)]).adjust_cell_length(width, base)

    def _empty_lines(self, width: int) -> list[tuple[str, bool]]:
        lines: list[tuple[str, bool]] = []
        for number, paragraph in enumerate(self._empty):
            current = ""
            for word in paragraph.split():
                if current and len(current) + 1 + len(word) > width:
                    lines.append((current, number == 0))
                    current = ""
                while len(word) > width:
                    lines.append((word[:width], number == 0))
                    word = word[width:]
                current = f"{current} {word}" if current else word
            lines.append((clip(current, width), number == 0))
        return lines

    # What comes from Textual -------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Take the size of the rows there are already."""
        self.rows_changed()

    def on_resize(self) -> None:
        """Keep the cursor on the screen in another size."""
        self.virtual_size = Size(self.size.width, max(1, self.row_count()) * self.row_lines)
        self._strips.clear()
        self.show_cursor()

    def notify_style_update(self) -> None:
        """Another theme or another class: the cached lines have the old colours."""
        super().notify_style_update()
        self._strips.clear()

    def on_focus(self) -> None:
        """The cursor is drawn stronger with the focus."""
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        """The cursor is drawn weaker without the focus."""
        self._refresh_row(self._cursor)

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on the row; a click on the row under the cursor goes in."""
        if not self.row_count():
            return
        row = (event.get_content_offset_capture(self).y + round(self.scroll_y)) // self.row_lines
        if row >= self.row_count():
            return
        if row == self._cursor and event.chain >= 2:
            self.post_message(self.Chosen(self, row))
        else:
            self._move_to(row)

    def _move_to(self, row: int) -> None:
        """A person moves the cursor."""
        self.touched = True
        self.go(row, by_hand=True)

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows."""
        self._move_to(self._cursor + rows)

    def action_page(self, pages: float) -> None:
        """Move the cursor by a part of what is on the screen, which moves along."""
        height = max(1, self.scrollable_content_region.height)
        step = max(1, int(height * abs(pages)) // self.row_lines)
        sign = 1 if pages > 0 else -1
        self._scroll_now(round(self.scroll_y) + sign * step * self.row_lines)
        self._move_to(self._cursor + sign * step)

    def action_go_top(self) -> None:
        """Go to the first row."""
        self._move_to(0)

    def action_go_bottom(self) -> None:
        """Go to the last row."""
        self._move_to(self.row_count() - 1)

    def action_choose(self) -> None:
        """Go into the row under the cursor."""
        self.touched = True
        if self.row_count():
            self.post_message(self.Chosen(self, self._cursor))


def _weight(style: Style | None) -> Style:
    """Only the weight of a style: what is left of it under the cursor, where one colour must stay readable."""
    if style is None:
        return NO_STYLE
    return Style(bold=style.bold or None, underline=style.underline or None, strike=style.strike or None)
