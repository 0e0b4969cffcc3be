"""Health: what is the matter with which logs, the way from there into a log, and the rescue of one."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest_core import LogHealth, printable_line
from palimpsest_core.model.health import Ailment
from palimpsest_tui.jobs.asking import sentence
from palimpsest_tui.jobs.health import Looked, beside, look_through, rescue_log, why_not
from palimpsest_tui.widgets.health_rows import chief

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, Rescue
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.screens.health import HealthScreen
    from palimpsest_tui.screens.rescue import RescueScreen


def _health(engine: Engine, cancel: CancelToken) -> list[LogHealth]:
    return engine.health(cancel)


class Ailing:
    """Knows how many logs ail, shows them, goes into them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._window: HealthScreen | None = None
        self._looked: dict[str, Looked] = {}
        self._sizes: dict[str, int] = {}
        self._new_root: Path | None = None
        self.count = 0

    def sessions_changed(self, ailing: int) -> None:
        """The list was read again: the mark in the status bar tells of how many logs ail."""
        self.count = ailing
        self._desk.telling.status()
        if self._window is not None and self._window.there and not self._desk.jobs.running("health"):
            self.look()

    # The screen --------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Show the health screen, at the open log if that is one of them."""
        from palimpsest_tui.screens.health import HealthScreen

        if self._desk.engine.root is None:
            self._desk.say("There is no root to look through.", bad=True)
            return
        log = self._desk.opening.log
        session = self._desk.listing.selected()
        path = log.file.path if log is not None and not self._desk.session_list.has_focus else None
        if path is None and session is not None:
            path = session.path
        self._window = HealthScreen(self, path)
        self._desk.push(self._window, self._closed)

    def look(self) -> None:
        """Ask for the health of every log."""
        self._desk.jobs.ask("health", partial(_health, self._desk.engine), self._found, self._not_found)

    def _found(self, ailing: list[LogHealth]) -> None:
        if self._window is None or not self._window.there:
            return
        sessions = self._desk.listing.sessions
        unread = sum(not session.indexed and session.header is not None for session in sessions)
        self._window.show(ailing, len(sessions), unread)
        # What was looked through at the same size is not read again while the index grows.
        for health in ailing:
            if self._sizes.get(health.path) != health.size:
                self._looked.pop(health.path, None)
        self._sizes = {health.path: health.size for health in ailing}
        work = partial(look_through, self._desk.engine, [item for item in ailing if item.path not in self._looked])
        self._desk.jobs.ask_parts("health rows", work, self._looked_through, self._looked_through)

    def _looked_through(self, looked: dict[str, Looked]) -> None:
        self._looked |= looked
        if self._window is not None and self._window.there and looked:
            self._window.show_looked(self._looked)

    def _not_found(self, error: Exception) -> None:
        if self._window is not None and self._window.there:
            self._window.show_problem(printable_line(sentence(error)))

    def _closed(self, result: None) -> None:
        del result
        self._window = None
        self._desk.jobs.take_back("health")
        self._desk.jobs.take_back("health rows")

    def below_root(self, path: str) -> str:
        """A path as it is told: from the root on."""
        root = self._desk.engine.root
        home = os.path.realpath(root) if root is not None else ""
        for start in (str(root), home):
            if start and path.startswith(start.rstrip("/") + "/"):
                return path[len(start.rstrip("/")) + 1 :]
        return path

    # From there --------------------------------------------------------------------------------------------------

    def open(self, health: LogHealth, window: HealthScreen) -> None:
        """Open a log at the place that is the matter."""
        if health.session_id is None:
            self._desk.say("That is no log. It can be looked at by hand; nothing here is ever deleted.")
            window.dismiss(None)
            return
        window.dismiss(None)
        finding = chief(health)
        at_event = finding.seq if health.ailment in (Ailment.FOREIGN, Ailment.UNCERTAIN) else None
        path = None if health.answers else health.path
        self._desk.beyond.go_there_when_read = at_event is None
        self._desk.opening.open(health.session_id, at_event, path=path)
        self._desk.session_list.go_session(health.session_id)

    def copy(self, text: str, name: str) -> None:
        """Copy what is told of a log."""
        self._desk.copying.put(text, f"the health of {name}")

    def rescue(self, health: LogHealth) -> None:
        """Show what a copy of the readable rows would be."""
        from palimpsest_tui.screens.rescue import RescueScreen

        if health.session_id is None or not health.readable:
            self._desk.say("Nothing of that file can be read, so there is nothing to copy.", bad=True)
            return
        root = self._new_root or beside(self._desk.engine.root)
        self._desk.push(RescueScreen(self, health, root), self._rescue_closed)

    def copy_log(self, health: LogHealth, root: Path, write: bool, window: RescueScreen) -> None:
        """Copy a log, or only tell what that would be; the answer goes to the window while it is open."""
        work = partial(rescue_log, self._desk.engine, health, root, write)
        self._desk.jobs.ask("rescue", work, partial(self._told, root, window), partial(self._not_told, window))

    def _told(self, root: Path, window: RescueScreen, told: Rescue) -> None:
        if told.written:
            self._new_root = root
            self._desk.say(f"Rescued {told.events} events to {told.path}.")
        if window.there:
            window.show(told)

    def _not_told(self, window: RescueScreen, error: Exception) -> None:
        told = printable_line(why_not(error))
        if window.there:
            window.show_problem(told)
        else:
            self._desk.say(f"Rescue: {told}", bad=True)

    def _rescue_closed(self, result: None) -> None:
        del result
