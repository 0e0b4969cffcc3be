"""Stored rows into columns, the surface fold carried along: the loader behind `OpenLog`.

The tail of a growing log may be torn: its rows are provisional and are told anew by a later read. They are pushed like
any others, after a note of how to take them back (`roll_back`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from copy import copy
from itertools import accumulate, repeat
from typing import Any, Final

from palimpsest_core.formats.events import stored_sources
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.formats.rows import NOTHING, StoredRow, has_marks
from palimpsest_core.log.calls import CallPairs
from palimpsest_core.log.lineage import CutFinder
from palimpsest_core.log.surface import FoldStep, SurfaceFold, surface_types
from palimpsest_core.log.titles import TitleFold
from palimpsest_core.model.event import UNSET, Event
from palimpsest_core.model.header import Header
from palimpsest_core.query.peek import LOOKED_AT, call_id, row_flags
from palimpsest_core.query.table import SURFACE_OF, Columns, EventTable, Flag, Mark

_CHUNK_TYPE: Final = "assistant/chunk"
_MARK_OF: Final = {surface: mark for mark, surface in enumerate(SURFACE_OF)}
_APPEND: Final = b'"append"'
# Plain numbers: the loop below meets every row of a log, and enum arithmetic would double its time.
_WITHHELD: Final = int(Flag.WITHHELD)
_REPLACES: Final = int(Flag.REPLACES)
_PROMPT: Final = int(Flag.PROMPT)
_ERROR: Final = int(Flag.ERROR)
_PAIRED: Final = frozenset({"tool/call", "tool/result", "turn/start", "turn/end"})


class Citations:
    """Which rows cite which span of seqs, as three numbers a row: who cites an event is found without reading all."""

    def __init__(self) -> None:
        self.citing = array("q")
        self.lowest = array("q")
        self.highest = array("q")

    def add(self, seq: int, sources: Any) -> None:
        """Note what event `seq` cites; anything but a list of numbers is left out, and what is no earlier event."""
        if type(sources) is list and sources and all(type(item) is int for item in sources):
            lowest: int = max(min(sources), 0)  # ty: ignore[invalid-argument-type]
            highest: int = min(max(sources), seq - 1)  # ty: ignore[invalid-argument-type]
            if lowest <= highest:
                self.citing.append(seq)
                self.lowest.append(lowest)
                self.highest.append(highest)

    def truncate(self, count: int) -> None:
        """Forget all but the first `count`."""
        for column in (self.citing, self.lowest, self.highest):
            del column[count:]

    def candidates(self, seq: int) -> list[int]:
        """The events that may cite `seq`, ascending."""
        return [citing for citing, low, high in zip(self.citing, self.lowest, self.highest) if low <= seq <= high]


class _Checkpoint:
    """How things stood before the first provisional row; `marks` are surfaces that provisional rows changed."""

    def __init__(self, loader: Loader, line: int) -> None:
        self.line = line
        self.rows = len(loader.table)
        self.fold = loader.fold.save()
        self.cut_finder = copy(loader.cut_finder)
        self.title = (loader.titles.title, loader.titles.first_prompt)
        self.citations = len(loader.citations.citing)
        self.calls = (loader.calls.copy(), loader.turn_edge)
        self.marks: list[tuple[int, int]] = []


class Loader:
    """Fills a table from the batches of one reader. One thread; those who read the table need no lock."""

    def __init__(self, header: Header, table: EventTable) -> None:
        self.table = table
        self.fold = SurfaceFold(header.version)
        self.titles = TitleFold()
        self.cut_finder = CutFinder(header)
        self.citations = Citations()
        self.accepted = 0
        """How many events of the file are shown; the index of each is its seq."""
        self.changed: set[int] = set()
        """Indices whose surface changed since somebody took the set."""
        self.calls = CallPairs()
        self.turn_edge = -1
        """The last event that starts or ends a turn: calls before it get no result any more."""
        self._unanswered: set[int] = set()
        self._cited: Any = UNSET
        self._checkpoint: _Checkpoint | None = None
        self._next_line = 0
        self._surface_types = surface_types(header.version)

    def push(self, rows: list[StoredRow], reader: LogReader) -> None:
        """Take one batch. Rows that were taken before an interrupted reading come again and are passed over."""
        if rows and rows[0].line < self._next_line:
            rows = [row for row in rows if row.line >= self._next_line]
        if not rows:
            return
        self._next_line = rows[-1].line + 1
        if self._checkpoint is None:
            stable = next((place for place, row in enumerate(rows) if row.provisional), len(rows))
            self._append(rows[:stable], reader)
            if stable == len(rows):
                return
            rows = rows[stable:]
            self._checkpoint = _Checkpoint(self, rows[0].line)
        self._append(rows, reader)

    @property
    def cut_missing(self) -> bool:
        """Whether header and log disagree about how much was inherited, as far as the log was read."""
        finder = copy(self.cut_finder)
        if self.accepted:
            finder.push_data("", self.accepted - 1, None)
        return finder.missing

    def roll_back(self) -> bool:
        """Take back the provisional rows, if there are any: the next batch tells them anew. Whether there were."""
        then = self._checkpoint
        if then is None:
            return False
        self._checkpoint = None
        self._next_line = then.line
        self.fold = SurfaceFold.restore(then.fold)
        self.titles = TitleFold(*then.title)
        self.cut_finder = then.cut_finder
        self.citations.truncate(then.citations)
        self.calls, self.turn_edge = then.calls
        for index, mark in reversed(then.marks):
            self.table.surfaces[index] = mark
            self.changed.add(index)
        self.table.truncate(then.rows)
        self.accepted = min(self.accepted, then.rows)
        return True

    def settle_calls(self) -> None:
        """Mark the calls that will get no result as failed, and take that back where one came after all."""
        lost = {seq for seq in self.calls.unanswered if seq < self.turn_edge}
        for index in lost ^ self._unanswered:
            if index < len(self.table):
                self.table.flags[index] ^= _ERROR
                self.changed.add(index)
        self._unanswered = lost

    def _append(self, rows: list[StoredRow], reader: LogReader) -> None:
        columns = Columns([], [], [], [], [], [], [], [])
        for row in rows:
            if row.packed is not None and not row.withheld:
                self._add_packed(row, columns)
            else:
                self._add_single(row, reader, columns)
        self.table.append(columns)

    def _add_packed(self, row: StoredRow, columns: Columns) -> None:
        count = row.count
        assert row.packed is not None
        columns.offsets.extend(repeat(row.offset, count))
        columns.lengths.extend(repeat(row.length, count))
        columns.members.extend(range(count))
        columns.type_ids.extend(repeat(self.table.intern_type(_CHUNK_TYPE), count))
        columns.seqs.extend(range(row.seq, row.seq + count))
        columns.times.extend(accumulate(row.packed.dt, initial=row.time))
        columns.surfaces.extend(repeat(0, count))
        columns.flags.extend(repeat(int(Flag.CHUNK), count))
        self.accepted += count

    def _add_single(self, row: StoredRow, reader: LogReader, columns: Columns) -> None:
        kind = row.type
        mark = flags = 0
        if row.withheld:
            flags = _WITHHELD
        else:
            self.accepted += 1
            if kind in LOOKED_AT:
                flags = row_flags(row)
            if kind in self._surface_types:
                step = self._fold(row, reader)
                mark = _MARK_OF[step.surface]
                if step.replaced:
                    flags |= _REPLACES
                    self._shadow(step.replaced, columns)
                if step.problem is not None:
                    flags |= _ERROR
            elif has_marks(row) and self.fold.push_op(kind, row.seq, None).problem is not None:
                flags |= _ERROR
            if kind == "session/title" or (flags & _PROMPT and self.titles.first_prompt is None):
                self.titles.push(*reader.expand(row))
            elif kind == "session/end-seed":
                self.cut_finder.push(*reader.expand(row))
            elif kind in _PAIRED:
                self._pair(row)
        columns.offsets.append(row.offset)
        columns.lengths.append(row.length)
        columns.members.append(0)
        columns.type_ids.append(self.table.intern_type(kind))
        columns.seqs.append(row.seq)
        columns.times.append(row.time)
        columns.surfaces.append(mark)
        columns.flags.append(flags)

    def _pair(self, row: StoredRow) -> None:
        if row.type == "tool/call":
            self.calls.call(row.seq, call_id(row))
        elif row.type != "tool/result":
            self.turn_edge = row.seq
        elif self.calls.unanswered and self.calls.cited(self._cited) is None:
            self.calls.named(call_id(row))

    def _fold(self, row: StoredRow, reader: LogReader) -> FoldStep:
        envelope = row.envelope
        if envelope is not None and bytes(envelope.surfaceOp) == _APPEND:
            # The payload of an append stays unread.
            cited = envelope.sourceEventSeqs
            sources = UNSET if cited is NOTHING else stored_sources(cited, row.seq)
            self._cited = sources
            self.citations.add(row.seq, sources)
            return self.fold.push_op(row.type, row.seq, "append", sources)
        (event,) = reader.expand(row)
        self._cited = event.source_event_seqs
        self.citations.add(event.seq, event.source_event_seqs)
        return self.fold.push(event)

    def _shadow(self, seqs: Iterable[int], columns: Columns) -> None:
        base = len(self.table)
        for seq in seqs:
            if seq >= base:
                columns.surfaces[seq - base] = Mark.SHADOWED
                continue
            if self._checkpoint is not None:
                self._checkpoint.marks.append((seq, self.table.surfaces[seq]))
            self.table.surfaces[seq] = Mark.SHADOWED
            self.changed.add(seq)


def closer_columns(table: EventTable, closers: list[Event]) -> Columns:
    """The rows of synthetic closers, which have no place in the file: `members` tells which closer it is."""
    count = len(closers)
    return Columns(
        [0] * count,
        [0] * count,
        list(range(count)),
        [table.intern_type(event.type) for event in closers],
        [event.seq for event in closers],
        [event.time for event in closers],
        [Mark.CURRENT if event.surface_op == "append" else Mark.LOG_ONLY for event in closers],
        [Flag.SYNTHETIC | (Flag.ERROR if event.type == "tool/result" else 0) for event in closers],
    )
