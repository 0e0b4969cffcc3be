"""What happens while a person looks: the index fills, logs grow, sessions come and go."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from palimpsest_core import OpenLog
from palimpsest_tui.jobs.opening import Grown, grow_log

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk


class Living:
    """Starts the indexer and the watcher, and brings what they tell onto the screen."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.following = False

    def start(self) -> None:
        """Start everything that runs in the background."""

    def stop(self) -> None:
        """Stop it."""

    def opened(self, log: OpenLog) -> None:
        """Another log is open."""

    def cursor_moved(self) -> None:
        """The person moved: following ends when they leave the end."""

    def reindex(self) -> None:
        """Look through the root again."""

    def describe_index(self) -> list[str]:
        """Where the index is and how big, for the first-run notice."""
        return []

    def toggle_follow(self) -> None:
        """Stay at the end while the log grows, or stop that."""
        self.following = not self.following
        if self.following:
            self._desk.timeline.action_go_bottom()
        self._desk.telling.where()

    def check_log(self) -> None:
        """The open log may have grown."""
        log = self._desk.opening.log
        if log is not None and log.complete:
            self._desk.jobs.ask("grow", partial(grow_log, log), self._grown)

    def _grown(self, grown: Grown) -> None:
        del grown
