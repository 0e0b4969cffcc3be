"""The filter menu: every filter word with the values that this root knows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from palimpsest_core import printable_line
from palimpsest_tui.searching.words import KINDS, without_chip

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk

_OWN = "own:"


class Filtering:
    """Two steps: which filter, which value. The words land in the search bar."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def menu(self) -> None:
        """Choose a filter, or one of those in force to take it away."""
        from palimpsest_tui.screens.choose import Choice, ChooseScreen

        choices = [
            Choice(f"remove {printable_line(chip.word)}", "in force", f"remove:{place}")
            for place, chip in enumerate(self._desk.finding.search.chips)
        ]
        choices += [Choice(f"{kind}:", what, kind) for kind, what in KINDS.items()]
        self._desk.push(ChooseScreen("Filter", choices), self._kind)

    def _kind(self, kind: str | None) -> None:
        if kind is None:
            return
        if kind.startswith("remove:"):
            chip = self._desk.finding.search.chips[int(kind.removeprefix("remove:"))]
            self._desk.search_bar.set_text(without_chip(self._desk.search_bar.text, chip))
            return
        from palimpsest_tui.screens.choose import Choice, ChooseScreen

        values = self._desk.search_bar.input.values().get(kind, [])
        choices = [Choice(printable_line(value), "", value) for value in values]
        choices += [Choice(f"not {printable_line(value)}", "exclude", f"-{value}") for value in values[:20]]
        choices.append(Choice("another value…", "type it in the search bar", _OWN))
        self._desk.push(ChooseScreen(f"Filter {kind}:", choices), partial(self._value, kind))

    def _value(self, kind: str, value: str | None) -> None:
        if value is None:
            return
        if value == _OWN:
            text = self._desk.search_bar.text.rstrip()
            self._desk.search_bar.set_text(f"{text} {kind}:".lstrip())
            self._desk.finding.focus()
            return
        self._desk.finding.add_word(kind, value.removeprefix("-"), negated=value.startswith("-"))
