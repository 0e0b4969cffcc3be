"""What the bars say: where you are, how far the index is, the event under the cursor, what was just done."""

from __future__ import annotations

from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.timer import Timer

from palimpsest_core import SURFACE_OF, FindingCode, Flag, printable_line
from palimpsest_core.model.health import AILMENT_OF, CODE_WORDS, Ailment
from palimpsest_tui.flows.resting import Rest
from palimpsest_tui.reading.lines import Piece
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import BADGE, BADGE_STYLE, STATE_WORD
from palimpsest_tui.widgets.session_list import title_of
from palimpsest_tui.widgets.session_rows import project_name
from palimpsest_tui.widgets.status_bar import Bar

if TYPE_CHECKING:
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.reading.lines import Line

_SAID_S = 5.0
_BAD = frozenset({Ailment.UNREADABLE, Ailment.DAMAGED})
_FOLLOW_S = 0.1
_ROOMY = 100
"""Below this width the time of the event is worth more than a word beside a key."""


class _Times(Enum):
    """How a time is written, as long as there is room: in full, with the day alone, without it; or not at all."""

    FULL = "2026-11-28 12:01:07"
    DAY = "Nov28 12:01:07"
    CLOCK = "12:01:07"
    NONE = ""


_SHAPES = (
    *((form, True) for form in (_Times.FULL, _Times.DAY, _Times.CLOCK)),
    *((form, False) for form in (_Times.CLOCK, _Times.NONE)),
)
"""How the status line is told, the first that fits: the time, and whether keys come with words."""


def _when(time_ms: int, form: _Times) -> str:
    full = numbers.full_time(time_ms)
    if form is _Times.FULL:
        return full
    clock = full.rpartition(" ")[2]
    return clock if form is _Times.CLOCK else f"{numbers.day(time_ms)} {clock}"


