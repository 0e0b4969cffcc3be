"""The one-line bars: where you are, the status line, the key line, the filter chips."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from palimpsest_tui.keys import BY_ID, HINTS, first_shown, hint_keys
from palimpsest_tui.reading.lines import Piece
from palimpsest_tui.widgets.cells import clip, width_of
from palimpsest_tui.widgets.inks import Inked

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Line


class Bar(Inked):
    """One line: pieces from the left, pieces at the right end. The left gives way when both do not fit."""

    DEFAULT_CSS = "Bar { height: 1; }"

    class Pressed(Message):
        """A person clicked a piece that stands for a command."""

        def __init__(self, bar: Bar, command: str) -> None:
            super().__init__()
            self.bar = bar
            self.command = command

        @property
        def control(self) -> Bar:
            """The bar."""
            return self.bar

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._left: Line = []
        self._right: Line = []
        self._commands: list[tuple[int, int, str]] = []

    def set(self, left: Sequence[Piece] | None = None, right: Sequence[Piece] | None = None) -> None:
        """Show other pieces; None leaves a side as it is. All text must be printable."""
        new_left = self._left if left is None else list(left)
        new_right = self._right if right is None else list(right)
        if new_left != self._left or new_right != self._right:
            self._left, self._right = new_left, new_right
            self.refresh()

    @property
    def text(self) -> str:
        """Both sides as plain text, for tests and for reading aloud."""
        return "".join(piece.text for piece in [*self._left, Piece(" "), *self._right])

    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.size.width
        base = self.rich_style
        if y:
            return Strip.blank(width, base)
        right = self._segments(self._right, max(0, width - 2))
        used = sum(width_of(segment.text) for segment in right)
        left = self._segments(self._left, max(0, width - used - (4 if used else 1)))
        gap = width - used - sum(width_of(segment.text) for segment in left) - 1 - (1 if used else 0)
        segments = [Segment(" "), *left, Segment(" " * max(0, gap)), *right]
        return Strip(segments).adjust_cell_length(width, base).apply_style(base)

    def _segments(self, pieces: Sequence[Piece], room: int) -> list[Segment]:
        segments: list[Segment] = []
        for text, name in pieces:
            if room <= 0:
                break
            shown = clip(text, room)
            room -= width_of(shown)
            style = self.get_component_rich_style(name, partial=True) if name else Style.null()
            segments.append(Segment(shown, style))
        return segments

    def on_click(self, event: events.Click) -> None:
        """A click on a piece that stands for a command."""
        for start, end, command in self._commands:
            if start <= event.x < end:
                self.post_message(self.Pressed(self, command))


class KeyLine(Bar):
    """The most useful keys where the focus is, as long as there is room; every one can be clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keymap: dict[str, str] = {}
        self._place = "sessions"
        self._without: Collection[str] = ()

    def show_keys(self, keymap: dict[str, str], place: str, *, without: Collection[str] = ()) -> None:
        """Show the keys that work in a place (a name of `HINTS`), with the person's own mapping; `without` lead nowhere
        now."""
        if (keymap, place, without) == (self._keymap, self._place, self._without):
            return
        self._keymap, self._place, self._without = keymap, place, without
        self._fill()

    def _fill(self) -> None:
        pieces: Line = []
        self._commands = []
        at = 1
        offers_help = self._place != "search"
        help_key = first_shown(BY_ID["help"], self._keymap)
        room = self.size.width - (width_of(help_key) + 9 if offers_help else 1)
        for key_id, word in HINTS[self._place]:
            if key_id in self._without:
                continue
            name = hint_keys(key_id, self._keymap)
            end = at + width_of(name) + width_of(word) + 3
            if self.size.width and end - 2 > room:
                break
            pieces += [Piece(name, "bar--key"), Piece(f" {word}  ", "bar--dim")]
            self._commands.append((at, end, key_id))
            at = end
        self.set(pieces, [Piece(help_key, "bar--key"), Piece(" Keys", "bar--dim")] if offers_help else [])

    def on_resize(self) -> None:
        """Another width: more or fewer of them fit."""
        self._fill()

    def on_click(self, event: events.Click) -> None:
        """The right end is the help, the rest goes by place."""
        if event.x >= self.size.width - 8:
            self.post_message(self.Pressed(self, "help"))
        else:
            super().on_click(event)
