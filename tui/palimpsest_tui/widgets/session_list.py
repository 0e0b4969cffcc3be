"""The list of sessions, and in its place the hits of a search."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style

from palimpsest_core import printable_line
from palimpsest_core.model.session import Lineage, SessionState
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import BADGE, BADGE_STYLE, STATE_STYLE, mark_of
from palimpsest_tui.widgets.cells import Matcher, around_match, clip, fit, fit_right, width_of
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.session_rows import project_name
from palimpsest_tui.widgets.timeline import highlighted

if TYPE_CHECKING:
    from palimpsest_core.model.search import SessionHit
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.widgets.session_rows import ListRow


class Found(NamedTuple):
    """One hit to show: the hit, what the list knows of its session, and who else carries the same event."""

    hit: SessionHit
    session: SessionSummary | None
    carried_by: int = 0


class SessionList(LineList):
    """Either all sessions, one line each, or the hits of a search, two lines each."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[ListRow] = ()
        self._found: Sequence[Found] | None = None
        self._places: dict[Hashable, int] = {}
        self._matcher = Matcher("")
        self.open_key: str | None = None
        self._now_ms = 0

    # What is shown -----------------------------------------------------------------------------------------------

    def show_sessions(self, rows: Sequence[ListRow], *, keep: bool = True) -> None:
        """Show sessions. The cursor stays on its session."""
        if self._found is not None or not self.touched:
            keep = False  # until a person moves, the cursor stays on the first row
        self._found = None
        self._rows = rows
        self._places = {self.row_key(row): row for row in range(len(rows))}
        self._changed(keep)

    def show_hits(self, found: Sequence[Found], matcher: Matcher, *, keep: bool) -> None:
        """Show the hits of a search in place of the sessions."""
        keep = keep and self._found is not None
        self._found = found
        self._matcher = matcher
        self._places = {self.row_key(row): row for row in range(len(found))}
        self._changed(keep)

    def _changed(self, keep: bool) -> None:
        self._now_ms = numbers.now_ms()
        self.rows_changed(keep=keep)
        if not keep and self.row_count() and self.session_at(0) is None and self._found is None:
            self.go(1, tell=False)

    @property
    def showing_hits(self) -> bool:
        """Whether the list shows the hits of a search."""
        return self._found is not None

    def session_at(self, row: int) -> SessionSummary | None:
        """The session of a row, None for a heading or a hit whose session the list does not know."""
        if not 0 <= row < self.row_count():
            return None
        return self._found[row].session if self._found is not None else self._rows[row].session

    def hit_at(self, row: int) -> SessionHit | None:
        """The hit of a row, while hits are shown."""
        return self._found[row].hit if self._found is not None and 0 <= row < len(self._found) else None

    def go_session(self, session_id: str, *, tell: bool = False) -> bool:
        """Put the cursor on a session."""
        for row in range(self.row_count()):
            session = self.session_at(row)
            if session is not None and session.id == session_id:
                self.go(row, tell=tell)
                return True
        return False

    def set_open(self, key: str | None) -> None:
        """Which session is open in the timeline: its row is drawn strong."""
        if key != self.open_key:
            self.open_key = key
            self.redraw()

    # Rows --------------------------------------------------------------------------------------------------------

    @property
    def row_lines(self) -> int:
        """A hit takes two lines."""
        return 1 if self._found is None else 2

    def row_count(self) -> int:
        """Sessions and headings, or hits."""
        return len(self._rows) if self._found is None else len(self._found)

    def row_key(self, row: int) -> Hashable:
        """A session by its path, a heading by its project."""
        if self._found is not None:
            return ("hit", self._found[row].hit.header.id)
        entry = self._rows[row]
        return entry.session.path if entry.session is not None else ("heading", entry.heading)

    def row_of(self, key: Hashable) -> int | None:
        """Where that session is now."""
        return self._places.get(key)

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """Title, project, age, events, size; what does not fit is left out from the right."""
        if self._found is not None:
            return self._draw_hit(self._found[row], width)
        entry = self._rows[row]
        if entry.session is None:
            counted = f" {entry.sessions}"
            heading = clip(printable_line(entry.heading), width - len(counted) - 1)
            return [
                [
                    Segment(" "),
                    Segment(heading, self.partial("session--heading")),
                    Segment(counted, self.partial("line--dim")),
                ]
            ]
        return [self._draw_session(entry.session, entry.rail, width)]

    def _draw_session(self, session: SessionSummary, rail: str, width: int) -> list[Segment]:
        dim = self.partial("line--dim")
        numbers_width = 14  # age (7) and events (7), each with a space before it
        mark = Segment(mark_of(session), self._state_style(session.state))
        width -= 1
        wide, wider = width >= 52, width >= 66
        title_room = width - numbers_width - (8 if wide else 0) - (16 if wider else 0)
        rail_text = clip(rail + kind_of(session), max(0, title_room - 8))
        title = fit(title_of(session), title_room - width_of(rail_text))
        style = self.partial("line--strong") if session.path == self.open_key else self._title_style(session)
        segments = [mark, Segment(rail_text, self.partial("session--rail")), Segment(title, style)]
        if wider:
            segments.append(Segment(" " + fit(printable_line(project_name(session)), 15), dim))
        when = numbers.age(session.last_time or session.created_at, self._now_ms)
        segments.append(Segment(fit_right(when, 7), dim))
        segments.append(Segment(fit_right(counted(session), 7), dim))
        if wide:
            segments.append(Segment(fit_right(numbers.size(session.size), 8), dim))
        return segments

    def _draw_hit(self, found: Found, width: int) -> list[list[Segment]]:
        dim = self.partial("line--dim")
        hit = found.hit.best_match
        session = found.session
        title = title_of(session) if session is not None else printable_line(found.hit.header.id)
        more = "" if found.hit.matches is None or found.hit.matches < 2 else f" +{numbers.count(found.hit.matches - 1)}"
        if found.carried_by:
            more = f" ={found.carried_by + 1}" + more
        when = fit_right(numbers.age(hit.time, self._now_ms), 7)
        style = self.partial("line--strong")
        mark = Segment(" ") if session is None else Segment(mark_of(session), self._state_style(session.state))
        first = [
            mark,
            Segment(fit(title, width - len(when) - 7), style),
            Segment(fit_right(more, 6), dim),
            Segment(when, dim),
        ]
        badge = BADGE[hit.surface]
        snippet = clip(around_match(printable_line(hit.snippet), self._matcher, width - 3), width - 3)
        second = [
            Segment(" " + badge + " ", self.partial(BADGE_STYLE[hit.surface])),
            *highlighted(snippet, self._matcher.spans(snippet), dim, self.partial("line--hit")),
        ]
        return [first, second]

    def _title_style(self, session: SessionSummary) -> Style:
        if session.state in (SessionState.UNREADABLE, SessionState.NEWER):
            return self.partial("line--dim")
        return Style.null()

    def _state_style(self, state: SessionState) -> Style:
        name = STATE_STYLE.get(state)
        return Style.null() if name is None else self.partial(name)


