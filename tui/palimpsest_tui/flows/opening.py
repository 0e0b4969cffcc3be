"""Opening a session: a worker reads its log, rows show meanwhile, and a person lands on the right event."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from palimpsest_core import CancelToken, Flag, printable_line
from palimpsest_core.model.event import Surface
from palimpsest_core.model.session import SessionState
from palimpsest_tui.flows.history import JumpHistory, Spot
from palimpsest_tui.jobs.asking import sentence
from palimpsest_tui.jobs.opening import arrange_log, open_log, read_gists, shown_length
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.session_list import title_of
from palimpsest_tui.widgets.timeline_views import View, build_rows, classes

if TYPE_CHECKING:
    from palimpsest_core import OpenLog
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.opening import Loaded, Loading
    from palimpsest_tui.widgets.timeline import Timeline

_SMALL = 5_000


class Opening:
    """Keeps the open log and the jump history."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.log: OpenLog | None = None
        self.session: SessionSummary | None = None
        self.history = JumpHistory()
        self.view = View.ALL
        self._wanted_seq: int | None = None
        self._wanted_moment: int | None = None
        self._asked: tuple[str, int | None, str | None] | None = None
        self._arranged_rows = 0
        self._titled_rows = 0
        """Rows at the last count for the title; counting takes a while on millions."""
        self._grew_at: float | None = None
        desk.timeline.set_empty(
            "No session is open.", "Enter opens the session under the cursor; / searches all of them."
        )

    @property
    def seeking(self) -> bool:
        """Whether an event that was asked for is still to be read."""
        jobs = self._desk.jobs
        return self._wanted_seq is not None and (jobs.running("open") or jobs.running("rows"))

    # Opening -----------------------------------------------------------------------------------------------------

    def open(
        self,
        session_id: str,
        seq: int | None,
        *,
        generation: int | None = None,
        path: str | None = None,
        moment: int | None = None,
        focus: bool = True,
        remember: bool = True,
    ) -> None:
        """Open a session, at an event if one is named. `remember` puts where you are into the jump history.

        `path` names one of several files of the session. `moment` (epoch ms) is where to land without an event.
        """
        asked = (session_id, generation, path)
        if remember and (seq is not None or self._asked != asked):
            self.history.leave(self.here())
        if focus:
            self._desk.panes.enter("timeline")
        if self._asked == asked and (self.log is not None or self._desk.jobs.running("open")):
            if seq is not None:
                self.go_seq(seq)
            elif not self._desk.jobs.running("open"):
                self._desk.beyond.arrived()
            return
        self._asked = asked
        self._wanted_seq, self._wanted_moment = seq, moment
        self.session = self._desk.listing.session_of(session_id, path)
        self._desk.timeline.set_empty("Reading…")
        self._desk.telling.where()
        work = partial(open_log, self._desk.engine, session_id, generation, path, self.view, self._at_work())
        self._desk.jobs.ask_parts("open", work, self._loading, self._loaded, self._not_opened)

    def reopen(self) -> None:
        """Read the open log anew, such as after another file took its name; the cursor stays on its event."""
        if self._asked is None:
            return
        session_id, generation, path = self._asked
        here = self.here()
        self._asked = None
        seq = here.seq if here is not None else None
        self.open(session_id, seq, generation=generation, path=path, focus=False, remember=False)

    def _loading(self, loading: Loading) -> None:
        log, rows = loading
        if log is not self.log:
            self._show_new(log)
        base = self._desk.timeline.rows
        if base is None or rows <= self._arranged_rows:
            return
        base.append(classes(log.table, self.view, self._arranged_rows, rows))
        self._arranged_rows = rows
        self._desk.timeline.rows_appended()
        self._seek()
        if rows > self._titled_rows * 5 // 4:
            self._titled_rows = rows
            self.title()

    def _show_new(self, log: OpenLog) -> None:
        """Take the place of the log before; its rows come with the next parts."""
        before, self.log = self.log, log
        self._arranged_rows = self._titled_rows = 0
        self._grew_at = None
        if self.session is None:  # asked for before the list was there
            self.session = self._desk.listing.session_of(log.session_id, self._asked[2] if self._asked else None)
        self._desk.timeline.show(log, build_rows(log.table, self.view, None, 0), self.view, keep=False)
        self._desk.marking.show()
        self._desk.session_list.set_open(self.session.path if self.session is not None else None)
        self._desk.living.opened(log)
        self._desk.generations.opened(log)
        self._desk.beyond.opened()
        self._desk.kinship.opened(log.session_id)
        self._desk.inspecting.clear()
        if before is not None:
            before.close()

    def _loaded(self, loaded: Loaded) -> None:
        if loaded.log is not self.log:
            self._show_new(loaded.log)
        seeking = self._wanted_seq
        self._take_rows(loaded, keep=self._desk.timeline.row_count() > 0)
        if not len(loaded.log):
            self._desk.timeline.set_empty(*self._why_empty(loaded.log))
        if seeking is not None:
            self._wanted_seq = seeking
            self._seek()
            if self._wanted_seq is not None:
                self._desk.say(f"There is no event {seeking} in this log.", bad=True)
                self._wanted_seq = None
        elif self._wanted_moment is not None and len(loaded.log):
            self.go_index(min(bisect_left(loaded.log.table.times, self._wanted_moment), len(loaded.log) - 1))
        elif self._desk.living.following:
            self._desk.timeline.action_go_bottom()
        self._wanted_moment = None
        self._desk.beyond.read(loaded.log)
        self._desk.finding.log_opened()
        self._desk.kinship.show()
        self._desk.inspecting.show()
        self._desk.telling.where()
        self._desk.beyond.say_why()

    def _take_rows(self, loaded: Loaded, *, keep: bool) -> None:
        self._arranged_rows = loaded.stop
        self._desk.timeline.show(loaded.log, loaded.rows, loaded.view, keep=keep)
        if loaded.stop != shown_length(loaded.log, self.live):
            self.appended(loaded.stop)
        self.title()
        self._desk.telling.status()

    def _not_opened(self, error: Exception) -> None:
        session = self.session
        self.log = None
        self._asked = None
        self._desk.timeline.show(None, None, self.view, keep=False)
        reason = session.reason if session is not None and session.reason else sentence(error)
        name = title_of(session) if session is not None else ""
        self._desk.timeline.set_empty("This log cannot be read.", name, printable_line(reason))
        self._desk.timeline.refresh()
        self._desk.inspecting.clear()
        self._desk.beyond.opened()
        self._desk.session_list.set_open(session.path if session is not None else None)
        self._desk.telling.where()
        self._desk.telling.status()

    def _why_empty(self, log: OpenLog) -> list[str]:
        if log.findings:
            return [
                "No event of this log can be read.",
                *(printable_line(finding.message) for finding in log.findings[:4]),
            ]
        return ["This log has a header and no events yet.", "It shows them as soon as they are written."]

    def _seek(self) -> None:
        """Go to the event that was asked for, once it is read."""
        if self._wanted_seq is None or self.log is None:
            return
        index = self.log.index_of_seq(self._wanted_seq)
        if index is not None and self._show_event(index):
            self._wanted_seq = None

    # Going -------------------------------------------------------------------------------------------------------

    def here(self) -> Spot | None:
        """Where the cursor is."""
        if self.log is None or self._asked is None:
            return None
        index = self._desk.timeline.event_index
        seq = self.log.number_at(index) if index is not None and index < len(self.log) else None
        pane = "lineage" if self._desk.panes.focused() == "lineage" else "timeline"
        return Spot(self._asked[0], self._asked[1], seq, self._asked[2], pane)

    def go_seq(self, seq: int, *, remember: bool = False) -> None:
        """Go to an event of the open log, in another view when the present one hides it."""
        if remember:
            self.history.leave(self.here())
        self._wanted_seq = seq
        self._seek()
        if self._wanted_seq is not None and self.log is not None and self.log.complete:
            self._wanted_seq = None
            self._desk.say(f"There is no event {seq} in this log.", bad=True)

    def go_index(self, index: int) -> None:
        """Go to a row of the open log by its place, such as a withheld one, whose number is only claimed."""
        self._show_event(index)

    def _show_event(self, index: int) -> bool:
        if self._desk.timeline.go_event(index):
            return True
        if self.view is View.ALL or self.log is None:
            return False
        hidden_by = self.view
        self.view = View.ALL
        if len(self.log) <= _SMALL:
            self._take_rows(arrange_log(self.log, self.view, self.live, CancelToken()), keep=False)
            found = self._desk.timeline.go_event(index)
            self._desk.inspecting.show()  # the cursor may stand in the row it stood in, on another event
        else:
            self._wanted_seq = self.log.number_at(index)
            self.rearrange()
            found = False
        self._desk.say(f"The view {hidden_by.value} hides that event: now showing all.")
        return found

    def back(self) -> None:
        """Go back to where you were."""
        self._travel(self.history.back(self.here()), "back to")

    def forward(self) -> None:
        """Go forward again."""
        self._travel(self.history.forward(self.here()), "forward to")

    def _travel(self, spot: Spot | None, way: str) -> None:
        if spot is None:
            self._desk.say(f"There is no place to go {way}.")
            return
        self.open(spot.session_id, spot.seq, generation=spot.generation, path=spot.path, focus=False, remember=False)
        self._desk.panes.enter(spot.pane)
        self._desk.session_list.go_session(spot.session_id)
        self._desk.telling.status()

    # Rows --------------------------------------------------------------------------------------------------------

    def set_view(self, view: View) -> None:
        """Show another view; the cursor stays as near as it can."""
        self.view = view
        self._desk.say(f"Timeline: {view.value}.")
        self.rearrange()

    def rearrange(self) -> None:
        """Arrange the rows anew, in a worker when there are many."""
        log = self.log
        if log is None:
            return
        if self._desk.jobs.running("open"):
            loaded = arrange_log(log, self.view, self.live, CancelToken())
            self._take_rows(loaded, keep=True)
        elif len(log) <= _SMALL:
            self._rearranged(arrange_log(log, self.view, self.live, CancelToken()))
        else:
            self._desk.jobs.ask("rows", partial(arrange_log, log, self.view, self.live), self._rearranged)

    def _rearranged(self, loaded: Loaded) -> None:
        if loaded.log is not self.log or loaded.view is not self.view:
            return
        self._take_rows(loaded, keep=True)
        if not self._desk.timeline.row_count():
            self._desk.timeline.set_empty(
                f"The view {self.view.value} has no events here.", "Press v for the next view."
            )
        self._seek()
        self._desk.inspecting.show()

    @property
    def live(self) -> bool:
        """Whether the session of the open log is at work: its last turn is open, and it grew not long ago."""
        return self.log is not None and self.log.open_turn and self._at_work()

    def _at_work(self) -> bool:
        grew = self._grew_at is not None and monotonic() - self._grew_at < self._desk.settings.active_minutes * 60
        return grew or (self.session is not None and self.session.state is SessionState.ACTIVE)

    def grew(self) -> None:
        """The open log grew just now."""
        self._grew_at = monotonic()

    def appended(self, first: int) -> None:
        """The table is new from event `first` on: rows of what stood there before go, rows of the new events come."""
        log, rows = self.log, self._desk.timeline.rows
        if log is None or rows is None:
            return
        stop = shown_length(log, self.live)
        first = min(first, stop)
        if first < self._arranged_rows:
            before = classes(log.table, self.view, first - 1, first) if first else b"\0"
            rows.cut_back(first, before[0])
            self._desk.timeline.rows_changed()
        rows.append(classes(log.table, self.view, first, stop))
        self._arranged_rows = stop
        self._desk.timeline.rows_appended()
        self.title()

    def title(self) -> None:
        """The title of the timeline: view and how many events of each surface."""
        log = self.log
        if log is None:
            self._desk.panes.title("timeline", "2 Timeline")
            return
        parts = [label] if (label := self._desk.generations.label(log)) else []
        parts += [self.view.value, *told_counts(log, self.view)]
        if self.live:
            parts.append("turn open")
        if log.fold.unreliable:
            parts.append("badges unreliable")
        self._desk.panes.title("timeline", "2 Timeline  " + " · ".join(parts))

    def gists_wanted(self, wanted: Timeline.GistsWanted) -> None:
        """Events on the screen that the paint had no time to read: read them in a worker."""
        log = wanted.log
        put = partial(self._desk.timeline.put_gists, log)
        self._desk.jobs.ask_parts("gists", partial(read_gists, log, wanted.events), put, put)

    def sessions_changed(self) -> None:
        """The list was read again: the open session may have another title or state, or be gone."""
        if self.log is None:
            return
        known = self._desk.listing.session_of(self.log.session_id, self._asked[2] if self._asked else None)
        if known is not None:
            live = self.live
            self.session = known
            self._desk.session_list.set_open(known.path)
            if live != self.live:
                self.rearrange()  # the closers of its open turn come or go


