"""The timeline: one line for each event of the open log, or for each folded run of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from palimpsest_core import BOUNDARY, Flag, Gist, gist, printable_line
from palimpsest_core import SURFACE_OF as SURFACES
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import BADGE, BADGE_STYLE, WITHHELD
from palimpsest_tui.widgets.cells import Matcher, clip, fit, fit_right, width_of
from palimpsest_tui.widgets.lanes import lane_cell, raw_gist, refused_text
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.timeline_rows import Singles
from palimpsest_tui.widgets.timeline_views import View

if TYPE_CHECKING:
    from palimpsest_core import OpenLog, SecondLook
    from palimpsest_tui.widgets.timeline_rows import Place, TimelineRows

PAINT_BUDGET_S = 0.008
"""Time in one paint for reading events; the rest is fetched by a worker and drawn when it comes."""
_SLOW_READ_S = 0.03
_LABEL_WIDTH = 7
_TOLD = 6
"""Events of a folded run of boundaries that its row names."""


class Timeline(LineList):
    """The rows of one log. Reads what it draws from the log, a few milliseconds a paint, the rest in a worker."""

    class GistsWanted(Message):
        """These events are on the screen and not read yet."""

        def __init__(self, timeline: Timeline, log: OpenLog, events: list[int]) -> None:
            super().__init__()
            self.timeline = timeline
            self.log = log
            self.events = events

        @property
        def control(self) -> Timeline:
            """The timeline."""
            return self.timeline

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.log_shown: OpenLog | None = None
        self.rows: TimelineRows | None = None
        self.view = View.ALL
        self._gists: LRUCache[int, Gist] = LRUCache(8192)
        self._missing: list[int] = []
        self._deadline = 0.0
        self._slow = False
        self._marks: Collection[int] = ()
        self._hits: Collection[int] = ()
        self._matcher = Matcher("")
        self._look: SecondLook | None = None

    # What is shown -----------------------------------------------------------------------------------------------

    def show(self, log: OpenLog | None, rows: TimelineRows | None, view: View, *, keep: bool) -> None:
        """Show the rows of a log; `keep` leaves the cursor on its event."""
        if log is not self.log_shown:
            self._gists.clear()
            self._slow = False
        wanted = self.event_index if keep else None
        self.log_shown, self.rows, self.view = log, rows, view
        self.rows_changed(keep=False if wanted is None else keep)
        if wanted is not None and rows is not None and self.event_index != wanted:
            self.go(rows.row_near(wanted), tell=False)

    def set_second_look(self, look: SecondLook | None) -> None:
        """What stands behind the readable part of the log that is shown."""
        if look is not self._look:
            self._look = look
            self.redraw()

    def forget(self, events: Collection[int]) -> None:
        """Some events changed: read and draw them anew."""
        for event in events:
            self._gists.discard(event)

    def mark(self, marks: Collection[int], hits: Collection[int], matcher: Matcher) -> None:
        """The marked events, the events that match the search, and what marks the match in a row."""
        if marks != self._marks or hits != self._hits or matcher is not self._matcher:
            self._marks, self._hits, self._matcher = marks, hits, matcher
            self.redraw()

    @property
    def event_index(self) -> int | None:
        """The index of the event under the cursor (the first one of a folded run)."""
        return None if self.rows is None or not len(self.rows) else self.rows.place(self.cursor).span.start

    def place(self) -> Place | None:
        """What the cursor stands on."""
        return None if self.rows is None or not len(self.rows) else self.rows.place(self.cursor)

    def go_event(self, event: int, *, tell: bool = True) -> bool:
        """Put the cursor on an event, opening the inherited prefix for it. False where the view hides it."""
        if self.rows is None or not len(self.rows):
            return False
        if self.rows.hides_in_prefix(event) and event:
            self.rows.open_prefix()
            self.rows_changed()
        row = self.rows.row_of(event)
        if row is None:
            return False
        if self.rows.place(row).span.start != event and not self.rows.is_prefix(row):
            self._unfold(row)
            found = self.rows.row_of(event)
            row = row if found is None else found
        self.go(row, centre=True, tell=tell)
        return True

    def unfold(self) -> bool:
        """Open the row under the cursor: a run, the inherited prefix, what a replacement replaced."""
        return bool(self.row_count()) and self._unfold(self.cursor)

    def _unfold(self, row: int) -> bool:
        log, rows = self.log_shown, self.rows
        if log is None or rows is None:
            return False
        place = rows.place(row)
        if place.opened:
            return False
        if rows.is_prefix(row):
            rows.open_prefix()
        elif place.span.events > 1:
            rows.open(row, Singles(range(place.span.start, place.span.start + place.span.events)))
        elif replaced := self.replaced_indexes(place.span.start):
            rows.open(row, Singles(replaced))
        else:
            return False
        self.rows_changed()
        return True

    def fold(self) -> bool:
        """Close the fold that the cursor is on or in."""
        if self.rows is None or not len(self.rows):
            return False
        stays = self.rows.close(self.cursor)
        if stays is None:
            return False
        self._cursor_key = None
        self._cursor = stays
        self.rows_changed(tell=True)
        return True

    def replaced_indexes(self, event: int) -> Sequence[int]:
        """The events that an event replaced, ascending."""
        log = self.log_shown
        if log is None or not log.table.flags[event] & Flag.REPLACES:
            return ()
        places = (log.index_of_seq(seq) for seq in log.replaces(log.table.seqs[event]))
        return sorted(place for place in places if place is not None)

    def put_gists(self, log: OpenLog, gists: dict[int, Gist]) -> None:
        """Take what a worker read."""
        if log is self.log_shown:
            for event, found in gists.items():
                self._gists[event] = found
            self.refresh()

    # Rows --------------------------------------------------------------------------------------------------------

    def row_count(self) -> int:
        """Rows with everything that is open."""
        return 0 if self.rows is None else len(self.rows)

    def row_key(self, row: int) -> Hashable:
        """The first event of the row and the fold it stands in."""
        assert self.rows is not None
        place = self.rows.place(row)
        return (place.span.start, place.owner)

    def row_of(self, key: Hashable) -> int | None:
        """The row of an event in its fold, else wherever it stands now."""
        if self.rows is None or not isinstance(key, tuple):
            return None
        event, owner = key
        found = self.rows.row_of(event, owner)
        return self.rows.row_of(event) if found is None else found

    def rail_cell(self, row: int) -> Segment:
        """The rail: a line at boundaries, a star at marks, a tilde at made-up closers, a bar inside a fold."""
        assert self.rows is not None
        assert self.log_shown is not None
        place = self.rows.place(row)
        event = place.span.start
        if event in self._marks:
            return Segment("*", self.partial("line--strong"))
        if self.rows.is_prefix(row) or self.log_shown.table.flags[event] & BOUNDARY or event == self.log_shown.cut:
            return Segment("─", self.partial("timeline--boundary"))
        if self._look is not None and event == self._look.refused:
            return Segment("─", self.partial("timeline--boundary"))
        if self.log_shown.table.flags[event] & Flag.SYNTHETIC:
            return Segment("~", self.partial("line--dim"))
        return Segment("│" if place.depth else " ", self.partial("line--dim"))

    def may_cache(self, row: int) -> bool:
        """A row whose text is still being fetched is drawn again."""
        if self.rows is None or self.rows.is_prefix(row):
            return True
        start, count = self.rows.place(row).span
        told = 1 if count == 1 else min(count, self._told_of(start))
        return all(event in self._gists for event in range(start, start + told))

    @property
    def all_read(self) -> bool:
        """Whether every row on the screen has its text."""
        return all(map(self.may_cache, self.visible_rows()))

    def _told_of(self, event: int) -> int:
        """How many events of a folded run its row tells of: pieces look alike, boundaries do not, resumes count."""
        assert self.log_shown is not None
        flags = self.log_shown.table.flags[event]
        return 1 if flags & Flag.CHUNK else 0 if flags & Flag.RESUME else _TOLD

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint within the budget; what did not fit is asked for."""
        self._missing = []
        self._deadline = monotonic() + PAINT_BUDGET_S
        lines = super().render_lines(crop)
        if self._missing and self.log_shown is not None:
            self.post_message(self.GistsWanted(self, self.log_shown, self._missing))
        return lines

    def draw_row(self, row: int, width: int) -> list[list[Segment]]:
        """Seq, time, badge, kind, one line of text."""
        rows, log = self.rows, self.log_shown
        assert rows is not None
        assert log is not None
        place = rows.place(row)
        event = place.span.start
        if rows.is_prefix(row):
            return [self._draw_prefix(place, width)]
        table = log.table
        flags = table.flags[event]
        dim = self.partial("line--dim")
        seq_width = len(str(max(len(table) - 1, 0)))
        seq = table.seqs[event]
        segments = [Segment(fit_right("-" if seq < 0 else str(seq), seq_width) + " ", dim)]
        if width >= 50:
            segments.append(Segment(self._when(row, table.times[event]) + " ", dim))
        surface = SURFACES[table.surfaces[event]]
        if flags & Flag.WITHHELD:
            badge, style = WITHHELD, self.partial("badge--withheld")
        else:
            badge, style = BADGE[surface], self.partial(BADGE_STYLE[surface])
        segments.append(Segment(badge + " ", style))
        if self._look is not None and (lane := lane_cell(self._look, event)):
            segments.append(Segment(lane, style))
        room = width - sum(len(segment.text) for segment in segments)
        if place.span.events > 1:
            segments += self._draw_fold(place, room)
        else:
            segments += self._draw_event(place, flags, style, room)
        return [segments]

    def _draw_event(self, place: Place, flags: int, style: Style, room: int) -> list[Segment]:
        event = place.span.start
        found = self._gist(event)
        if found is None:
            return [Segment("…", self.partial("line--dim"))]
        if self._look is not None and event == self._look.refused:
            found = refused_text(self._look, found)
        label_style = self.partial("badge--error") if flags & Flag.ERROR else style
        label = fit(found.label, _LABEL_WIDTH) + " "
        tail = ""
        if flags & Flag.REPLACES:
            tail = "  [%]" if not place.opened else "  [-]"
        elif flags & Flag.ERROR and self.log_shown is not None and self.log_shown.lacks_result(event):
            tail = "  no result"
        text = clip(found.text, room - len(label) - len(tail))
        spans = self._matcher.spans(text) if event in self._hits else []
        text_style = style if flags & Flag.SYNTHETIC else self._text_style(event)
        segments = [Segment(label, label_style), *highlighted(text, spans, text_style, self.partial("line--hit"))]
        if tail:
            segments.append(Segment(tail, self.partial("timeline--boundary")))
        return segments

    def _draw_fold(self, place: Place, room: int) -> list[Segment]:
        assert self.log_shown is not None
        start, count = place.span
        sign = "-" if place.opened else "+"
        fold = self.partial("timeline--fold")
        if self.log_shown.table.flags[start] & Flag.CHUNK:
            found = self._gist(start)
            label, text = "chunks", f"{numbers.exact(count)} pieces" + (f"  {found.text}" if found else "")
        elif self.log_shown.table.flags[start] & Flag.RESUME:
            label, text = "resume", f"{count} times"
        else:
            parts = [self._gist(event) for event in range(start, start + min(count, _TOLD))]
            text = " · ".join(part.text for part in parts if part is not None)
            label = parts[0].label if parts[0] is not None else ""
        head = f"{fit(label, _LABEL_WIDTH)} [{sign}] "
        return [Segment(head, fold), Segment(clip(text, room - len(head)), self.partial("line--dim"))]

    def _draw_prefix(self, place: Place, width: int) -> list[Segment]:
        assert self.log_shown is not None
        header = self.log_shown.header
        parent = printable_line(header.parent_session) if header and header.parent_session else "its parent"
        sign = "-" if place.opened else "+"
        text = f"[{sign}] {numbers.plural(place.span.events, 'event')} inherited from {parent}"
        return [Segment(clip(text, width), self.partial("timeline--boundary"))]

    def _text_style(self, event: int) -> Style:
        assert self.log_shown is not None
        surface = SURFACES[self.log_shown.table.surfaces[event]]
        return self.partial(BADGE_STYLE[surface]) if surface != "current" else Style.null()

    def _when(self, row: int, time_ms: int) -> str:
        """The time of day, or the day on the first row of another day."""
        assert self.rows is not None
        assert self.log_shown is not None
        if row:
            before = self.log_shown.table.times[self.rows.place(row - 1).span.start]
            if numbers.day(before) != numbers.day(time_ms):
                return numbers.day(time_ms)
        return numbers.clock_time(time_ms)

    def _gist(self, event: int) -> Gist | None:
        found = self._gists.get(event)
        if found is None:
            now = monotonic()
            if self._slow or now > self._deadline:
                self._missing.append(event)
                return None
            assert self.log_shown is not None
            found = read_gist(self.log_shown, event)
            self._gists[event] = found
            if monotonic() - now > _SLOW_READ_S:
                self._slow = True  # one huge frame: from here on only a worker reads this log
        return found


def read_gist(log: OpenLog, event: int) -> Gist:
    """The one-line text of an event of a log, or why it cannot be read now (the file changed or went away)."""
    try:
        withheld = log.table.flags[event] & Flag.WITHHELD
        found = raw_gist(log.event(event)) if withheld else gist(log.event(event))
    except (OSError, ValueError, IndexError) as error:
        return Gist("gone", printable_line(f"cannot be read now: {error}"))
    return found if width_of(found.label) <= _LABEL_WIDTH else Gist(clip(found.label, _LABEL_WIDTH), found.text)


def highlighted(text: str, spans: Sequence[tuple[int, int]], plain: Style, hit: Style) -> list[Segment]:
    """`text` as segments, the spans in the style of a match."""
    segments: list[Segment] = []
    at = 0
    for start, end in spans:
        if start > at:
            segments.append(Segment(text[at:start], plain))
        segments.append(Segment(text[start:end], hit))
        at = end
    if at < len(text) or not segments:
        segments.append(Segment(text[at:], plain))
    return segments
