"""Going to hits: Enter in the search bar opens the first, `n` and `N` go from match to match and on.

A key that comes before the answer to the text in the bar does not act on what an earlier text found: its search starts
at once, and the key acts when the first rows are there, if the person is still where it was pressed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.widget import Widget

    from palimpsest_tui.flows.desk import Desk

_HISTORY = 100


class _Waiting(NamedTuple):
    """What to do once the hits are there, what more it waits for, and where the focus may be then."""

    act: Callable[[], None]
    ready: Callable[[], bool]
    places: tuple[Widget | None, ...]


class Going:
    """Takes a person to hits, and through the searches they made before."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: _Waiting | None = None
        self._go_on = 0
        self._past_at = -1

    # Hits that are still to come ---------------------------------------------------------------------------------

    def _when_found(self, act: Callable[[], None], ready: Callable[[], bool], *places: Widget | None) -> None:
        """Do something with the hits of the text in the bar: at once, or when they are there. Keys behind it wait."""
        desk = self._desk
        desk.finding.hurry()
        self._waiting = _Waiting(act, ready, (desk.screen.focused, *places))
        self.look()
        desk.screen.hold_keys(self._arrived)
        if self._waiting is not None and desk.finding.awaited and desk.finding.has_phrase:
            desk.say("Searching… goes to the hit once it is found.")

    def look(self) -> None:
        """An answer came: do what waits for it, unless the person went elsewhere meanwhile."""
        waiting = self._waiting
        if waiting is None or self._desk.finding.awaited or not waiting.ready():
            return
        self._waiting = None
        if self._desk.screen.focused in waiting.places:
            self._desk.telling.unsay()
            waiting.act()

    def drop(self) -> None:
        """The person does something else: what waits for hits is not done any more."""
        self._waiting = None

    def _arrived(self) -> bool:
        """Whether the last key that goes to a hit has done so: the event it goes to is on the screen."""
        busy = self._desk.opening.seeking or (self._go_on != 0 and self._on_the_way())
        return self._waiting is None and not busy

    def _on_the_way(self) -> bool:
        """Whether a log is being opened, or its matches are being found."""
        return self._desk.jobs.running("open") or self._desk.jobs.running("matches")

    # From match to match -----------------------------------------------------------------------------------------

    def go_hit(self, step: int) -> None:
        """The next or previous match, on into the next session after the last one."""
        self._desk.finding.changed()
        if not self._desk.finding.has_phrase:
            self._desk.say("Nothing is searched for: / starts a search.")
            return
        self._when_found(partial(self._go_hit, step), lambda: not self._on_the_way())

    def _go_hit(self, step: int) -> None:
        desk, finding = self._desk, self._desk.finding
        log = desk.opening.log
        if finding.in_event and finding.hits is not None and finding.hits.hits:
            if not desk.inspector.go_match(step):
                desk.say("There is no further match in this event; / then ctrl+t searches the session.")
            return
        if log is not None and finding.matches is not None and finding.matches[0] is log and finding.matches[1]:
            seqs = finding.matches[1]
            index = desk.timeline.event_index
            here = log.number_at(index) if index is not None and index < len(log) else -1
            place = bisect_right(seqs, here) if step > 0 else bisect_left(seqs, here) - 1
            if 0 <= place < len(seqs):
                desk.panes.enter("timeline")
                desk.opening.go_seq(seqs[place], remember=True)
                finding.facts()
                return
        self._next_session(step)

    def _next_session(self, step: int) -> None:
        """Open the next session that has hits, at its first match (at its last one when going back)."""
        self._go_on = 0
        found = self._desk.finding.hits
        hits = found.hits if found is not None else []
        if not hits:
            self._say_empty()
            return
        log = self._desk.opening.log
        ids = [hit.header.id for hit in hits]
        at = ids.index(log.session_id) if log is not None and log.session_id in ids else -1 if step > 0 else len(ids)
        if not 0 <= at + step < len(ids):
            self._desk.say(f"That was the {'last' if step > 0 else 'first'} hit.")
            return
        hit = hits[at + step]
        self._go_on = step
        self._desk.opening.open(hit.header.id, None)
        self._desk.session_list.go(at + step, tell=False)

    def matched(self, seqs: list[int]) -> None:
        """The matches of the open log are known: go to the one that `n` or `N` opened it for."""
        if self._go_on and seqs:
            self._desk.opening.go_seq(seqs[0] if self._go_on > 0 else seqs[-1])
        self._go_on = 0

    def _say_empty(self) -> None:
        self._desk.say(self._desk.finding.nothing_found()[0])

    # The keys of the bar -----------------------------------------------------------------------------------------

    def asked(self, what: str) -> None:
        """A key of the search bar."""
        desk = self._desk
        self.drop()
        if what == "open":
            self._open_first()
        elif what == "leave":
            desk.panes.enter(desk.panes.level)
        elif what == "older":
            self._past(1)
        elif what == "newer":
            self._down()
        elif what == "widen":
            desk.finding.widen()

    def _open_first(self) -> None:
        desk = self._desk
        self.remember()
        desk.finding.changed()
        if desk.finding.search.export_to is not None:
            target = desk.finding.search.export_to
            desk.search_bar.set_text("")
            desk.exporting.command(target)
            return
        self._when_found(self._open, _at_once, desk.session_list)
        if self._waiting is not None:
            desk.panes.enter("sessions")

    def _open(self) -> None:
        desk = self._desk
        hits = desk.finding.hits
        if not desk.finding.has_phrase or hits is None or not hits.hits:
            desk.panes.enter("sessions")
            if desk.finding.has_phrase:
                self._say_empty()
            return
        hit = hits.hits[min(desk.session_list.cursor, len(hits.hits) - 1)]
        desk.opening.open(hit.header.id, hit.best_match.seq)
        desk.finding.tell_carriers(hit)

    def choose(self) -> bool:
        """Enter in the list while its rows are of an earlier text: choose in those to come. False when they are there.

        Among sessions the row under the cursor is chosen, wherever it stands then.
        """
        finding = self._desk.finding
        if not finding.awaited:
            return False
        self._when_found(self._open if finding.has_phrase else self._desk.listing.choose, _at_once)
        return True

    def _down(self) -> None:
        """To the hits, those to come too; without any, to the next newer search."""
        desk, finding = self._desk, self._desk.finding
        finding.changed()
        if finding.has_phrase and finding.awaited and self._past_at < 0:
            self._when_found(partial(desk.panes.enter, "sessions"), _at_once, desk.session_list)
            if self._waiting is not None:
                desk.panes.enter("sessions")
        elif finding.has_phrase and not finding.awaited and finding.hits is not None and finding.hits.hits:
            desk.panes.enter("sessions")
        else:
            self._past(-1)

    # Searches made before ----------------------------------------------------------------------------------------

    def remember(self) -> None:
        """Keep the text in the bar among the searches that were made."""
        text = self._desk.search_bar.text.strip()
        searches = self._desk.state.searches
        if text and (not searches or searches[0] != text):
            self._desk.state.searches = [text, *(old for old in searches if old != text)][:_HISTORY]
        self._past_at = -1

    def _past(self, step: int) -> None:
        searches = self._desk.state.searches
        at = self._past_at + step
        if at < -1 or at >= len(searches):
            return
        self._past_at = at
        self._desk.search_bar.set_text("" if at < 0 else searches[at])


def _at_once() -> bool:
    return True
