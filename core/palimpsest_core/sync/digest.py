"""From the rows of one log to what the index keeps of it: documents, surfaces, title, counts, and where to go on.

A digest is fed row by row, is asked for changes whenever it suits the writer, and can be saved and restored, so that a
grown log costs its new bytes. Most rows are never built: text comes from the stored payload, the surface from the
envelope, and what an open turn lacks from the rows of the last turn, which are only kept until it ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import count
from typing import NamedTuple

import msgspec

from palimpsest_core.formats.events import stored_sources
from palimpsest_core.formats.reader import LogReader, ReadState, StoredRow
from palimpsest_core.formats.rows import NOTHING, Envelope, has_marks
from palimpsest_core.formats.usual import UsualRows
from palimpsest_core.log.lineage import CutFinder
from palimpsest_core.log.surface import FoldStep, SurfaceFold
from palimpsest_core.log.text import Registry, semantic_text
from palimpsest_core.log.titles import TitleFold
from palimpsest_core.model.event import UNSET, Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Title
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.sync.looseplaces import LoosePlaces
from palimpsest_core.sync.openturn import TURN_EDGES, OpenTurn
from palimpsest_core.sync.ways import ways

LAST_SEQ = (1 << 24) - 1
"""The highest event number that the index can hold a document of."""

_APPEND = msgspec.Raw(b'"append"')
_LOG_ONLY = Surface.LOG_ONLY.value
_CURRENT = Surface.CURRENT.value


_document = partial(tuple.__new__, IndexDocument)
"""An `IndexDocument` of a tuple, in a third of the time."""


class Changes(NamedTuple):
    """What to write, in this order: seqs whose document is gone or told anew, documents by ascending seq, and the seqs
    of events that are shadowed now."""

    dropped: list[int]
    documents: list[IndexDocument]
    shadowed: list[int]


class _Saved(msgspec.Struct, array_like=True):
    """Written by place, without names, which took half of it: a new field belongs at the end."""

    header: Header
    reading: ReadState
    fold: bytes
    scan: bytes
    title: Title | None
    first_prompt: str | None
    model: str
    marker: int | None
    times: tuple[int | float, int | float] | None
    loose: bytes | None
    withheld: tuple[int, int, int] | None = None


class LogDigest:
    """The digest of one log. Feed it every row of a reader, in order; withheld ones are passed over."""

    def __init__(self, header: Header, registry: Registry) -> None:
        self.header = header
        self.registry = registry
        self.fold = SurfaceFold(header.version)
        self.titles = TitleFold()
        self.cut = CutFinder(header)
        self.times: tuple[int | float, int | float] | None = None
        self.pending_chars = 0
        self.beyond = 0
        self.next_seq = 0
        self.withheld: tuple[int, int, int] | None = None
        """What `WithheldRows.saved` has of the rows that are no events; kept for it."""
        self._turn = OpenTurn(header.version)
        self._ways = ways(registry, header.version)
        self._loose = LoosePlaces(registry) if registry.loose is not None else None
        self._fresh: list[IndexDocument] = []
        self._shadowed: list[int] = []

    # -- feeding ---------------------------------------------------------------------------------------------------

    def push(self, reader: LogReader, row: StoredRow) -> None:
        """Take the next row of `reader`."""
        self.push_all(reader, (row,))

    def push_all(self, reader: LogReader, rows: Iterable[StoredRow]) -> None:
        """Take the next rows of `reader`. Long for speed: this is where a bulk build spends its time."""
        ways, loose, fresh = self._ways, self._loose, self._fresh
        run_seqs: list[int] = []
        run_codes = bytearray()
        chars = 0
        for row in rows:
            if row.withheld:
                continue
            kind, seq, envelope = row.type, row.seq, row.envelope
            self.next_seq = seq + row.count
            if row.packed is not None:
                if loose is not None:
                    loose.push_packed(reader, row)
                continue
            way = ways[kind]
            if not way.surface and has_marks(row):
                self._run(run_seqs, run_codes)
                self._build(reader, row)  # such a type must have no marks: the fold is to say so
                continue
            if way.empty and not way.built and envelope is not None and not row.fault and envelope.data is not NOTHING:
                if loose is not None and not loose.push_row(row):
                    self._run(run_seqs, run_codes)
                    self._build(reader, row)
                continue
            text: str | None = None
            if not (
                way.built
                or envelope is None
                or row.fault
                or envelope.data is NOTHING
                or (way.prompt and self.titles.first_prompt is None)
            ):
                text = way.read(envelope.data)
            if text is None or envelope is None or (loose is not None and not loose.push_raw(kind, seq, envelope)):
                self._run(run_seqs, run_codes)
                self._build(reader, row)
                continue
            if way.turn:
                self._turn.note(kind, seq, row.time, envelope.data, row.length)
            surface: str = _LOG_ONLY
            if way.surface:
                if envelope.surfaceOp == _APPEND and way.code >= 0 and envelope.sourceEventSeqs is NOTHING:
                    run_seqs.append(seq)
                    run_codes.append(way.code)
                    surface = _CURRENT
                else:
                    self._run(run_seqs, run_codes)
                    surface = self._looked_at(reader, row, envelope)
            if not text:
                continue
            if seq > LAST_SEQ:
                self.beyond += 1
                continue
            fresh.append(_document((seq, kind, row.time, surface, text, row.offset, row.length)))
            chars += len(text)
        self.pending_chars += chars
        self._run(run_seqs, run_codes)
        self._turn.let_go()

    def push_usual(self, reader: LogReader, rows: UsualRows) -> None:
        """As `push_all`, for rows by columns: what needs no row of its own is done without."""
        ways, loose, fresh, kinds = self._ways, self._loose, self._fresh, rows.kinds
        run_seqs: list[int] = []
        run_codes = bytearray()
        # Packed rows of an attempt that the next answer will make superfluous, as it nearly always does.
        held: list[int] = []
        idle = loose is None or loose.idle
        no_prompt = self.titles.first_prompt is None
        edge = len(kinds) - 1
        while edge >= 0 and kinds[edge] not in TURN_EDGES:
            edge -= 1
        columns = zip(count(), kinds, rows.seqs, rows.times, rows.offsets, rows.envelopes)
        for index, kind, seq, time, offset, envelope in columns:
            way = ways[kind]
            if way.packed:
                if loose is not None:
                    if idle:
                        held.append(index)
                    else:
                        loose.push_packed(reader, rows.row(index))
                continue
            text: str | None = ""
            if way.surface:
                text = None if way.prompt and no_prompt else way.read(envelope.data)
            elif (
                way.built
                or envelope.surfaceOp is not NOTHING
                or envelope.sourceEventSeqs is not NOTHING
                or (way.prompt and no_prompt)
            ):
                text = None  # where such a type must have no marks, the fold is to say so
            elif way.text:
                text = way.read(envelope.data)
            if loose is not None and way.stream and text is not None and (held or not idle or way.stream != "boundary"):
                if held and way.stream != "prompt":
                    first, last = rows.seqs[held[0]], rows.seqs[held[-1] + 1] - 1
                    if way.stream == "message" and loose.settles(envelope, seq, first, last):
                        held.clear()
                    else:
                        self._let_out(held, reader, rows)
                if way.stream == "chunk":
                    text = text if loose.push_row(rows.row(index)) else None
                elif way.stream == "prompt" or not loose.idle:
                    text = text if loose.push_raw(kind, seq, envelope) else None
                idle = loose.idle
            if text is None:
                self._let_out(held, reader, rows)
                self._run(run_seqs, run_codes)
                self._build(reader, rows.row(index))
                idle = loose is None or loose.idle
                no_prompt = self.titles.first_prompt is None
                continue
            if way.turn:
                if index >= edge:
                    self._turn.note(kind, seq, time, envelope.data, rows.offsets[index + 1] - offset)
                elif way.stream == "message":
                    self._turn.answer = envelope.data
            surface: str = _LOG_ONLY
            if way.surface:
                if envelope.surfaceOp == _APPEND and way.code >= 0 and envelope.sourceEventSeqs is NOTHING:
                    run_seqs.append(seq)
                    run_codes.append(way.code)
                    surface = _CURRENT
                else:
                    self._run(run_seqs, run_codes)
                    surface = self._looked_at(reader, rows.row(index), envelope)
            if text:
                if seq > LAST_SEQ:
                    self.beyond += 1
                    continue
                fresh.append(_document((seq, kind, time, surface, text, offset, rows.offsets[index + 1] - offset)))
                self.pending_chars += len(text)
        self._let_out(held, reader, rows)
        self.next_seq = rows.seqs[-1]
        self._run(run_seqs, run_codes)
        self._turn.let_go()

    def _let_out(self, held: list[int], reader: LogReader, rows: UsualRows) -> None:
        """Tell of packed rows after all, the only place of whose text they may be."""
        if self._loose is not None:
            for index in held:
                self._loose.push_packed(reader, rows.row(index))
        held.clear()

    def _run(self, seqs: list[int], codes: bytearray) -> None:
        """Tell the fold about a run of events that simply append."""
        if seqs:
            self.fold.append_run(seqs, codes)
            seqs.clear()
            codes.clear()

    def _looked_at(self, reader: LogReader, row: StoredRow, envelope: Envelope) -> str:
        """The surface of an event that does more than append; what it replaces is noted."""
        step = self._appended(row, envelope) if envelope.surfaceOp == _APPEND else self._marked(reader, row)
        self._shadowed += step.replaced
        return step.surface

    def _appended(self, row: StoredRow, envelope: Envelope) -> FoldStep:
        """The step of an event that appends and cites others, or whose type asks for a closer look."""
        cited = envelope.sourceEventSeqs
        sources = UNSET if cited is NOTHING else stored_sources(cited, row.seq)
        return self.fold.push_op(row.type, row.seq, "append", sources)

    def _marked(self, reader: LogReader, row: StoredRow) -> FoldStep:
        """The step of the rare event that does not simply append."""
        for event in reader.expand(row):
            return self.fold.push(event)
        return FoldStep(Surface.LOG_ONLY)

    def _build(self, reader: LogReader, row: StoredRow) -> None:
        for event in reader.expand(row):
            self._turn.push(event)
            self.titles.push(event)
            self.cut.push(event)
            step = self.fold.push(event)
            self._shadowed += step.replaced
            if self._loose is not None:
                self._loose.push_event(event, row)
            text = semantic_text(event, self.registry)
            if text:
                surface = step.surface.value
                self._add(IndexDocument(event.seq, event.type, event.time, surface, text, row.offset, row.length))

    def _add(self, document: IndexDocument) -> None:
        if document.seq > LAST_SEQ:
            self.beyond += 1
            return
        self._fresh.append(document)
        self.pending_chars += len(document.text)

    # -- the end -----------------------------------------------------------------------------------------------------

    @property
    def open(self) -> bool:
        """Whether the log ends inside a turn. Ask after `closing`."""
        return self._turn.open

    @property
    def model(self) -> str:
        """The model that gave the last answer; empty when none is named."""
        return self._turn.model

    def closing(self, next_seq: int, last_time: int) -> list[IndexDocument]:
        """The documents of the events that close an open turn in memory; they go when the log grows."""
        out = []
        for event in self._turn.closers(next_seq, last_time):
            text = semantic_text(event, self.registry)
            if text and event.seq <= LAST_SEQ:
                surface = _CURRENT if event.surface_op == "append" else _LOG_ONLY
                out.append(IndexDocument(event.seq, event.type, event.time, surface, text))
        return out

    # -- giving ----------------------------------------------------------------------------------------------------

    def take(self) -> Changes:
        """What changed since the last call."""
        dropped: list[int] = []
        documents, self._fresh = self._fresh, []
        if self._loose is not None:
            dropped, loose = self._loose.take()
            for document in loose:
                self._add(document)
            if self._fresh:
                documents = sorted([*documents, *self._fresh])
                self._fresh = []
        if documents:
            first, last = self.times or (documents[0].time, documents[0].time)
            times = [document.time for document in documents]
            self.times = (min(first, *times), max(last, *times))
        shadowed, self._shadowed = self._shadowed, []
        self.pending_chars = 0
        return Changes(dropped, documents, shadowed)

    def save(self, reading: ReadState) -> bytes | None:
        """The state after `take`, to go on from `reading`; None when it cannot be kept (the log must be read again).

        That is so when `reading` stands before what was pushed (inside a large frame), and for text that is no Unicode
        or a number beyond 64 bits.
        """
        if reading.next_seq != self.next_seq:
            return None
        try:
            return msgspec.msgpack.encode(
                _Saved(
                    self.header,
                    reading,
                    self.fold.save(),
                    self._turn.save(),
                    self.titles.title,
                    self.titles.first_prompt,
                    self.model,
                    self.cut.marker,
                    self.times,
                    None if self._loose is None else self._loose.save(),
                    self.withheld,
                )
            )
        except (UnicodeEncodeError, OverflowError):
            return None  # a lone surrogate, or a number beyond 64 bits, somewhere in what is foreign

    @classmethod
    def restore(cls, state: bytes, registry: Registry) -> tuple[LogDigest, ReadState]:
        """What `save` wrote down. Raises ValueError when the bytes are no such state."""
        try:
            saved = msgspec.msgpack.decode(state, type=_Saved)
        except msgspec.DecodeError as error:
            raise ValueError("The saved state cannot be read; read the log again.") from error
        digest = cls(saved.header, registry)
        digest.fold = SurfaceFold.restore(saved.fold)
        digest.titles = TitleFold(saved.title, saved.first_prompt)
        digest.cut.marker = saved.marker
        digest.times = saved.times
        digest.next_seq = saved.reading.next_seq
        digest.withheld = saved.withheld
        digest._turn = OpenTurn.restore(saved.header.version, saved.scan, saved.model)
        if digest._loose is not None:
            if saved.loose is None:
                raise ValueError("The saved state lacks the text between events; read the log again.")
            digest._loose = LoosePlaces.restore(saved.loose, registry)
        return digest, saved.reading
