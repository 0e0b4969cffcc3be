"""The list of sessions: what is in the root, in which order, and what to say when there is nothing to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from palimpsest_core import printable_line
from palimpsest_core.model.session import SessionState
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import is_ailing
from palimpsest_tui.widgets.session_list import summaries_by_id
from palimpsest_tui.widgets.session_rows import Grouping, Sort, arrange

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.early import Early
    from palimpsest_tui.widgets.session_rows import ListRow

_PREVIEW_S = 0.12
_FIRST_REST_S = 0.3
"""The first list is painted before anything else is looked for."""


def _next_of(value: str, values: Sequence[str]) -> str:
    return values[(values.index(value) + 1) % len(values)] if value in values else values[0]


class Listed(NamedTuple):
    """A list of sessions with what is counted over all of them, made in the worker that read it."""

    sessions: list[SessionSummary]
    by_id: Mapping[str, SessionSummary]
    twice: frozenset[str]
    kin: list[tuple[object, ...]]
    ailing: int
    whole: bool
    """Whether the root itself was looked through, and not only the index."""


def list_sessions(engine: Engine, before: Sequence[SessionSummary] | None, cancel: CancelToken) -> Listed:
    """Everything in the root, readable or not. The first time (`before` is None) what the index knows is enough."""
    if before is None and (known := engine.sessions(cancel, fresh=False)):
        return _listed(known, whole=False)
    sessions = engine.sessions(cancel)
    return _listed(sessions if before is None else with_known(sessions, before), whole=True)


def _listed(sessions: list[SessionSummary], *, whole: bool) -> Listed:
    return Listed(
        sessions,
        summaries_by_id(sessions),
        _told_twice(sessions),
        list(map(_kin, sessions)),
        sum(map(is_ailing, sessions)),
        whole,
    )


def with_known(now: list[SessionSummary], before: Sequence[SessionSummary]) -> list[SessionSummary]:
    """`now`, where a log that changed a moment ago and waits for the index keeps the title and counts it had before."""
    known = {session.path: session for session in before if session.indexed}
    return [_kept(session, known.get(session.path)) for session in now]


def _kin(session: SessionSummary) -> tuple[object, ...]:
    """What the lineage shows of a session."""
    return session.path, session.id, session.parent, session.title, session.state, session.inherited_cut


def _kept(session: SessionSummary, known: SessionSummary | None) -> SessionSummary:
    if session.indexed or known is None or known.id != session.id:
        return session
    return msgspec.structs.replace(known, size=session.size, last_time=session.last_time)


def _told_twice(sessions: Sequence[SessionSummary]) -> frozenset[str]:
    """Ids that stand in more than one row: the row, not the id, says which log is meant."""
    counted = Counter(session.id for session in sessions)
    return frozenset(session_id for session_id, count in counted.items() if count > 1)


class Listing:
    """Keeps the sessions and shows them; search results take their place for a while."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.root: Path | None = desk.engine.root
        self.sessions: list[SessionSummary] = []
        self._come_back: str | None = None
        self.by_id: Mapping[str, SessionSummary] = {}
        self.total = 0
        """How many sessions there are; the first ones are shown before all of them are read."""
        self.loaded = False
        self.took_s = 0.0
        """How long the list took to be read the last time."""
        self._asked_at = 0.0
        self.sort = Sort(desk.state.sort) if desk.state.sort in list(Sort) else Sort.ACTIVITY
        self.grouping = Grouping(desk.state.grouping) if desk.state.grouping in list(Grouping) else Grouping.TREE
        self._again = False
        self._shown = 0
        self._twice: frozenset[str] = frozenset()
        self._kin: list[tuple[object, ...]] = []

    # Loading -----------------------------------------------------------------------------------------------------

    def start(self, early: Early | None) -> None:
        """Begin with the first sessions, where they are there by now; all are asked for after the first paint."""
        if self.root is None or early is None:
            self.load()
            return
        known = early.result() if early.done() and early.exception() is None else None
        # What was looked up are the newest and their families.
        fits = self.sort is Sort.ACTIVITY and self.grouping is not Grouping.PROJECT
        if known is not None and known.sessions and fits and not self._desk.finding.has_phrase:
            self.sessions, self.total = known.sessions, known.total
            self.by_id = summaries_by_id(self.sessions)
            self._twice = _told_twice(self.sessions)
            self._arranged((self.sessions, arrange(self.sessions, self.sort, self.grouping)))
        self._desk.screen.call_after_refresh(self.load)

    def load(self) -> None:
        """Ask for the sessions, at once from the index or else from the headers. Asked while it runs, it runs again."""
        if self.root is None:
            self.loaded = True
            self._say_empty([])
            return
        if self._desk.jobs.running("sessions"):
            self._again = True
            return
        if not self.loaded:
            self._desk.session_list.set_empty("Looking for sessions…", str(self.root))
        self._asked_at = monotonic()
        work = partial(list_sessions, self._desk.engine, self.sessions if self.loaded else None)
        self._desk.jobs.ask("sessions", work, self._took, self._not_listed)

    def _took(self, listed: Listed) -> None:
        first = not self.loaded
        self.took_s = monotonic() - self._asked_at
        self.loaded = True
        if first or listed.sessions != self.sessions:
            self._changed(listed)
        else:
            self._desk.living.sessions_changed()
        if first:
            self._desk.screen.sessions_known()
            # What the index knew is shown first; then the root is looked through, and the index follows it.
            self._again = self._again or not listed.whole
            self._desk.screen.set_timer(_FIRST_REST_S, self._go_on)
        else:
            self._go_on()

    def _go_on(self) -> None:
        if self._again and not self._desk.jobs.running("sessions"):
            self._again = False
            self.load()

    def _changed(self, listed: Listed) -> None:
        """Tell those whom it concerns. A log that only grew changes no family and no value of a filter word."""
        moved = listed.kin != self._kin
        self.sessions, self.by_id, self._twice, self._kin = listed.sessions, listed.by_id, listed.twice, listed.kin
        self.total = len(self.sessions)
        self.show()
        self._desk.finding.sessions_changed()
        self._desk.opening.sessions_changed()
        self._desk.generations.sessions_changed()
        self._desk.ailing.sessions_changed(listed.ailing)
        self._desk.living.sessions_changed()
        if moved:
            self._desk.kinship.sessions_changed()
        self._desk.telling.where()
        self._desk.telling.status()

    def _not_listed(self, error: Exception) -> None:
        self.loaded = True
        self._desk.session_list.set_empty(
            "The root cannot be listed.", printable_line(str(error)), "Press R to try again."
        )
        self._desk.session_list.refresh()

    def rescan(self) -> None:
        """Look through the root again, and read what changed."""
        if self.root is None:
            self._desk.say("There is no root to look through.", bad=True)
            return
        self._desk.say(f"Looking through {self.root} again.")
        self.load()
        self._desk.living.reindex()

    # Showing -----------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Arrange the sessions that the filter words leave, in a worker, and show them unless hits are shown."""
        if self._desk.finding.has_phrase:
            return
        wanted = self._desk.finding.resolved.sessions(self.sessions)
        work = partial(self._arrange, wanted, self.sort, self.grouping)
        self._desk.jobs.ask("arrange", work, self._arranged)

    @staticmethod
    def _arrange(
        wanted: list[SessionSummary], sort: Sort, grouping: Grouping, cancel: CancelToken
    ) -> tuple[list[SessionSummary], list[ListRow]]:
        cancel.raise_if_set()
        return wanted, arrange(wanted, sort, grouping)

    def _arranged(self, result: tuple[list[SessionSummary], list[ListRow]]) -> None:
        wanted, rows = result
        if self._desk.finding.has_phrase:
            return
        self._say_empty(wanted)
        opened = self._desk.opening.session
        if self._come_back is None and opened is not None and self._desk.session_list.showing_hits:
            self._come_back = opened.path
        self._desk.session_list.show_sessions(rows)
        self._desk.screen.show_keys()
        self._shown = len(wanted)
        self.title()
        if self._come_back is not None:
            row = self._desk.session_list.row_of(self._come_back)
            self._come_back = None
            if row is not None:
                self._desk.session_list.go(row, centre=True, tell=False)
                self._desk.session_list.touched = True  # it was chosen: a list that is read again leaves it there
                return
        if not self._desk.session_list.touched:
            if opened is not None and not self._desk.session_list.has_focus:
                self._desk.session_list.go_session(opened.id)
            else:
                self.moved()

    def come_back(self) -> None:
        """The sessions take the place of the hits again: the cursor is to stand on the session of the hit."""
        selected = self._desk.session_list.session_at(self._desk.session_list.cursor) or self._desk.opening.session
        self._come_back = None if selected is None else selected.path

    def title(self) -> None:
        """The title of the pane."""
        if self._desk.finding.has_phrase:
            return
        shown = f"  {numbers.exact(self._shown)} of {numbers.exact(self.total)}"
        counted = shown if self._shown != self.total else ""
        self._desk.panes.title("sessions", f"1 Sessions  {self.sort.value} · {self.grouping.value}{counted}")

    def _say_empty(self, wanted: Sequence[SessionSummary]) -> None:
        empty = self._desk.session_list.set_empty
        root = printable_line(str(self.root)) if self.root is not None else ""
        if self.root is None:
            empty(
                "No root of session logs was found.",
                "Looked for $DSH_HOME/sessions and ~/.dsh/sessions.",
                'Start with palimpsest --root FOLDER, or put root = "FOLDER" into the settings file.',
                "To look around first: palimpsest demo",
            )
        elif not self.sessions:
            empty(
                "There are no sessions in this root.",
                root,
                "Logs lie in PROJECT/SESSION/session.jsonl.zstd below it. New ones show up here by themselves.",
                "To look around first: palimpsest demo",
            )
        elif not wanted:
            empty("The filter words leave no session.", "Press / then ctrl+l to clear them.")
        self._desk.screen.notice_root(self._root_problem())

    def _root_problem(self) -> str:
        """What is the matter with a root of which nothing can be opened; empty when something can."""
        states = {session.state for session in self.sessions}
        if not self.sessions or states - {SessionState.UNREADABLE, SessionState.NEWER}:
            return ""
        if states == {SessionState.NEWER}:
            return "Every log here was written by a newer harness than this app knows. They open in a best-effort way."
        if states == {SessionState.UNREADABLE}:
            return "None of the logs here can be read; each row says why."
        return "The logs here are either unreadable or written by a newer harness; each row says which."

    def next_sort(self) -> None:
        """Sort by the next thing."""
        self.sort = Sort(_next_of(self.sort, list(Sort)))
        self._desk.state.sort = self.sort.value
        self.show()
        self._desk.say(f"Sorted by {self.sort.value}.")

    def next_grouping(self) -> None:
        """Flat, by project, as a tree."""
        self.grouping = Grouping(_next_of(self.grouping, list(Grouping)))
        self._desk.state.grouping = self.grouping.value
        self.show()
        self._desk.say(f"Sessions: {self.grouping.value}.")

    # The cursor --------------------------------------------------------------------------------------------------

    def moved(self) -> None:
        """The cursor came to another session: show it beside the list, once the cursor rests."""
        self._desk.panes.session_moved(_PREVIEW_S, self._preview)

    def _preview(self) -> None:
        if (
            self._desk.finding.awaited
            or self._desk.panes.narrow
            or self._desk.panes.level != "sessions"
            or not self._desk.session_list.has_focus
        ):
            return
        self._go(focus=False)

    def choose(self) -> None:
        """Go into the session under the cursor, at the matching event when it is a hit."""
        if not self._desk.going.choose():
            self._go(focus=True)

    def _go(self, *, focus: bool) -> None:
        row = self._desk.session_list.cursor
        hit = self._desk.session_list.hit_at(row)
        if hit is not None:
            self._desk.opening.open(hit.header.id, hit.best_match.seq, focus=focus, remember=focus)
            self._desk.finding.tell_carriers(hit)
            return
        session = self._desk.session_list.session_at(row)
        if session is not None:
            path = session.path if session.id in self._twice else None
            self._desk.opening.open(session.id, None, path=path, focus=focus, remember=focus)

    def session_of(self, session_id: str, path: str | None) -> SessionSummary | None:
        """What the list knows of a session; of two under one id the one at `path`."""
        if path is not None and session_id in self._twice:
            found = next((session for session in self.sessions if session.path == path), None)
            if found is not None:
                return found
        return self.by_id.get(session_id)

    def selected(self) -> SessionSummary | None:
        """The session that a command is about: the one under the cursor of the list, else the open one."""
        if self._desk.session_list.has_focus:
            session = self._desk.session_list.session_at(self._desk.session_list.cursor)
            if session is not None:
                return session
        return self._desk.opening.session

    def describe(self) -> str:
        """A fact of the first-run notice: sessions of which generations, how many cannot be read."""
        by_generation: dict[int, int] = {}
        bad = 0
        for session in self.sessions:
            if session.state is SessionState.UNREADABLE:
                bad += 1
            elif session.generation is not None:
                by_generation[session.generation] = by_generation.get(session.generation, 0) + 1
        kinds = ", ".join(f"v{number}: {count}" for number, count in sorted(by_generation.items()))
        told = f"{told_logs(self.sessions)}; {f'in formats {kinds}' if kinds else 'none readable'}"
        return told + (f"; {bad} unreadable" if bad else "")


def told_logs(sessions: Sequence[SessionSummary]) -> str:
    """`36 sessions in 37 logs`: a session may have a log in each of several formats."""
    told = numbers.plural(len(sessions), "session")
    logs = sum(len(session.generations or (0,)) for session in sessions)
    return told if logs == len(sessions) else f"{told} in {numbers.plural(logs, 'log')}"
