"""One log as the app shows it: opened at once, loaded batch by batch, grown by its new bytes only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.jsjson import BadJson, loads
from palimpsest_core.formats.reader import LogChanged, LogReader
from palimpsest_core.formats.rows import StoredRow
from palimpsest_core.log.lineage import lineage_of
from palimpsest_core.log.repair import READS, RepairScan
from palimpsest_core.log.surface import SurfaceFold
from palimpsest_core.log.text import FULL
from palimpsest_core.log.turns import Turn, TurnIndex
from palimpsest_core.log.withheld import withheld_text
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event, EventRecord
from palimpsest_core.model.finding import Finding
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import WITHHELD_FROM
from palimpsest_core.model.session import Lineage, Title
from palimpsest_core.query.findings import meaning_findings, work_goes_on
from palimpsest_core.query.loading import Loader, closer_columns
from palimpsest_core.query.reads import replacement_chain, sources_of
from palimpsest_core.query.table import BOUNDARY, EventTable, Flag, Mark, Row
from palimpsest_core.storage.layout import LogFile

OnRows = Callable[[int], None]
"""Called in the loading thread with the number of rows there are now."""

_TURN_TYPES = ("turn/start", "turn/end", "step/start", "step/end", "user/message")


class Growth(msgspec.Struct, frozen=True):
    """What `OpenLog.grow` found.

    Rows from `first_new` on are new, `count` of them (synthetic closers included, which were dropped before).
    `changed` are indices below `first_new` whose surface is another now. `replaced_file`: the name holds another log,
    or this one was rewritten: open it anew. `truncated`: it is shorter than what was read: the same. `gone`: the file
    was removed; what is shown stays.
    """

    first_new: int
    count: int = 0
    changed: list[int] = []
    replaced_file: bool = False
    truncated: bool = False
    gone: bool = False


class OpenLog:
    """A log, its rows as columns and its events on demand.

    `table` grows while `load` or `grow` runs in a worker; everything else may be called from any thread meanwhile. An
    index is a place in the table. A seq is an event number; the two are equal for every row that is neither withheld
    nor synthetic. Withheld rows follow the readable ones, the synthetic closers of an open turn come last.
    """

    def __init__(self, file: LogFile, reader: LogReader) -> None:
        self.file = file
        self.header: Header | None = reader.header.header if reader.header is not None else None
        self.session_id = self.header.id if self.header is not None else file.folder
        self.generation = self.header.version if self.header is not None else file.generation
        self.table = EventTable()
        self.complete = False
        """Whether the whole file has been read."""
        self.open_turn = False
        """Whether the log ends inside a turn: the session is at work, or it was interrupted."""
        self._reader = reader
        self._lock = threading.RLock()
        # Without a header no row is shown as an event, so this stands for it without telling anything.
        nobody = Header(version=self.generation, id=self.session_id, created_at=0)
        self._loader = Loader(self.header or nobody, self.table)
        self._closers: list[Event] = []
        self._first_closer = 0
        self._scan: RepairScan | None = None
        self._scan_from = -1
        self._scanned_to = 0
        self._last_packed: tuple[int, list[Event]] = (-1, [])

    @classmethod
    def start(cls, file: LogFile, *, config: Config | None = None) -> OpenLog:
        """Open a log; only its header is read. Raises OSError where the file system does."""
        return cls(file, LogReader(file, config=config or Config()))

    def close(self) -> None:
        """Close the file; what is in the table stays, events can no longer be read."""
        with self._lock:
            self._reader.close()

    # Reading on ---------------------------------------------------------------------------------------------------

    def load(self, cancel: CancelToken | None = None, on_rows: OnRows | None = None) -> None:
        """Read the file to its end, in a worker. Raises `ABORTED` when cancelled; call it again to go on."""
        self._read_on(self._loader, cancel, on_rows)
        self.complete = True

    def grow(self, cancel: CancelToken | None = None, on_rows: OnRows | None = None) -> Growth:
        """Take in what was appended since; only the new bytes are read. In a worker, after `load` has finished."""
        size = len(self.table)
        try:
            with self._lock:
                before = self.file.stat
                self.file = self._reader.refresh()
        except LogChanged as change:
            return Growth(size, replaced_file=change.how == "replaced", truncated=change.how == "truncated")
        except FileNotFoundError:
            return Growth(size, gone=True)
        if self.complete and before == self.file.stat:
            return Growth(size)
        self._loader.changed.clear()
        first_new = self._read_on(self._loader, cancel, on_rows)
        self.complete = True
        changed = sorted(index for index in self._loader.changed if index < first_new)
        return Growth(first_new, len(self.table) - first_new, changed)

    def _read_on(self, loader: Loader, cancel: CancelToken | None, on_rows: OnRows | None) -> int:
        """Take back what is provisional, read the rest; the index of the first row that is new."""
        if self._closers:
            self._closers = []
            self.table.truncate(self._first_closer)
        if loader.roll_back():
            self._scan = None
        self._last_packed = (-1, [])
        first_new = len(self.table)
        for rows in self._batches(cancel):
            loader.push(rows, self._reader)
            if on_rows is not None:
                on_rows(len(self.table))
        self._add_closers(loader)
        if on_rows is not None:
            on_rows(len(self.table))
        return first_new

    def _batches(self, cancel: CancelToken | None) -> Iterator[list[StoredRow]]:
        batches = self._reader.batches(cancel)
        while True:
            # The reader serves one thread at a time; between batches others may ask it for events.
            with self._lock:
                rows = next(batches, None)
            if rows is None:
                return
            yield rows

    def _add_closers(self, loader: Loader) -> None:
        """Append the closers of an open turn; only the events since its start matter, so only they are read.

        None where the turn goes on behind damage: what ended it stands there.
        """
        loader.settle_calls()
        start = self._last_turn_start(loader)
        self.open_turn = False
        self._first_closer = len(self.table)
        if start is None or work_goes_on(self._reader.findings):
            return
        if self._scan is None or self._scan_from != start:
            self._scan, self._scan_from, self._scanned_to = RepairScan(self.generation), start, start
        scan = self._scan
        for index in range(self._scanned_to, loader.accepted):
            kind = self.table.type_of(index)
            if kind in READS:
                scan.push(self.event(index))
            else:
                scan.push_data(kind, self.table.seqs[index], self.table.times[index], None)
        self._scanned_to = loader.accepted
        self.open_turn = scan.open
        self._closers = scan.closers()
        self.table.append(closer_columns(self.table, self._closers))

    def _last_turn_start(self, loader: Loader) -> int | None:
        """The last turn start, unless that turn is closed and nothing of it needs to be read."""
        start = self.table.find_flag(Flag.TURN, loader.accepted - 1, -1) if loader.accepted else None
        if start is None or len(self.table.select(types=("turn/end",), start=start, stop=loader.accepted)):
            return None
        return start

    # What is known of the log ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.table)

    @property
    def fold(self) -> SurfaceFold:
        """The surface of the rows so far, closers not counted."""
        return self._loader.fold

    @property
    def title(self) -> Title | None:
        """The title in force."""
        return self._loader.titles.title

    @property
    def first_prompt(self) -> str | None:
        """The start of the first human prompt, for a log without title."""
        return self._loader.titles.first_prompt

    @property
    def cut(self) -> int | None:
        """How many leading events a fork took over; None when nothing is inherited or it cannot be known (yet)."""
        return self._loader.cut_finder.cut

    @property
    def lineage(self) -> Lineage | None:
        """How the session came to be, as far as its header tells."""
        return lineage_of(self.header) if self.header is not None else None

    @property
    def findings(self) -> list[Finding]:
        """Everything noted so far: damage, oddities, an unreliable surface, an open turn."""
        with self._lock:
            found = list(self._reader.findings)
        if self.header is not None and self.complete:
            missing = self._loader.cut_missing
            found += meaning_findings(self.file.path, self.fold, found, cut_missing=missing, open_turn=self.open_turn)
        return found

    @property
    def rows_shown(self) -> int:
        """Lines of the file that are shown as events; with `rows_withheld` all lines after the header."""
        return self._reader.rows_read - self._reader.rows_withheld

    @property
    def rows_withheld(self) -> int:
        """Lines of the file that are shown as withheld."""
        return self._reader.rows_withheld

    @property
    def bytes_total(self) -> int:
        """Size of the stored file in bytes."""
        return self.file.stat.size

    @property
    def bytes_read(self) -> int:
        """How many stored bytes are behind the rows so far."""
        return self.bytes_total if self.complete else self._reader.state.byte_offset

    # One row --------------------------------------------------------------------------------------------------------

    def row(self, index: int) -> Row:
        """A timeline line: nothing is decoded. Raises IndexError outside the table."""
        return self.table.row(index)

    def record(self, index: int) -> EventRecord:
        """The event record of a row."""
        row = self.table.row(index)
        return EventRecord(session_id=self.session_id, seq=row.seq, type=row.type, time=row.time, surface=row.surface)

    def event(self, index: int) -> Event:
        """The event of a row, decoded now. A withheld row gives what it claims, `data` what could be read of it."""
        row = self.table.row(index)
        if row.flags & Flag.SYNTHETIC:
            closers, member = self._closers, self.table.members[index]
            return closers[member] if member < len(closers) else _passed(row)
        if row.flags & Flag.WITHHELD:
            return self._withheld_event(row)
        offset, member = self.table.offsets[index], self.table.members[index]
        known_offset, events = self._last_packed
        if offset != known_offset:
            with self._lock:
                events = self._reader.events_at(offset, self.table.lengths[index], row.seq - member)
            if len(events) > 1:
                self._last_packed = (offset, events)
        if member >= len(events):
            return _passed(row)
        event = events[member]
        # A row without usable time takes the one before it, which a row read by itself cannot know.
        return event if event.time == row.time else msgspec.structs.replace(event, time=row.time)

    def _withheld_event(self, row: Row) -> Event:
        line = self.raw(row.index)
        data: Any
        try:
            value = loads(line)
            data = value.get("data") if isinstance(value, dict) and isinstance(value.get("type"), str) else value
        except BadJson:
            data = line.decode("utf-8", "replace")
        return Event(row.type, row.seq, row.time, data)

    def raw(self, index: int) -> bytes:
        """The stored line of a row, byte for byte, without its line feed; empty for a synthetic one."""
        if self.table.row(index).flags & Flag.SYNTHETIC:
            return b""
        with self._lock:
            line = self._reader.line_at(self.table.offsets[index], self.table.lengths[index])
        return line[:-1] if line.endswith(b"\n") else line

    # Links ----------------------------------------------------------------------------------------------------------

    def lacks_result(self, index: int) -> bool:
        """Whether the event is a call that never got a result (known once the log is read)."""
        return bool(self.table.flags[index] & Flag.ERROR) and self.table.type_of(index) == "tool/call"

    def index_of_seq(self, seq: int) -> int | None:
        """Where event `seq` stands, or None. Withheld rows are only meant by the numbers that hits in them have."""
        accepted = self._loader.accepted
        if 0 <= seq < accepted:
            return seq
        if seq >= WITHHELD_FROM > accepted:
            place = seq - WITHHELD_FROM - self._first_withheld_line
            return accepted + place if 0 <= place < self.rows_withheld else None
        closer = seq - accepted
        return self._first_closer + closer if 0 <= closer < len(self._closers) else None

    def number_at(self, index: int) -> int:
        """The number by which `index_of_seq` finds a row again: its seq, or what a hit in a withheld row has."""
        if self.table.flags[index] & Flag.WITHHELD:
            return WITHHELD_FROM + self._first_withheld_line + index - self._loader.accepted
        return self.table.seqs[index]

    @property
    def _first_withheld_line(self) -> int:
        """Everything behind the first withheld row is withheld too."""
        return self._reader.rows_read + 2 - self.rows_withheld

    def withheld_text(self, index: int) -> str:
        """By what a withheld row is found when somebody searches; "" when by nothing."""
        return withheld_text(self.raw(index), FULL)

    def replaced_by(self, seq: int) -> int | None:
        """The event that took the place of `seq` on the surface."""
        return self.fold.replaced_by.get(seq)

    def replaces(self, seq: int) -> list[int]:
        """The events whose place `seq` took, in model order."""
        return list(self.fold.replaced_seqs.get(seq, ()))

    def replacement_chain(self, seq: int) -> list[int]:
        """The replacer of `seq`, its replacer, and so on to the last."""
        return replacement_chain(self.fold, seq)

    def sources(self, seq: int) -> list[int]:
        """The events that `seq` cites."""
        index = self.index_of_seq(seq)
        return [] if index is None else sources_of(self.event(index))

    def cited_by(self, seq: int, cancel: CancelToken | None = None) -> list[int]:
        """The later events that cite `seq`, in log order."""
        found = []
        for citing in self._loader.citations.candidates(seq):
            check(cancel)
            if citing > seq and seq in sources_of(self.event(citing)):
                found.append(citing)
        return found + [closer.seq for closer in self._closers if seq in sources_of(closer)]

    def boundaries(self) -> list[int]:
        """Indices at which the timeline shows a boundary: replacements, resumes, and the first own event of a fork."""
        found = set(self.table.select(flags=BOUNDARY))
        if self.cut is not None and 0 < self.cut < len(self.table):
            found.add(self.cut)
        return sorted(found)

    def turns(self, cancel: CancelToken | None = None) -> list[Turn]:
        """The turns and steps of the log; about 20 us for each of their events, so in a worker."""
        index = TurnIndex()
        for place in self.table.select(types=_TURN_TYPES, without=Flag.WITHHELD):
            check(cancel)
            row = self.table.row(place)
            if row.type == "user/message":
                index.push_data(row.type, row.seq, row.time, None, prompt=bool(row.flags & Flag.PROMPT))
            else:
                index.push(self.event(place))
        return index.turns

    def surface_at(self, index: int) -> list[int]:
        """The seqs of the surface in model order as it was right after the row `index`."""
        replaced = self.fold.replaced_seqs
        surface: list[int] = []
        marks = self.table.surfaces[: min(index + 1, len(self.table))]
        for place, mark in enumerate(marks):
            if mark == Mark.LOG_ONLY:
                continue
            seq = self.table.seqs[place]
            gone = replaced.get(seq)
            if not gone:
                surface.append(seq)
                continue
            first = surface.index(gone[0])
            surface[first : first + len(gone)] = [seq]
        return surface

    @contextmanager
    def closing(self) -> Iterator[OpenLog]:
        """The log for the length of a `with` block, closed at its end."""
        try:
            yield self
        finally:
            self.close()


def _passed(row: Row) -> Event:
    """A row that a reader still holds while the tail of the table is being rewritten: its payload is gone already."""
    return Event(row.type, row.seq, row.time, None, synthetic=bool(row.flags & Flag.SYNTHETIC))
