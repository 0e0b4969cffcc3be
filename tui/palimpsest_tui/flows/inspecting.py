"""The inspector follows the cursor of the timeline; its text is made in a worker, the old one stays until then."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from palimpsest_tui.flows.resting import Rest
from palimpsest_tui.jobs.reading import Reading, read_event
from palimpsest_tui.reading.lines import EMPTY, Document, Link
from palimpsest_tui.widgets.cells import Matcher
from palimpsest_tui.widgets.inspector import Tab

if TYPE_CHECKING:
    from palimpsest_core import OpenLog
    from palimpsest_tui.flows.desk import Desk

_REST_S = 0.03
_HELD_S = 0.09
_REPEAT_S = 0.12
"""The cursor rests a moment before its event is read, and longer while it goes on moving: a key held down, which comes
some thirty times a second, reads nothing on the way."""
NOTHING = Matcher("")


class Inspecting:
    """Chooses what the inspector shows and how."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.tab = Tab.TEXT
        self.wrapped = True
        self.pretty = True
        self._rest = Rest(desk.screen)
        self._moved_at = 0.0
        self._shown: tuple[int, int, Tab] | None = None
        self.title()
        self._desk.inspector.set_empty("Nothing is selected.", "Go to an event in the timeline (2) to read it here.")

    @property
    def up_to_date(self) -> bool:
        """Whether the inspector shows the event under the cursor (or cannot be seen)."""
        log, index = self._desk.opening.log, self._desk.timeline.event_index
        if log is None or index is None or self._desk.inspector.scrollable_content_region.width < 4:
            return True
        return self._shown == (id(log), index, self.tab)

    def moved(self) -> None:
        """The cursor of the timeline came to another event."""
        now = monotonic()
        self._rest.begin(_HELD_S if now - self._moved_at < _REPEAT_S else _REST_S, self.show)
        self._moved_at = now

    def show(self) -> None:
        """Read the event under the cursor and show it."""
        log = self._desk.opening.log
        index = self._desk.timeline.event_index
        width = self._desk.inspector.scrollable_content_region.width
        if log is None or index is None or index >= len(log) or width < 4:
            return
        place = self._desk.timeline.place()
        count = place.span.events if place is not None and not place.opened else 1
        look, known = self._desk.beyond.look, self._desk.listing.by_id
        stored = self._desk.engine.holds_attachment
        reading = Reading(self.tab, max(8, width - 2), self.wrapped, self.pretty, count, look, known, stored)
        self._desk.jobs.ask("inspect", partial(read_event, log, index, reading), partial(self._read, log, index))

    def _read(self, log: OpenLog, index: int, document: Document) -> None:
        if log is not self._desk.opening.log:
            return
        key = (id(log), index, self.tab)
        keep = key == self._shown
        self._shown = key
        self._desk.inspector.show(document, self._matcher(log, index), keep=keep)

    def _matcher(self, log: OpenLog, index: int) -> Matcher:
        return self._desk.finding.matcher if index in self._desk.finding.matches_in(log) else NOTHING

    def clear(self) -> None:
        """Another log: nothing is selected yet."""
        self._desk.jobs.take_back("inspect")
        self._shown = None
        self._desk.inspector.show(EMPTY, NOTHING, keep=False)

    def next_tab(self) -> None:
        """Text, raw, trace."""
        tabs = list(Tab)
        self.tab = tabs[(tabs.index(self.tab) + 1) % len(tabs)]
        self.title()
        self._desk.panes.reveal_inspector()
        self.show()

    def toggle_wrap(self) -> None:
        """Wrap long lines or let them run."""
        self.wrapped = not self.wrapped
        self._desk.inspector.pan(-1_000_000)
        self._desk.say("Long lines wrap." if self.wrapped else "Long lines run on; ← and → move sideways.")
        self.show()

    def next_view(self) -> None:
        """Raw: laid out, or as stored. From another tab it goes to Raw first."""
        if self.tab is Tab.RAW:
            self.pretty = not self.pretty
        else:
            self.tab = Tab.RAW
        self._shown = None
        self.title()
        self.show()

    def title(self) -> None:
        """The title of the pane: its tabs, the shown one in brackets."""
        tabs = " ".join(f"[{tab.value}]" if tab is self.tab else tab.value for tab in Tab)
        self._desk.panes.title("inspector", f"3 Inspector  {tabs}")

    def follow(self, link: Link) -> None:
        """Go along a link."""
        if link.session_id is not None:
            self._desk.opening.open(link.session_id, link.seq)
        elif link.seq is not None:
            self._desk.opening.go_seq(link.seq, remember=True)

    def go_in(self) -> bool:
        """Unfold the line, or move the text sideways. False when there is nothing to do."""
        return self._desk.inspector.fold_line(opened=True) or (not self.wrapped and self._desk.inspector.pan(8))

    def go_out(self) -> bool:
        """Fold the line, or move the text back. False when there is nothing to do."""
        if not self.wrapped and self._desk.inspector.pan(-8):
            return True
        return self._desk.inspector.fold_line(opened=False)
