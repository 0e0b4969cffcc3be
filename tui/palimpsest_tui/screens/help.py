"""The help: the keys that are valid here, the words of the search bar, the letters and marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from palimpsest_tui.keys import KEYS, Where, shown
from palimpsest_tui.reading.lines import FixedBlock, Piece, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.screens.window import Window
from palimpsest_tui.searching.words import KINDS
from palimpsest_tui.settings import settings_path
from palimpsest_tui.widgets.badges import LEGEND
from palimpsest_tui.widgets.cells import fit, width_of
from palimpsest_tui.widgets.status_bar import Bar

if TYPE_CHECKING:
    from palimpsest_tui.keys import Key
    from palimpsest_tui.reading.lines import Line

_KEYS_WIDTH = 14
_WIDTH = 72
_IDS_FROM = 60
"""From this width on the ids of the keys stand at the right: they are for the settings file."""
_OTHERS = (Where.SEARCH, Where.HEALTH, Where.RESCUE)
_FIRST = {
    "sessions": ("list.choose", "search.focus", "filter.menu", "sessions.sort", "view.next", "export.", "resume.show",
                 "copy.", "generation.next", "health.show", "rescan"),
    "timeline": ("list.choose", "nav.", "turn.", "prompt.", "boundary.", "replacement.go", "error.next", "hit.",
                 "view.next", "mark.", "follow.toggle", "copy.", "open.pager", "history."),
    "inspector": ("inspector.", "nav.", "list.choose", "view.next", "hit.", "copy.", "open.pager", "history."),
    "lineage": ("list.choose", "history.", "nav.", "export.", "copy."),
}  # fmt: skip
"""What is most to the point in a pane: ids of keys, or how they begin, in this order."""


class HelpScreen(Window[None]):
    """A page to scroll. The keys of the pane with the focus come first."""

    def __init__(self, pane: str, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._pane = pane
        self._keymap = keymap
        self._width = _WIDTH

    def compose(self) -> ComposeResult:
        """The page and how to leave it."""
        with Vertical(id="window") as window:
            window.border_title = Content(f"Keys  in {self._where()}")
            yield Page([])
            bar = Bar()
            bar.set(
                [
                    Piece("j k ", "bar--key"),
                    Piece("scroll   ", "bar--dim"),
                    Piece("esc ", "bar--key"),
                    Piece("close", "bar--dim"),
                ]
            )
            yield bar

    def on_mount(self) -> None:
        """Keep the page inside the screen."""
        self.on_resize()

    def on_resize(self) -> None:
        """Keep the page inside the screen."""
        page = self.query_one(Page)
        self._width = min(_WIDTH, max(20, self.size.width - 6))
        page.turn_to([FixedBlock(self._lines())])
        page.styles.height = max(3, min(page.row_count(), self.size.height - 4))

    def _where(self) -> str:
        return "the search bar" if self._pane == "search" else f"the pane {self._pane}"

    def _lines(self) -> list[Line]:
        lines: list[Line] = []
        for heading, keys in self._groups():
            lines += [[], plain(heading, "text--heading")]
            lines += [line for key in keys for line in self._key(key)]
        lines += [[], plain("words of the search bar", "text--heading")]
        lines += self._pairs([(f"{kind}:", what) for kind, what in KINDS.items()])
        lines += self._pairs(
            [
                ("-kind:value", "excludes; a value with spaces stands in double quotes"),
                ("=text", "looks for these very characters in the logs themselves"),
                ("\\type:", "looks for the word type: and takes its meaning away"),
                ("/export", "exports the session; a path after it says where to"),
            ]
        )
        lines += [[], plain("letters and marks", "text--heading"), *self._pairs(list(LEGEND))]
        lines += [[], plain("mouse", "text--heading")]
        lines += self._wrapped(
            "A click moves the cursor, a double click goes in, the wheel scrolls. The inspector lets text be selected "
            "by dragging (ctrl+c copies it); with shift held (option on a Mac) the terminal itself selects."
        )
        lines += [[], plain("settings", "text--heading"), *self._wrapped(f"{settings_path()}")]
        lines += self._wrapped(
            'Any key can be moved: [keys] and a line like "turn.next" = "t"; the ids stand at the right.'
        )
        return lines

    def _groups(self) -> list[tuple[str, list[Key]]]:
        """The keys under their headings: what is most to the point here first, each key once."""
        here = [key for key in KEYS if key.where in (Where.LIST, Where.MAIN)]
        if self._pane == "search":
            rest = [("the search bar", [key for key in KEYS if key.where is Where.SEARCH]), ("outside of it", here)]
        else:
            wanted = _FIRST.get(self._pane, ())
            first = [key for start in wanted for key in here if key.id.startswith(start)]
            first = list(dict.fromkeys(first))
            rest = [(f"the pane {self._pane}", first)] if first else []
            for where in (Where.LIST, Where.MAIN):
                left = [key for key in KEYS if key.where is where and key not in first]
                rest.append(("moving in every list" if where is Where.LIST else "everywhere on the main screen", left))
        others = [where for where in _OTHERS if (where.value, self._pane) != ("the search bar", "search")]
        return rest + [(where.value, [key for key in KEYS if key.where is where]) for where in others]

    def _key(self, key: Key) -> list[Line]:
        keys = shown(key, self._keymap)
        told = key.id if self._width >= _IDS_FROM else ""
        room = self._width - _KEYS_WIDTH - (width_of(told) + 1 if told else 0)
        first, *others = wrap(plain(key.tooltip), room)
        head = [Piece("  " + fit(keys, _KEYS_WIDTH - 2), "text--strong"), *first]
        if told:
            used = sum(width_of(piece.text) for piece in head)
            head.append(Piece(" " * max(1, self._width - used - width_of(told)) + told, "line--dim"))
        return [head, *([Piece(" " * _KEYS_WIDTH), *other] for other in others)]

    def _pairs(self, pairs: list[tuple[str, str]]) -> list[Line]:
        lines: list[Line] = []
        for name, what in pairs:
            first, *others = wrap(plain(what), self._width - _KEYS_WIDTH)
            lines.append([Piece("  " + fit(name, _KEYS_WIDTH - 2), "text--strong"), *first])
            lines += [[Piece(" " * _KEYS_WIDTH), *other] for other in others]
        return lines

    def _wrapped(self, text: str) -> list[Line]:
        return [[Piece("  "), *line] for line in wrap(plain(text), self._width - 2)]
