"""The rescue window: what a copy of a log's readable rows would be, what it will not invent, then the copy itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input

from palimpsest_core import LogHealth, printable_line
from palimpsest_core.base.paths import typed_path
from palimpsest_core.model.health import CODE_WORDS
from palimpsest_tui.keys import Where, bindings
from palimpsest_tui.reading.lines import FixedBlock, Line, Piece, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.screens.window import Window
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.cells import clip
from palimpsest_tui.widgets.health_rows import name_of
from palimpsest_tui.widgets.status_bar import Bar

if TYPE_CHECKING:
    from palimpsest_core import Rescue
    from palimpsest_tui.flows.ailing import Ailing


class RescueScreen(Window[None]):
    """Enter asks what would be written to the root that is named; enter again writes it."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["window.tcss", "health.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.RESCUE)
    AUTO_FOCUS = "Input"

    def __init__(self, ailing: Ailing, health: LogHealth, root: Path) -> None:
        super().__init__()
        self._flow = ailing
        self._health = health
        self._root = root
        self._told: Rescue | None = None
        self._told_for = ""
        self._busy = False

    def compose(self) -> ComposeResult:
        """Where to, what that would be, the keys."""
        with Vertical(id="window") as window:
            window.border_title = Content(f"Rescue  {clip(name_of(self._health), 56)}")
            with Horizontal(id="rescue-target"):
                label = Bar(id="rescue-label")
                label.set([Piece("New root", "bar--dim")])
                yield label
                yield Input(str(self._root), compact=True, select_on_focus=False, id="rescue-root")
            yield Page([], id="rescue-page")
            yield Bar(id="rescue-keys")

    def on_mount(self) -> None:
        """Tell at once what a copy in the proposed place would be. Nothing is written yet."""
        self.query_one("#rescue-page", Page).can_focus = False
        self._ask(write=False)

    @property
    def _target(self) -> str:
        return self.query_one("#rescue-root", Input).value.strip()

    @property
    def ready(self) -> bool:
        """Whether the copy that is shown can be written now."""
        return self._told is not None and not self._told.written and self._told_for == self._target

    def _ask(self, *, write: bool) -> None:
        self._busy = True
        self._told_for = self._target
        self._say("Writing…" if write else "Reading…")
        self._flow.copy_log(self._health, typed_path(self._target), write, self)

    def on_input_changed(self) -> None:
        """Another root: what is shown no longer holds."""
        self._keys()

    def on_input_submitted(self) -> None:
        """Enter in the input."""
        self.action_go()

    def action_go(self) -> None:
        """Tell what would be written, or write what was told."""
        if self._busy or (self._told is not None and self._told.written):
            return
        self._ask(write=self.ready)

    # What the flow tells -----------------------------------------------------------------------------------------

    def show(self, told: Rescue) -> None:
        """Show what a copy would be, or is."""
        self._busy, self._told = False, told
        self._page(rescue_lines(told, self._width()))

    def show_problem(self, sentence: str) -> None:
        """It cannot be done."""
        self._busy, self._told = False, None
        self._page(wrap([Piece(sentence, "badge--error")], self._width(), 2))

    def _say(self, text: str) -> None:
        self._page([plain(text, "line--dim")])

    def _width(self) -> int:
        return max(20, self.query_one("#window").content_size.width - 2 or 70)

    def _page(self, lines: list[Line]) -> None:
        page = self.query_one("#rescue-page", Page)
        page.turn_to([FixedBlock(lines)])
        page.styles.height = max(1, min(len(lines), self.size.height - 7))
        self._keys()

    def _keys(self) -> None:
        written = self._told is not None and self._told.written
        if written:
            keys = [("esc", "close")]
        elif self.ready:
            keys = [("enter", "write the copy"), ("esc", "close, nothing is written")]
        else:
            keys = [("enter", "show what would be written"), ("esc", "close")]
        self.query_one("#rescue-keys", Bar).set(
            [piece for key, told in keys for piece in (Piece(key, "bar--key"), Piece(f" {told}   ", "bar--dim"))]
        )


def rescue_lines(told: Rescue, width: int) -> list[Line]:
    """What a copy holds, what is left out, what is not made up, and where it lies."""
    lines: list[Line] = []
    if told.written:
        lines.append(plain("Written. The log itself is as it was.", "text--strong"))
    else:
        lines.append(plain("This would be written. Nothing is written yet.", "text--strong"))
    lines += wrap(plain(printable_line(told.path), "line--dim"), width, 2)
    kept = f"{numbers.plural(told.events, 'event')} in {numbers.plural(told.rows, 'row')} kept, byte for byte"
    left = f"{numbers.plural(told.withheld, 'row')} left out" if told.withheld else "no other row can be read"
    total = numbers.plural(told.rows + told.withheld, "row")
    end = f", of {total} in the file." if told.withheld else "."
    sums: Line = [Piece(f"{kept}, "), Piece(left, "text--strong"), Piece(end)]
    lines += wrap(sums, width, 2)
    lines.append([])
    for finding in told.findings:
        lines += wrap(plain(CODE_WORDS[finding.code], "text--heading"), width)
        lines += [[Piece("  "), *line] for line in wrap(plain(printable_line(finding.message)), width - 2)]
    notes = told.notes or ["Nothing has to be left out or added."]
    lines += [[], plain("what is done about it, and what is not made up", "text--heading")]
    for note in notes:
        lines += [[Piece("  "), *line] for line in wrap(plain(printable_line(note)), width - 2)]
    if told.written:
        lines += [[], *wrap(plain("Start palimpsest on the new root to read the copy.", "line--dim"), width, 2)]
    return lines
