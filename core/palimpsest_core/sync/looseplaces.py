"""Loose text (see `log.loose`) with the places where it is shown, fed with stored rows."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from palimpsest_core.formats.events import stored_sources
from palimpsest_core.formats.reader import LogReader, StoredRow
from palimpsest_core.formats.rows import NOTHING, Envelope
from palimpsest_core.log.loose import READS, LooseText
from palimpsest_core.log.text import Registry
from palimpsest_core.model.event import UNSET, Event, Surface
from palimpsest_core.search.documents import IndexDocument

_LOG_ONLY = Surface.LOG_ONLY.value
_CHUNK = "assistant/chunk"
BOUNDARIES = READS.intersection(("llm/retry", "llm/retry-started", "step/start", "step/end", "turn/start", "turn/end"))
"""The event types that may end an attempt or a step."""


class _Id(msgspec.Struct):
    id: str | None = None


_id_of = msgspec.json.Decoder(_Id).decode


class _Place(NamedTuple):
    """The event that loose text is shown at."""

    type: str
    time: int
    start: int
    length: int


class _Saved(msgspec.Struct):
    loose: bytes
    places: list[tuple[int, _Place]]
    shown: list[int]


class LoosePlaces:
    """Wraps `LooseText`: knows type, time and stored row of the events that its documents are put at."""

    def __init__(self, registry: Registry) -> None:
        self._text = LooseText(registry)
        self._places: dict[int, _Place] = {}
        self._shown: set[int] = set()
        self._open: set[int] = set()
        self._streaming = False
        self._begins = True

    def push_packed(self, reader: LogReader, row: StoredRow) -> None:
        """Take a packed row."""
        if row.envelope is None or row.envelope.data is NOTHING:
            for event in reader.expand(row):
                self.push_event(event, row)
            return
        self._begin(row, b"")
        self._text.push_raw(row.type, row.seq, row.count, bytes(row.envelope.data))

    def push_row(self, row: StoredRow) -> bool:
        """Take a row that has no text of its own; False when it has to be built."""
        if row.type == _CHUNK and row.envelope is not None:
            raw = bytes(row.envelope.data)
            self._begin(row, raw)
            return self._text.push_raw(_CHUNK, row.seq, 1, raw)
        self.boundary(row.type)
        return True

    def push_raw(self, kind: str, seq: int, envelope: Envelope) -> bool:
        """Take a row with text of its own by its payload; False when it has to be built."""
        if kind == "user/message":
            try:
                self._text.claim(_id_of(envelope.data).id)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return False
        elif kind == "assistant/message":
            if self._streaming:
                sources = envelope.sourceEventSeqs
                self._text.settle(UNSET if sources is NOTHING else stored_sources(sources, seq))
                self._begins = True
                if self._text.idle:
                    self._streaming = False
                    self._open.clear()
        else:
            self.boundary(kind)
        return True

    def settles(self, envelope: Envelope, seq: int, first: int, last: int) -> bool:
        """Whether the answer `seq` settles the only attempt, which is the chunk events `first` to `last`.

        They need not be pushed then. To be asked while `idle`.
        """
        if envelope.sourceEventSeqs is not NOTHING:
            sources = stored_sources(envelope.sourceEventSeqs, seq)
            if isinstance(sources, list) and not any(
                isinstance(item, int) and first <= item <= last for item in sources
            ):
                return False
        self._open.clear()
        return True

    @property
    def idle(self) -> bool:
        """Whether no attempt is open, so that a boundary or a message says nothing about text between events."""
        return not self._streaming

    def boundary(self, kind: str) -> None:
        """Take a row of a type that may end an attempt or a step."""
        if kind in BOUNDARIES and self._streaming:
            self._text.boundary(kind)
            self._ended(kind)

    def push_event(self, event: Event, row: StoredRow) -> None:
        """Take a built event."""
        if event.type == _CHUNK:
            self._streaming = True
        if event.type in (_CHUNK, "agent/inbox/spliced"):
            self._places[event.seq] = _Place(event.type, event.time, row.offset, row.length)
            self._open.add(event.seq)
        self._text.push(event)
        if event.type in BOUNDARIES:
            self._ended(event.type)

    def _begin(self, row: StoredRow, raw: bytes) -> None:
        """Note the place of a chunk row that may be the first of an attempt."""
        self._streaming = True
        if self._begins or b"block-start" in raw:
            self._places[row.seq] = _Place(_CHUNK, row.time, row.offset, row.length)
            self._open.add(row.seq)
        self._begins = b"finish" in raw

    def _ended(self, kind: str) -> None:
        self._begins = True
        if not kind.startswith("llm/"):
            self._streaming = False
            self._open.clear()

    def take(self) -> tuple[list[int], list[IndexDocument]]:
        """Seqs whose document is gone or told anew, and the new documents, since the last call."""
        dropped: list[int] = []
        documents = []
        for seq, text in self._text.take_changes().items():
            if seq in self._shown:
                dropped.append(seq)
                self._shown.discard(seq)
            if text:
                place = self._places.get(seq, _Place(_CHUNK, 0, -1, 0))
                documents.append(IndexDocument(seq, place.type, place.time, _LOG_ONLY, text, place.start, place.length))
                self._shown.add(seq)
        # An attempt without text yet may still get some.
        kept = self._shown | self._open
        self._places = {seq: place for seq, place in self._places.items() if seq in kept}
        return dropped, documents

    def save(self) -> bytes:
        """The state after `take`."""
        return msgspec.msgpack.encode(_Saved(self._text.save(), sorted(self._places.items()), sorted(self._shown)))

    @classmethod
    def restore(cls, state: bytes, registry: Registry) -> LoosePlaces:
        """What `save` wrote down. Raises ValueError when the bytes are no such state."""
        try:
            saved = msgspec.msgpack.decode(state, type=_Saved)
        except msgspec.DecodeError as error:
            raise ValueError("The saved text between events cannot be read; read the log again.") from error
        loose = cls(registry)
        loose._text = LooseText.restore(saved.loose, registry)
        loose._places = dict(saved.places)
        loose._shown = set(saved.shown)
        loose._open = set(loose._places) - loose._shown
        loose._streaming = True  # perhaps: then boundaries are told once too often, which does no harm
        return loose
