"""Marks: events that a person wants to find again. They are kept between runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from palimpsest_core import printable_line
from palimpsest_tui.widgets.session_list import title_of

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk


class Marking:
    """Sets marks and lists them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def toggle(self) -> None:
        """Mark the event under the cursor, or take its mark away."""
        log, index = self._desk.opening.log, self._desk.timeline.event_index
        if log is None or index is None or log.table.seqs[index] < 0:
            self._desk.say("There is no event to mark.", bad=True)
            return
        seq = log.table.seqs[index]
        marks = self._desk.state.marks.setdefault(log.session_id, [])
        if seq in marks:
            marks.remove(seq)
            self._desk.say(f"The mark at {seq} is gone.")
        else:
            marks.append(seq)
            marks.sort()
            self._desk.say(f"Marked {seq}; ' lists the marks.")
        if not marks:
            del self._desk.state.marks[log.session_id]
        self.show()

    def show(self) -> None:
        """Draw marks and matches in the timeline."""
        log = self._desk.opening.log
        if log is None:
            return
        seqs = self._desk.state.marks.get(log.session_id, ())
        marks = frozenset(index for seq in seqs if (index := log.index_of_seq(seq)) is not None)
        self._desk.timeline.mark(marks, self._desk.finding.matches_in(log), self._desk.finding.matcher)

    def list(self) -> None:
        """Choose among all marks."""
        from palimpsest_tui.screens.choose import Choice, ChooseScreen

        choices = []
        for session_id, seqs in self._desk.state.marks.items():
            session = self._desk.listing.by_id.get(session_id)
            name = title_of(session) if session is not None else printable_line(session_id)
            known = "" if session is not None else "  (not in this root)"
            choices += [Choice(f"{name}  #{seq}", known, f"{session_id}\n{seq}") for seq in seqs]
        if not choices:
            self._desk.say("There are no marks yet: m marks an event.")
            return
        self._desk.push(ChooseScreen("Marks", choices), partial(self._go))

    def _go(self, chosen: str | None) -> None:
        if chosen is not None:
            session_id, seq = chosen.rsplit("\n", 1)
            self._desk.opening.open(session_id, int(seq))
