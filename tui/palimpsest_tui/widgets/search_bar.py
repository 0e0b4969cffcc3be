"""The search bar: the input, the scope and the count beside it, the filter chips below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from palimpsest_core import printable_line
from palimpsest_tui.keys import Where, bindings
from palimpsest_tui.reading.lines import Piece
from palimpsest_tui.searching.words import complete
from palimpsest_tui.widgets.cells import clip
from palimpsest_tui.widgets.status_bar import Bar

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Line
    from palimpsest_tui.searching.words import Chip, SearchText

_PLACEHOLDER = "search words · project: since: type: is: …"
_CANDIDATES_SHOWN = 12


class SearchInput(Input):
    """The line a person types in. Its own keys come from the key table."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.SEARCH)

    class Asked(Message):
        """A key of the search bar was pressed: leave, open, older, newer, widen, clear."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self) -> None:
        super().__init__(placeholder=_PLACEHOLDER, select_on_focus=False, compact=True, id="search-input")
        self.values: Callable[[], dict[str, list[str]]] = dict
        """The known values of each kind; counted when a word is to be completed, not before."""
        self._cycle: list[str] = []
        self._cycle_at = (0, 0)
        self._cycle_next = 0
        self._from_cycle = ""

    def _ask(self, what: str) -> None:
        """Tell the screen itself: the key behind this one waits for what the screen does about it."""
        self.screen.post_message(self.Asked(what))

    def action_leave(self) -> None:
        """Back to the rows."""
        self._ask("leave")

    def action_open(self) -> None:
        """Open the first hit."""
        self._ask("open")

    def action_older(self) -> None:
        """An older search."""
        self._ask("older")

    def action_newer(self) -> None:
        """To the hits, or a newer search."""
        self._ask("newer")

    def action_widen(self) -> None:
        """The next wider scope."""
        self._ask("widen")

    def action_clear(self) -> None:
        """Clear everything."""
        self.value = ""

    def action_complete(self) -> None:
        """Complete the filter word at the cursor; again takes the next candidate. Without one, leave the bar."""
        if len(self._cycle) > 1 and self.value == self._from_cycle:
            self._cycle_next = (self._cycle_next + 1) % len(self._cycle)
        else:
            found = complete(self.value, self.cursor_position, self.values())
            if found is None:
                self._cycle = []
                self._ask("leave")
                return
            self._cycle, self._cycle_at, self._cycle_next = found.candidates, (found.start, found.end), 0
        start, end = self._cycle_at
        word = self._cycle[self._cycle_next]
        self.value = self.value[:start] + word + self.value[end:]
        self.cursor_position = start + len(word)
        self._cycle_at = (start, start + len(word))
        self._from_cycle = self.value

    def candidates(self) -> list[str]:
        """What the word at the cursor can become, for the line below."""
        found = complete(self.value, self.cursor_position, self.values())
        return found.candidates if found is not None else []


class SearchBar(Vertical):
    """Always there. Posts `Changed` for every change of the text."""

    class Changed(Message):
        """The text of the search changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def compose(self) -> ComposeResult:
        """The line and the chips."""
        with Horizontal(id="search-line"):
            yield Bar(id="search-mark")
            yield SearchInput()
            yield Bar(id="search-facts")
        yield Bar(id="search-chips")

    def on_mount(self) -> None:
        """Draw the slash; the chips show up with the first one."""
        self.query_one("#search-mark", Bar).set([Piece("/", "bar--key")])
        self.query_one("#search-chips").display = False

    @property
    def input(self) -> SearchInput:
        """The input."""
        return self.query_one(SearchInput)

    @property
    def text(self) -> str:
        """What is typed."""
        return self.input.value

    def set_text(self, text: str) -> None:
        """Put a text in, the cursor behind it."""
        self.input.value = text
        self.input.cursor_position = len(text)

    def type_anew(self) -> None:
        """Give the input the focus with its old text selected: typing replaces it, a cursor key keeps it."""
        self.input.focus()
        self.input.select_all()

    def show_facts(self, pieces: Sequence[Piece]) -> None:
        """Scope, engine and count at the right of the input."""
        bar = self.query_one("#search-facts", Bar)
        bar.set([], pieces)
        bar.styles.width = min(sum(cell_len(piece.text) for piece in pieces) + 2, max(14, self.size.width * 2 // 3))

    def show_chips(self, search: SearchText, problems: dict[int, str]) -> None:
        """The filter words as chips, invalid ones struck through with the reason; else the candidates of the word."""
        pieces: Line = []
        for place, chip in enumerate(search.chips):
            pieces += _chip_pieces(chip, problems.get(place))
        candidates = self.input.candidates() if self.input.has_focus else []
        if candidates and not (len(candidates) == 1 and candidates[0].strip() in self.text.split()):
            pieces.append(Piece("tab: ", "bar--dim"))
            names = [printable_line(word.strip()) for word in candidates[:_CANDIDATES_SHOWN]]
            pieces.append(Piece("  ".join(clip(name, 40) for name in names), "bar--strong"))
            if len(candidates) > _CANDIDATES_SHOWN:
                pieces.append(Piece(f"  +{len(candidates) - _CANDIDATES_SHOWN}", "bar--dim"))
        chips = self.query_one("#search-chips", Bar)
        chips.set(pieces, [])
        chips.display = bool(pieces)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass every change on."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_click(self, event: events.Click) -> None:
        """A click anywhere on the bar starts typing."""
        self.input.focus()


def _chip_pieces(chip: Chip, problem: str | None) -> Line:
    word = printable_line(chip.word)
    if problem is None:
        return [Piece(f"[{word}]", "bar--chip"), Piece(" ")]
    return [Piece(f"[{word}]", "bar--struck"), Piece(f" {printable_line(problem)}  ", "bar--bad")]
