"""Text that belongs to no single event: it is read across events (spec: session format, sections 6.1 and 9.4).

Two kinds. A queued prompt stands in `agent/inbox/spliced` and again in the `user/message` that claims it: only when
none does (cancelled, or the log ends before) is the queue its place. And in v0 and v1 an answer is streamed as chunk
events and then settled in an `assistant/message`: only when it never is (a failed attempt, a crash) are the chunks its
place; it is put at the attempt's first chunk. The full extractor set searches both, the reference set neither.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from palimpsest_core.base.cancel import CancelToken, watched
from palimpsest_core.base.jstext import join_parts
from palimpsest_core.log.messages import message_id
from palimpsest_core.log.shapes import list_at, member, objects_at, text_at, whole
from palimpsest_core.log.streams import PACKED, StreamBlocks
from palimpsest_core.log.text import FULL, Registry, content_text, semantic_text
from palimpsest_core.model.event import Event

READS: Final = frozenset(
    {
        "agent/inbox/spliced",
        "user/message",
        "steering/message",
        "assistant/chunk",
        "assistant/message",
        "llm/retry",
        "llm/retry-started",
        "step/start",
        "step/end",
        "turn/start",
        "turn/end",
        *PACKED,
    }
)
"""The event types, and the tags of packed rows, that matter to `LooseText`; others need not be pushed."""

_any = msgspec.json.Decoder().decode


class _Attempt(msgspec.Struct):
    """One streamed attempt, chunks `first` to `last`. Pieces are payloads by tag, or raw rows not yet decoded."""

    first: int
    last: int
    pieces: list[tuple[str, Any]]
    begun: list[int]
    finished: bool = False


class LooseText:
    """Collects such text while the log goes by. `take_changes` says which documents to write or to delete.

    It holds only what may still change: prompts that nobody claimed, and the attempts of the open step.
    """

    __slots__ = ("_attempts", "_claimed", "_final", "_place_of", "_queued", "_registry", "_shown")

    def __init__(self, registry: Registry = FULL) -> None:
        self._registry = registry
        self._queued: dict[int, dict[str, str]] = {}
        self._place_of: dict[str, int] = {}
        self._claimed: set[str] = set()
        self._attempts: list[_Attempt] = []
        self._final: dict[int, str] = {}
        self._shown: dict[int, str] = {}

    def push(self, event: Event) -> None:
        """Take the next event."""
        match event.type:
            case "agent/inbox/spliced":
                self._queue(event.seq, event.data)
            case "user/message" | "steering/message":
                self.claim(message_id(event))
            case "assistant/chunk":
                self._chunk(event.seq, member(event.data, "chunk"))
            case "assistant/message":
                self.settle(event.source_event_seqs)
            case "llm/retry" | "llm/retry-started" | "step/start" | "step/end" | "turn/start" | "turn/end":
                self.boundary(event.type)

    def push_raw(self, type: str, seq: int, count: int, raw: bytes) -> bool:
        """Take a stored chunk row by its payload's bytes: an `assistant/chunk`, or a packed row of `count` events.

        It is decoded only when its attempt turns out to be the text's only place. False: it cannot be taken like this;
        expand it and push its events.
        """
        if type in PACKED:
            self._piece(seq, seq + max(count, 1) - 1, type, raw)
            return True
        if b"finish" not in raw and b"block-start" not in raw:
            self._piece(seq, seq, "chunk", raw)
            return True
        try:
            data = _any(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return False
        self._chunk(seq, member(data, "chunk"))
        return True

    def claim(self, id: str | None) -> None:
        """A user message with this id exists: the queue is not its place."""
        if id is None:
            return
        self._claimed.add(id)
        place = self._place_of.pop(id, None)
        if place is not None:
            self._queued[place].pop(id, None)
            if not self._queued[place]:
                del self._queued[place]

    def _queue(self, seq: int, data: Any) -> None:
        texts: dict[str, str] = {}
        for number, message in enumerate(objects_at(data, "inserted")):
            id = text_at(message, "id") or f"\0{seq}:{number}"
            if id not in self._claimed and id not in self._place_of:
                texts[id] = content_text(list_at(message, "content"), self._registry)
                self._place_of[id] = seq
        if texts:
            self._queued[seq] = texts

    def _chunk(self, seq: int, chunk: Any) -> None:
        kind = text_at(chunk, "type")
        self._piece(seq, seq, "chunk", chunk, begins=whole(member(chunk, "index")) if kind == "block-start" else None)
        if kind == "finish":
            self._finish()

    def _piece(self, first: int, last: int, tag: str, data: Any, *, begins: int | None = None) -> None:
        current = self._attempts[-1] if self._attempts else None
        # A block that begins for the second time belongs to another attempt.
        if current is None or current.finished or begins in current.begun:
            self._finish()
            current = _Attempt(first, last, [], [])
            self._attempts.append(current)
        current.pieces.append((tag, data))
        current.last = last
        if begins is not None:
            current.begun.append(begins)

    def _finish(self) -> None:
        if self._attempts:
            self._attempts[-1].finished = True

    @property
    def idle(self) -> bool:
        """Whether there is no attempt that a message could still settle."""
        return not self._attempts

    def settle(self, sources: Any) -> None:
        """A message settles the attempt whose chunks it cites; one without sources, the last attempt of its step."""
        if not self._attempts:
            return
        if isinstance(sources, list):
            cited = {item for item in sources if isinstance(item, int)}
            self._attempts = [
                attempt for attempt in self._attempts if cited.isdisjoint(range(attempt.first, attempt.last + 1))
            ]
        else:
            self._attempts.pop()
        self._finish()

    def boundary(self, type: str) -> None:
        """A retry ends an attempt. After the end of a step no message can settle its attempts any more."""
        if type.startswith("llm/"):
            self._finish()
            return
        for attempt in self._attempts:
            self._final[attempt.first] = self._text(attempt)
        self._attempts = []

    def _text(self, attempt: _Attempt, cancel: CancelToken | None = None) -> str:
        blocks = StreamBlocks()
        for tag, data in watched(attempt.pieces, cancel):
            payload = _payload(data) if isinstance(data, bytes) else data
            if tag in PACKED:
                blocks.add_packed(tag, payload)
            else:
                blocks.add_chunk(member(payload, "chunk") if isinstance(data, bytes) else payload)
        return content_text(blocks.content(), self._registry)

    def take_changes(self, cancel: CancelToken | None = None) -> dict[int, str]:
        """Documents that are new or different since the last call, by seq; an empty text: delete that document.

        Open attempts and unclaimed prompts are shown as they stand now; later calls correct them. Raises `ABORTED`
        once `cancel` is set, and is then as if it had not been called.
        """
        now = {seq: join_parts(list(texts.values())) for seq, texts in self._queued.items()}
        now.update((attempt.first, self._text(attempt, cancel)) for attempt in self._attempts)
        changes = {
            seq: text
            for seq, text in {**self._final, **now}.items()
            if self._shown.get(seq, _digest("")) != _digest(text)
        }
        changes.update((seq, "") for seq in self._shown if seq not in now and seq not in self._final)
        self._shown = {seq: _digest(text) for seq, text in now.items() if text}
        self._final = {}
        return changes

    def save(self) -> bytes:
        """The state as bytes. Call `take_changes` before: what it would say is not saved."""
        state = {
            "queued": [[seq, texts] for seq, texts in self._queued.items()],
            "claimed": sorted(self._claimed),
            "attempts": [
                [a.first, a.last, [_stored(tag, data) for tag, data in a.pieces], a.begun, a.finished]
                for a in self._attempts
            ],
            "shown": [[seq, digest] for seq, digest in self._shown.items()],
        }
        return zlib.compress(json.dumps(state).encode("ascii"), 1)

    @classmethod
    def restore(cls, state: bytes, registry: Registry = FULL) -> LooseText:
        """The collector that `save` wrote down. Raises ValueError when the bytes are no such state."""
        loose = cls(registry)
        try:
            saved = json.loads(zlib.decompress(state))
            loose._queued = {seq: dict(texts) for seq, texts in saved["queued"]}
            loose._claimed = set(saved["claimed"])
            loose._attempts = [
                _Attempt(first, last, [_loaded(*piece) for piece in pieces], begun, finished)
                for first, last, pieces, begun, finished in saved["attempts"]
            ]
            loose._shown = dict(saved["shown"])
        except (zlib.error, ValueError, TypeError, KeyError) as cause:
            raise ValueError("The saved text between events cannot be read; read the log again.") from cause
        loose._place_of = {id: seq for seq, texts in loose._queued.items() for id in texts}
        return loose


def _payload(raw: bytes) -> Any:
    """A stored payload; None when it is no JSON at all (the reader would not have given it then)."""
    try:
        return _any(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _odd_payload(raw)


def _odd_payload(raw: bytes) -> Any:
    """A payload that the quick decoder does not take: lone surrogates, numbers beyond doubles."""
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _stored(tag: str, data: Any) -> list[Any]:
    return [tag, True, data.decode("utf-8", "surrogateescape")] if isinstance(data, bytes) else [tag, False, data]


def _loaded(tag: str, raw: bool, data: Any) -> tuple[str, Any]:
    return tag, data.encode("utf-8", "surrogateescape") if raw else data


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def documents(
    events: Sequence[Event], registry: Registry, cancel: CancelToken | None = None
) -> Iterator[tuple[int, str]]:
    """Every event's text, by ascending seq, empty ones left out; with the loose text where the registry wants it.

    Raises `ABORTED` once `cancel` is set.
    """
    loose: dict[int, str] = {}
    if registry.loose is not None:
        collector = LooseText(registry)
        for event in watched(events, cancel):
            collector.push(event)
        loose = collector.take_changes(cancel)
    for event in watched(events, cancel):
        text = join_parts([semantic_text(event, registry), loose.get(event.seq, "")])
        if text:
            yield event.seq, text
