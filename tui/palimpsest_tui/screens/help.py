"""The help: the keys that are valid here, the words of the search bar, the letters and marks."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from palimpsest_tui.keys import KEYS, Key, Where, shown
from palimpsest_tui.reading.lines import FixedBlock, Line, Piece, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.screens.window import Window
from palimpsest_tui.searching.words import KINDS
from palimpsest_tui.settings import settings_path
from palimpsest_tui.widgets.badges import LEGEND
from palimpsest_tui.widgets.cells import fit, width_of
from palimpsest_tui.widgets.status_bar import Bar

_KEYS_WIDTH = 14
_WIDTH = 72
_ORDER = {
    "search": (Where.SEARCH, Where.MAIN, Where.LIST),
    "export": (Where.EXPORT,),
}


class HelpScreen(Window[None]):
    """A page to scroll. The keys of the pane with the focus come first."""

    def __init__(self, pane: str, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._pane = pane
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """The page and how to leave it."""
        with Vertical(id="window") as window:
            window.border_title = Content(f"Keys  in {self._where()}")
            yield Page([FixedBlock(self._lines())])
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
        page.styles.height = max(3, min(page.row_count(), self.size.height - 4))

    def _where(self) -> str:
        return "the search bar" if self._pane == "search" else f"the pane {self._pane}"

    def _lines(self) -> list[Line]:
        lines: list[Line] = []
        for where in _ORDER.get(self._pane, (Where.LIST, Where.MAIN, Where.SEARCH, Where.HEALTH, Where.RESCUE)):
            lines += [[], plain(where.value, "text--heading")]
            lines += [line for key in KEYS if key.where is where for line in self._key(key)]
        lines += [[], plain("words of the search bar", "text--heading")]
        lines += _pairs([(f"{kind}:", what) for kind, what in KINDS.items()])
        lines += _pairs(
            [
                ("-kind:value", "excludes; a value with spaces stands in double quotes"),
                ("=text", "looks for these very characters in the logs themselves"),
                ("\\type:", "looks for the word type: and takes its meaning away"),
                ("/export", "exports the session; a path after it says where to"),
            ]
        )
        lines += [[], plain("letters and marks", "text--heading"), *_pairs(list(LEGEND))]
        lines += [[], plain("mouse", "text--heading")]
        lines += _wrapped(
            "A click moves the cursor, a double click goes in, the wheel scrolls. The inspector lets text be selected "
            "by dragging (ctrl+c copies it); with shift held (option on a Mac) the terminal itself selects."
        )
        lines += [[], plain("settings", "text--heading"), *_wrapped(f"{settings_path()}")]
        lines += _wrapped('Any key can be moved: [keys] and a line like "turn.next" = "t"; the ids stand at the right.')
        return lines

    def _key(self, key: Key) -> list[Line]:
        keys = shown(key, self._keymap)
        room = _WIDTH - _KEYS_WIDTH - width_of(key.id) - 1
        first, *others = wrap(plain(key.tooltip), room)
        head = [Piece("  " + fit(keys, _KEYS_WIDTH - 2), "text--strong"), *first]
        used = sum(width_of(piece.text) for piece in head)
        head.append(Piece(" " * max(1, _WIDTH - used - width_of(key.id)) + key.id, "line--dim"))
        return [head, *([Piece(" " * _KEYS_WIDTH), *other] for other in others)]


def _pairs(pairs: list[tuple[str, str]]) -> list[Line]:
    lines: list[Line] = []
    for name, what in pairs:
        first, *others = wrap(plain(what), _WIDTH - _KEYS_WIDTH)
        lines.append([Piece("  " + fit(name, _KEYS_WIDTH - 2), "text--strong"), *first])
        lines += [[Piece(" " * _KEYS_WIDTH), *other] for other in others]
    return lines


def _wrapped(text: str) -> list[Line]:
    return [[Piece("  "), *line] for line in wrap(plain(text), _WIDTH - 2)]
