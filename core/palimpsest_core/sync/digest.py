"""From the rows of one log to what the index keeps of it: documents, surfaces, title, counts, and where to go on.

A digest is fed row by row, is asked for changes whenever it suits the writer, and can be saved and restored, so that a
grown log costs its new bytes. Most rows are never built: text comes from the stored payload, the surface from the
envelope, and what an open turn lacks from the rows of the last turn, which are only kept until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from palimpsest_core.formats.events import stored_sources
from palimpsest_core.formats.reader import LogReader, ReadState, StoredRow
from palimpsest_core.formats.rows import NOTHING, Envelope, has_marks, payload
from palimpsest_core.log import repair
from palimpsest_core.log.fasttext import fast_reader
from palimpsest_core.log.lineage import CutFinder
from palimpsest_core.log.repair import RepairScan
from palimpsest_core.log.surface import FoldStep, SurfaceFold, append_codes, surface_types
from palimpsest_core.log.text import Registry, semantic_text
from palimpsest_core.log.titles import TitleFold
from palimpsest_core.model.event import UNSET, Event, Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Title
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.sync.looseplaces import LoosePlaces

LAST_SEQ = (1 << 24) - 1
"""The highest event number that the index can hold a document of."""

_MOST_TYPES = 1_000
_APPEND = b'"append"'
_TURN_BYTES_KEPT = 4 << 20
_PROMPTS = frozenset({"user/message", "steering/message"})
_BUILT = frozenset(
    {"session/title", "session/end-seed", "steering/message", "agent/inbox/spliced"}
    | {f"compact/{name}" for name in ("start", "summary", "end", "prune")}
)
"""Rows that are always built: rare, or with an old name that the reader translates."""

_LOG_ONLY = Surface.LOG_ONLY.value
_CURRENT = Surface.CURRENT.value


class _Source(msgspec.Struct):
    model: str = ""


class _Message(msgspec.Struct):
    source: _Source | None = None


class _Answer(msgspec.Struct):
    message: _Message | None = None


_document = partial(tuple.__new__, IndexDocument)
"""An `IndexDocument` of a tuple, in a third of the time."""

_answer = msgspec.json.Decoder(_Answer).decode


class _Way(NamedTuple):
    """How the rows of one event type are taken: built as events; passed by, being `empty`; or by their payload.

    `code`: what the fold calls it where its `append` needs no closer look, else -1.
    """

    built: bool
    empty: bool
    prompt: bool
    turn: bool
    surface: bool
    code: int
    read: Callable[[bytes | msgspec.Raw], str | None]


class _Ways(dict[str, _Way]):
    """How rows of each type are taken; found once for each."""

    def __init__(self, registry: Registry, generation: int) -> None:
        super().__init__()
        self._registry = registry
        self._surface_types = surface_types(generation)
        self._codes = append_codes(generation)

    def __missing__(self, kind: str) -> _Way:
        has_text, turn, surface = self._registry.has_text(kind), kind in repair.READS, kind in self._surface_types
        empty = not (has_text or turn or surface)
        reader = fast_reader(kind, self._registry)
        code = self._codes.get(kind, -1)
        way = _Way(kind in _BUILT, empty, kind in _PROMPTS, turn, surface, code, reader)
        if len(self) < _MOST_TYPES:
            self[kind] = way
        return way


@lru_cache(maxsize=16)
def _ways(registry: Registry, generation: int) -> _Ways:
    return _Ways(registry, generation)


class Changes(NamedTuple):
    """What to write, in this order: seqs whose document is gone or told anew, documents by ascending seq, and the seqs
    of events that are shadowed now."""

    dropped: list[int]
    documents: list[IndexDocument]
    shadowed: list[int]


class _Saved(msgspec.Struct):
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
        self._model = ""
        self._answer: bytes | msgspec.Raw = b""
        self._scan = RepairScan(header.version)
        self._turn: list[tuple[str, int, int, bytes | msgspec.Raw]] = []
        self._turn_bytes = 0
        self._ways = _ways(registry, header.version)
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
            if text is None or envelope is None or (loose is not None and not loose.push_raw(row, envelope)):
                self._run(run_seqs, run_codes)
                self._build(reader, row)
                continue
            if way.turn:
                self._note_turn(kind, seq, row.time, envelope.data, row.length)
            surface: str = _LOG_ONLY
            if way.surface:
                appends = bytes(envelope.surfaceOp) == _APPEND
                if appends and way.code >= 0 and envelope.sourceEventSeqs is NOTHING:
                    run_seqs.append(seq)
                    run_codes.append(way.code)
                    surface = _CURRENT
                else:
                    self._run(run_seqs, run_codes)
                    step = self._appended(row, envelope) if appends else self._marked(reader, row)
                    surface = step.surface
                    self._shadowed += step.replaced
            if not text:
                continue
            if seq > LAST_SEQ:
                self.beyond += 1
                continue
            fresh.append(_document((seq, kind, row.time, surface, text, row.offset, row.length)))
            chars += len(text)
        self.pending_chars += chars
        self._run(run_seqs, run_codes)
        self._let_go()

    def _run(self, seqs: list[int], codes: bytearray) -> None:
        """Tell the fold about a run of events that simply append."""
        if seqs:
            self.fold.append_run(seqs, codes)
            seqs.clear()
            codes.clear()

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
            self._settle_turn()
            self._scan.push(event)
            self.titles.push(event)
            self.cut.push(event)
            step = self.fold.push(event)
            self._shadowed += step.replaced
            if self._loose is not None:
                self._loose.push_event(event, row)
            if event.type == "assistant/message":
                self._answer = b""
                self._model = _model_of(event) or self._model
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

    # -- the open turn ---------------------------------------------------------------------------------------------

    def _note_turn(self, kind: str, seq: int, time: int, raw: msgspec.Raw, length: int) -> None:
        """Keep what tells which calls of the turn lack a result; the turn's end makes all before it superfluous."""
        if kind in ("turn/start", "turn/end"):
            self._turn.clear()
            self._turn_bytes = 0
        elif kind == "assistant/message":
            self._answer = raw
        self._turn.append((kind, seq, time, raw))
        self._turn_bytes += length
        if self._turn_bytes > _TURN_BYTES_KEPT:
            self._settle_turn()

    def _let_go(self) -> None:
        """Copy what was kept of rows whose text is about to go."""
        turn = self._turn
        for place in range(len(turn) - 1, -1, -1):
            kind, seq, time, raw = turn[place]
            if isinstance(raw, bytes):
                break
            turn[place] = (kind, seq, time, bytes(raw))
        self._answer = bytes(self._answer)

    def _settle_turn(self) -> None:
        for kind, seq, time, raw in self._turn:
            self._scan.push_data(kind, seq, time, payload(msgspec.Raw(raw)))
        self._turn.clear()
        self._turn_bytes = 0

    @property
    def open(self) -> bool:
        """Whether the log ends inside a turn. Ask after `closing`."""
        return self._scan.open

    def closing(self, next_seq: int, last_time: int) -> list[IndexDocument]:
        """The documents of the events that close an open turn in memory; they go when the log grows."""
        self._settle_turn()
        if next_seq:
            # Rows that the scan does not look into still count: closers come after the last of all.
            self._scan.push_data("", next_seq - 1, last_time, None)
        out = []
        for event in self._scan.closers():
            text = semantic_text(event, self.registry)
            if text and event.seq <= LAST_SEQ:
                surface = _CURRENT if event.surface_op == "append" else _LOG_ONLY
                out.append(IndexDocument(event.seq, event.type, event.time, surface, text))
        return out

    @property
    def model(self) -> str:
        """The model that gave the last answer; empty when none is named."""
        if self._answer:
            try:
                message = _answer(self._answer).message
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                message = None
            if message is not None and message.source is not None and message.source.model:
                self._model = message.source.model
            self._answer = b""
        return self._model

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
        self._settle_turn()
        try:
            return msgspec.msgpack.encode(
                _Saved(
                    self.header,
                    reading,
                    self.fold.save(),
                    self._scan.save(),
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
        digest._model = saved.model
        digest._scan = RepairScan.restore(saved.header.version, saved.scan)
        if digest._loose is not None:
            if saved.loose is None:
                raise ValueError("The saved state lacks the text between events; read the log again.")
            digest._loose = LoosePlaces.restore(saved.loose, registry)
        return digest, saved.reading


def _model_of(event: Event) -> str:
    message = event.data.get("message") if isinstance(event.data, dict) else None
    source = message.get("source") if isinstance(message, dict) else None
    model = source.get("model") if isinstance(source, dict) else None
    return model if isinstance(model, str) else ""
