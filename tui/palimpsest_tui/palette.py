"""The command palette: every command by its name, with its key beside it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider

from palimpsest_tui.commands import COMMANDS, list_commands
from palimpsest_tui.keys import BY_ID, first_shown
from palimpsest_tui.screens.ledger import LedgerScreen

if TYPE_CHECKING:
    from palimpsest_tui.commands import Command


class CommandProvider(Provider):
    """Searches the commands of the main screen."""

    def _commands(self) -> Iterator[tuple[str, Command, LedgerScreen]]:
        screen = self.screen
        if not isinstance(screen, LedgerScreen):
            return
        for command in (*COMMANDS.values(), *list_commands()):
            key = first_shown(BY_ID[command.id], screen.keymap) if command.id in BY_ID else ""
            yield f"{command.title}  ({key})" if key else command.title, command, screen

    async def discover(self) -> Hits:
        """All commands, before anything is typed."""
        for text, command, screen in self._commands():
            yield DiscoveryHit(text, partial(command.run, screen.desk), text=text, help=command.tooltip)

    async def search(self, query: str) -> Hits:
        """Commands whose name or explanation fits."""
        matcher = self.matcher(query)
        for text, command, screen in self._commands():
            score = max(matcher.match(text), matcher.match(command.tooltip) * 0.8)
            if score > 0:
                yield Hit(
                    score, matcher.highlight(text), partial(command.run, screen.desk), text=text, help=command.tooltip
                )
