"""A window with a list to choose from: marks, filters, values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from palimpsest_tui.reading.lines import Piece
from palimpsest_tui.screens.window import Window
from palimpsest_tui.widgets.cells import clip, fit, width_of
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.status_bar import Bar


class Choice(NamedTuple):
    """One line to choose: what it says (printable), a note, and what choosing it gives."""

    text: str
    note: str
    value: str


_TEXT_LEAST = 14
_LEAST = 78
_AROUND = 6
"""The frame, its padding, the mark of the cursor and the scroll bar."""


class ChoiceList(LineList):
    """The lines."""

    @property
    def wanted_width(self) -> int:
        """The cells that show every line whole."""
        return self._texts + max((width_of(choice.note) + 2 for choice in self._all), default=0)

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._all = choices
        self._choices = list(choices)
        self._texts = max((width_of(choice.text) for choice in choices), default=0)
        self.set_empty("Nothing matches.", "esc closes this window.")

    def narrow_to(self, text: str) -> None:
        """Show only lines that hold a text."""
        wanted = text.casefold()
        self._choices = [choice for choice in self._all if wanted in choice.text.casefold()]
        self.rows_changed(keep=False)

    def choice_at(self, row: int) -> Choice | None:
        """The choice of a row."""
        return self._choices[row] if 0 <= row < len(self._choices) else None

    def row_count(self) -> int:
        """Choices that match."""
        return len(self._choices)

    def row_key(self, row: int) -> Hashable:
        """What choosing it gives."""
        return self._choices[row].value

    def row_of(self, key: Hashable) -> int | None:
        """Where that choice is."""
        return next((row for row, choice in enumerate(self._choices) if choice.value == key), None)

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """The text, the note beside it."""
        text, note, _ = self._choices[row]
        room = width if not note else min(self._texts, max(_TEXT_LEAST, width - width_of(note) - 2))
        return [[Segment(fit(text, room)), Segment("  " + clip(note, width - room - 2), self.partial("line--dim"))]]


class ChooseScreen(Window[str]):
    """Choose one line; `/` narrows the list. Gives the value, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [("slash", "narrow", "Narrow the list")]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        """A list, an input that shows up with `/`, the keys."""
        with Vertical(id="window") as window:
            window.border_title = Content(self._title)
            yield Input(placeholder="narrow the list", compact=True)
            yield ChoiceList(self._choices)
            bar = Bar()
            keys = (("enter", "choose"), ("/", "narrow"), ("esc", "close"))
            bar.set(
                [piece for key, what in keys for piece in (Piece(key, "bar--key"), Piece(f" {what}   ", "bar--dim"))]
            )
            yield bar

    def on_mount(self) -> None:
        """Start in the list, as tall as it needs to be."""
        self.query_one(Input).display = False
        self._fit()
        self.query_one(ChoiceList).focus()

    def on_resize(self) -> None:
        """Keep the list inside the screen."""
        self._fit()

    def _fit(self) -> None:
        room = max(3, self.size.height - 6)
        choices = self.query_one(ChoiceList)
        choices.styles.height = min(len(self._choices), room)
        if not self.screen.has_class("-narrow"):
            self.query_one("#window").styles.width = max(_LEAST, min(choices.wanted_width + _AROUND, self.size.width))

    def action_narrow(self) -> None:
        """Type what to narrow the list by."""
        self.query_one(Input).display = True
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow with every letter."""
        self.query_one(ChoiceList).narrow_to(event.value)

    def on_input_submitted(self) -> None:
        """Enter in the input chooses the first line."""
        choices = self.query_one(ChoiceList)
        choice = choices.choice_at(choices.cursor)
        if choice is not None:
            self.dismiss(choice.value)

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Give the value of the line."""
        choice = self.query_one(ChoiceList).choice_at(event.row)
        if choice is not None:
            self.dismiss(choice.value)