_KIND = {Lineage.FORK: "fork: ", Lineage.SUBAGENT_FRESH: "sub: ", Lineage.SUBAGENT_FORKED: "fsub: "}


def kind_of(session: SessionSummary) -> str:
    """How a session came to be, in front of its title: a fork, a fresh subagent, a subagent that took history over."""
    return _KIND.get(session.lineage, "") if session.lineage is not None else ""


def counted(session: SessionSummary) -> str:
    """How many events are a session's own; `+` where it inherited others, with their number if that fits too."""
    if not session.inherited or session.own is None:
        return numbers.count(session.events)
    both = f"{numbers.count(session.own)}+{numbers.count(session.inherited)}"
    return both if len(both) <= 6 else f"{numbers.count(session.own)}+"


def title_of(session: SessionSummary) -> str:
    """What to call a session on the screen: its title, else why it has none, else its id."""
    if session.title:
        return printable_line(session.title)
    if session.state is SessionState.UNREADABLE and session.reason:
        return printable_line(f"{session.id or session.path}: {session.reason}")
    return printable_line(session.id)


def summaries_by_id(sessions: Sequence[SessionSummary]) -> Mapping[str, SessionSummary]:
    """The first session of each id."""
    found: dict[str, SessionSummary] = {}
    for session in sessions:
        found.setdefault(session.id, session)
    return found
