"""The window with the command that resumes a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from palimpsest_core import printable_line
from palimpsest_tui.reading.lines import FixedBlock, Piece, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.screens.window import Window
from palimpsest_tui.widgets.status_bar import Bar

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Line


class ResumeScreen(Window[tuple[str, str, str | None]]):
    """Shows the command; gives what to do with it: ("copy" or "run", command, directory)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "copy", "Copy the command"),
        ("enter", "copy", "Copy the command"),
        ("x", "run", "Run it now"),
    ]

    def __init__(self, command: str, cwd: str | None, title: str) -> None:
        super().__init__()
        self._command = command
        self._cwd = cwd
        self._title = title

    def compose(self) -> ComposeResult:
        """The command, where it runs, the keys."""
        lines: list[Line] = [[]]
        lines += wrap(plain("  " + printable_line(self._command), "text--strong"), 70, 4)
        where = printable_line(self._cwd) if self._cwd else "the present directory"
        lines += [[], *wrap(plain(f"  in {where}", "line--dim"), 70, 4)]
        lines += [*wrap(plain("  resume_command in the settings file changes it.", "line--dim"), 70, 4), []]
        with Vertical(id="window") as window:
            window.border_title = Content(f"Resume  {self._title}"[:60])
            yield Page([FixedBlock(lines)])
            bar = Bar()
            keys = (("y", "copy"), ("x", "run now"), ("esc", "close"))
            bar.set(
                [piece for key, what in keys for piece in (Piece(key, "bar--key"), Piece(f" {what}   ", "bar--dim"))]
            )
            yield bar

    def on_line_list_chosen(self) -> None:
        """Enter copies."""
        self.action_copy()

    def action_copy(self) -> None:
        """Copy the command."""
        self.dismiss(("copy", self._command, self._cwd))

    def action_run(self) -> None:
        """Run it in place of the app, which comes back afterwards."""
        self.dismiss(("run", self._command, self._cwd))
