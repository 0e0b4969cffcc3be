"""Moving through the open log by what it means: turns, prompts, boundaries, errors, replacements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest_core import BOUNDARY, Flag
from palimpsest_tui.widgets.timeline_views import View

if TYPE_CHECKING:
    from palimpsest_core import OpenLog
    from palimpsest_tui.flows.desk import Desk

_IS_TURN = bytes(int(value & Flag.TURN != 0) for value in range(256))


class Walking:
    """Jumps of one log. Each goes to the nearest row when the view hides the event itself."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._came_from: tuple[OpenLog, int, int] | None = None

    def turn(self, step: int) -> None:
        """To the next turn, or to the start of this one and then to the one before."""
        self._flag(Flag.TURN, step, "turn")

    def prompt(self, step: int) -> None:
        """To the next or previous prompt of the person."""
        self._flag(Flag.PROMPT, step, "prompt")

    def error(self) -> None:
        """To the next error, from the start again after the last one."""
        log, index = self._position()
        if log is None:
            return
        found = log.table.find_flag(Flag.ERROR | Flag.WITHHELD, index + 1)
        if found is None:
            found = log.table.find_flag(Flag.ERROR | Flag.WITHHELD, 0)
            if found is None:
                self._desk.say("There is no error in this log.")
                return
            self._desk.say("That was the last error; this is the first one.")
        self._go(found)

    def boundary(self, step: int) -> None:
        """To the next or previous compaction, replacement, fork cut or resume."""
        log, index = self._position()
        if log is None:
            return
        found = log.table.find_flag(BOUNDARY, index + step, step)
        cut = log.cut
        if cut is not None and cut < len(log) and ((step > 0 and index < cut) or (step < 0 and index > cut)):
            found = cut if found is None else min(found, cut) if step > 0 else max(found, cut)
        if found is None:
            self._desk.say(f"There is no {'later' if step > 0 else 'earlier'} boundary.")
            return
        self._desk.opening.history.leave(self._desk.opening.here())
        self._go(found)

    def replacement(self) -> None:
        """From a replacement to what it replaced, from a shadowed event to what replaced it, and straight back."""
        log, index = self._position()
        if log is None or not 0 <= index < len(log):
            return
        twin = self._desk.beyond.twin(index)
        if twin is not None:
            self._desk.opening.history.leave(self._desk.opening.here())
            self._desk.opening.go_index(twin)
            return
        seq = log.table.seqs[index]
        if self._came_from is not None and self._came_from[:2] == (log, seq):
            target: int | None = self._came_from[2]
        else:
            replaced = log.replaces(seq)
            target = min(replaced) if replaced else log.replaced_by(seq)
        if target is None:
            self._desk.say("This event replaced nothing and was not replaced.")
            return
        self._came_from = (log, target, seq)
        self._desk.opening.go_seq(target, remember=True)

    def next_view(self) -> None:
        """The next view of the timeline."""
        views = list(View)
        self._desk.opening.set_view(views[(views.index(self._desk.opening.view) + 1) % len(views)])

    def turn_number(self, index: int) -> int:
        """The turn (counted from 1) that an event stands in; 0 before the first. About 1 ms for a million events."""
        log = self._desk.opening.log
        return 0 if log is None else log.table.flags[: index + 1].translate(_IS_TURN).count(1)

    def _flag(self, flag: Flag, step: int, what: str) -> None:
        log, index = self._position()
        if log is None:
            return
        at = index
        while True:
            found = log.table.find_flag(flag, at + step, step)
            if found is None:
                self._desk.say(f"There is no {'later' if step > 0 else 'earlier'} {what}.")
                return
            if not self._same_row(found, index):
                break
            at = found
        self._go(found)

    def _same_row(self, found: int, index: int) -> bool:
        """Whether a target stands on the row of the cursor (inside its fold): then the jump goes on."""
        rows = self._desk.timeline.rows
        return rows is not None and rows.row_of(found) == self._desk.timeline.cursor and found != index

    def _go(self, index: int) -> None:
        timeline = self._desk.timeline
        if timeline.rows is None:
            return
        row = timeline.rows.row_of(index)
        if row is not None or timeline.rows.hides_in_prefix(index):
            if timeline.rows.hides_in_prefix(index):
                timeline.go_event(index)
            else:
                timeline.go(row or 0, centre=True)
        else:
            timeline.go(timeline.rows.row_near(index), centre=True)

    def _position(self) -> tuple[OpenLog | None, int]:
        log = self._desk.opening.log
        if log is None:
            self._desk.say("No session is open.")
            return None, 0
        index = self._desk.timeline.event_index
        return log, -1 if index is None else index