class Telling:
    """Fills the path bar and the status line."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._said: Piece | None = None
        self._timer: Timer | None = None
        self._rest = Rest(desk.screen)
        self._told_at = 0.0
        self.index_text = ""

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show a sentence in place of the event's facts, for five seconds or until the next key."""
        self._said = Piece(text, "bar--bad" if bad else "bar--good")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._desk.screen.set_timer(_SAID_S, self.unsay)
        self.status()

    def unsay(self) -> None:
        """The person goes on, or has had the time to read: show the event's facts again."""
        if self._said is not None:
            self._said = None
            self.status()

    def where(self) -> None:
        """The path bar: root, project, title; index and follow on the right."""
        desk = self._desk
        root = desk.listing.root
        pieces: Line = [Piece(printable_line(root.name or str(root)) if root is not None else "no root", "bar--dim")]
        session = desk.opening.session
        if session is not None:
            for part in (project_name(session), title_of(session)):
                if part:
                    pieces += [Piece(" › ", "bar--dim"), Piece(printable_line(part), "bar--strong")]
            if session.state in STATE_WORD and session.state != "complete":
                style = "bar--chip" if session.state == "newer" else "badge--error"
                pieces.append(Piece(f"  {STATE_WORD[session.state]}", style))
        right: Line = []
        if self.index_text:
            right.append(Piece(self.index_text, "bar--dim"))
        count = desk.listing.total
        if count and desk.screen.size.width >= 90:
            right.append(Piece(numbers.plural(count, "session"), "bar--dim"))
        if desk.exporting.progress_text:
            right.append(Piece(desk.exporting.progress_text, "bar--strong"))
        following = desk.living.following
        right.append(Piece("follow on" if following else "follow off", "bar--strong" if following else "bar--dim"))
        right = [piece for part in right for piece in (Piece(" · ", "bar--dim"), part)][1:]
        desk.screen.query_one("#path-bar", Bar).set(pieces, right)

    def moved(self) -> None:
        """The cursor came to another event. While it goes on moving the line follows a few times a second only: what is
        painted in one go is painted with all that lies between on the screen."""
        left = self._told_at + _FOLLOW_S - monotonic()
        if left <= 0:
            self._follow()
        else:
            self._rest.begin(left, self._follow)

    def _follow(self) -> None:
        self._rest.stop()
        self._told_at = monotonic()
        self.status()
        self._desk.finding.facts()

    def status(self) -> None:
        """The status line: what stands under the cursor, or what was just said."""
        screen = self._desk.screen
        told: Line = []
        hints: Line = []
        for form, words in _SHAPES:
            told = [self._said] if self._said is not None else self._event(form)
            hints = self._hints(words=words)
            if sum(cell_len(piece.text) for piece in [*told, *hints]) + 4 <= screen.size.width:
                break
        else:
            if self._said is not None and cell_len(self._said.text) + 2 <= screen.size.width:
                hints = []  # they come back in five seconds, the sentence does not
        screen.query_one("#status-bar", Bar).set(told, hints)
        screen.show_keys()

    def _event(self, form: _Times) -> Line:
        if self._desk.session_list.has_focus and not self._desk.finding.has_phrase:
            session = self._desk.session_list.session_at(self._desk.session_list.cursor)
            if session is not None:
                return [Piece(part, style) for part, style in session_facts(session)]
        log, index = self._desk.timeline.log_shown, self._desk.timeline.event_index
        if log is None:
            return []
        if index is None or index >= len(log):
            loading = (
                "" if log.complete else f"reading {numbers.size(log.bytes_read)} of {numbers.size(log.bytes_total)}"
            )
            return [Piece(loading, "bar--dim")]
        row = log.row(index)
        place = self._desk.timeline.place()
        run = place.span.events if place is not None and not place.opened else 1
        upto = f"–{index + run}" if run > 1 else ""
        pieces: Line = [Piece(f"{index + 1}{upto}/{len(log)}  ", "bar--strong")]
        if row.flags & Flag.WITHHELD:
            pieces.append(Piece("W withheld", "badge--error"))
        else:
            pieces.append(Piece(f"{BADGE[row.surface]} {row.surface.value}", BADGE_STYLE[row.surface]))
        pieces.append(Piece(f"  {printable_line(row.type)}", "bar--strong"))
        if form is not _Times.NONE:
            pieces.append(Piece(f"  {_when(row.time, form)}", "bar--dim"))
        # Of a withheld row nobody can say that it belongs to the last turn that was read.
        turn = None if row.flags & Flag.WITHHELD else self._desk.walking.turn_number(index)
        if turn and form is not _Times.NONE:
            pieces.append(Piece(f"  turn {turn}", "bar--dim"))
        if not log.complete:
            pieces.append(Piece("  reading…", "bar--dim"))
        elif log.rows_withheld:
            pieces.append(Piece(f"  {numbers.plural(log.rows_withheld, 'row')} withheld", "badge--error"))
        return pieces

    def _hints(self, *, words: bool) -> Line:
        """The keys that lead somewhere from here; without `words` the keys alone."""
        pieces: Line = []

        def add(key: str, word: str) -> None:
            pieces.append(Piece(key, "bar--key"))
            pieces.append(Piece(f"{word}  " if words else " ", "bar--dim"))

        if self._desk.session_list.has_focus and self._desk.finding.has_phrase:
            add("esc", ": back to the sessions")
        log, index = self._desk.timeline.log_shown, self._desk.timeline.event_index
        if log is not None and index is not None and index < len(log):
            mark = log.table.surfaces[index]
            if log.table.flags[index] & Flag.REPLACES or SURFACE_OF[mark] == "shadowed":
                word = "replacement" if SURFACE_OF[mark] == "shadowed" else "replaced"
                add("% ", word)
            elif self._desk.beyond.twin(index) is not None:
                add("% ", "other writer")
        if self._desk.opening.history.can_go_back:
            add("< ", "back")
        if count := self._desk.ailing.count:
            pieces += [Piece(f"! {numbers.exact(count)} ", "badge--error"), Piece("H", "bar--key")]
            if self._desk.screen.size.width >= _ROOMY:
                pieces.append(Piece(" health", "bar--dim"))
        return pieces


def session_facts(session: SessionSummary) -> list[tuple[str, str]]:
    """What a line of the list has no room for, with styles: id, format, formats beside it, what is odd about it."""
    facts = [(printable_line(session.id), "bar--strong")]
    if session.generation is not None:
        facts.append((f"  v{session.generation}", "bar--dim"))
    beside = sorted(set(session.generations or ()) - {session.generation})
    if beside and session.generation is not None:
        facts.append((f", beside it {' '.join(f'v{generation}' for generation in beside)}", "bar--dim"))
    for code in dict.fromkeys(finding.code for finding in session.findings or ()):
        told = CODE_WORDS[code]
        if code is FindingCode.DANGLING_PARENT:
            told += f": {printable_line(session.parent or '')}"
        facts.append((f"  {told}", "badge--error" if AILMENT_OF.get(code) in _BAD else "bar--dim"))
    return facts