def told_counts(log: OpenLog, view: View) -> list[str]:
    """How many events are current, shadowed, log-only and withheld; in the conversation who said how much."""
    table = log.table
    if view is View.CONVERSATION:
        prompts = table.select(flags=Flag.PROMPT)
        answers = table.select(types=("assistant/message",), without=Flag.WITHHELD)
        return [_own(prompts, log.cut or 0, "prompt"), _own(answers, log.cut or 0, "answer")]
    if view is View.ERRORS:
        shown = sum(classes(table, view))
        return [numbers.plural(shown, "error")]
    counts = table.counts()
    withheld = log.rows_withheld
    letters = (("C", Surface.CURRENT), ("S", Surface.SHADOWED), ("L", Surface.LOG_ONLY))
    # Withheld rows lie in the table as log-only ones.
    real = {surface: count - (withheld if surface is Surface.LOG_ONLY else 0) for surface, count in counts.items()}
    told = [f"{letter} {numbers.exact(max(0, real[surface]))}" for letter, surface in letters]
    return [*told, f"W {numbers.exact(withheld)}"] if withheld else told


def _own(indexes: Sequence[int], cut: int, what: str) -> str:
    """How many there are behind the inherited prefix, and with it."""
    own = len(indexes) - bisect_left(indexes, cut)
    told = numbers.plural(own, what)
    return told if own == len(indexes) else f"{told}, {numbers.exact(len(indexes))} with inherited"
