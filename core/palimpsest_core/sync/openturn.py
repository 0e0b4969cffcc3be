"""What the last turn of a log tells: whether it is open, what would close it, and which model answered last.

The rows of a turn are only kept until it ends; nearly all turns do, and then nothing of them need be looked into.
"""

from __future__ import annotations

import msgspec

from palimpsest_core.formats.rows import payload
from palimpsest_core.log.repair import RepairScan
from palimpsest_core.model.event import Event

TURN_EDGES = frozenset({"turn/start", "turn/end"})
"""The event types that make superfluous what was kept of the turn before."""

_BYTES_KEPT = 4 << 20


class _Source(msgspec.Struct):
    model: str = ""


class _Message(msgspec.Struct):
    source: _Source | None = None


class _Answer(msgspec.Struct):
    message: _Message | None = None


_answer = msgspec.json.Decoder(_Answer).decode


class OpenTurn:
    """Is told of the rows that the repair scan reads, as stored payloads, or of built events."""

    def __init__(self, generation: int) -> None:
        self.answer: bytes | msgspec.Raw = b""
        """The payload of the last answer, when the model was not yet read from it."""
        self._model = ""
        self._scan = RepairScan(generation)
        self._rows: list[tuple[str, int, int, bytes | msgspec.Raw]] = []
        self._bytes = 0

    def note(self, kind: str, seq: int, time: int, raw: msgspec.Raw, length: int) -> None:
        """Keep what tells which calls of the turn lack a result; the turn's end makes all before it superfluous."""
        if kind in TURN_EDGES:
            self._rows.clear()
            self._bytes = 0
        elif kind == "assistant/message":
            self.answer = raw
        self._rows.append((kind, seq, time, raw))
        self._bytes += length
        if self._bytes > _BYTES_KEPT:
            self._settle()

    def push(self, event: Event) -> None:
        """Take a built event of any type."""
        self._settle()
        self._scan.push(event)
        if event.type == "assistant/message":
            self.answer = b""
            self._model = _model_of(event) or self._model

    def let_go(self) -> None:
        """Copy what was kept of rows whose text is about to go."""
        rows = self._rows
        for place in range(len(rows) - 1, -1, -1):
            kind, seq, time, raw = rows[place]
            if isinstance(raw, bytes):
                break
            rows[place] = (kind, seq, time, bytes(raw))
        self.answer = bytes(self.answer)

    def _settle(self) -> None:
        for kind, seq, time, raw in self._rows:
            self._scan.push_data(kind, seq, time, payload(msgspec.Raw(raw)))
        self._rows.clear()
        self._bytes = 0

    @property
    def open(self) -> bool:
        """Whether the log ends inside a turn. Ask after `closers` or `save`."""
        return self._scan.open

    def closers(self, next_seq: int, last_time: int) -> list[Event]:
        """The events that close an open turn of a log with so many events, the last one at `last_time`."""
        self._settle()
        if next_seq:
            # Rows that the scan does not look into still count: closers come after the last of all.
            self._scan.push_data("", next_seq - 1, last_time, None)
        return self._scan.closers()

    @property
    def model(self) -> str:
        """The model that gave the last answer; empty when none is named."""
        if self.answer:
            try:
                message = _answer(self.answer).message
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                message = None
            if message is not None and message.source is not None and message.source.model:
                self._model = message.source.model
            self.answer = b""
        return self._model

    def save(self) -> bytes:
        """The state of the scan as bytes."""
        self._settle()
        return self._scan.save()

    @classmethod
    def restore(cls, generation: int, scan: bytes, model: str) -> OpenTurn:
        """What `save` and `model` told. Raises ValueError when the bytes are no such state."""
        turn = cls(generation)
        turn._scan = RepairScan.restore(generation, scan)
        turn._model = model
        return turn


def _model_of(event: Event) -> str:
    message = event.data.get("message") if isinstance(event.data, dict) else None
    source = message.get("source") if isinstance(message, dict) else None
    model = source.get("model") if isinstance(source, dict) else None
    return model if isinstance(model, str) else ""
