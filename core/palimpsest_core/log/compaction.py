"""Compactions and prunes, put together from the events they are made of (spec: session format, sections 5 and 6.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from palimpsest_core.log.markers import sequence_number
from palimpsest_core.log.messages import is_checkpoint, source_of
from palimpsest_core.log.shapes import list_at, member, text_at, whole
from palimpsest_core.log.usage import Usage, usage_of
from palimpsest_core.model.event import Event


class Compaction(msgspec.Struct):
    """One compaction: the seqs of its start, summary, checkpoint (the message that replaces) and end; None if missing.

    `shadowed` is what it said it would replace (`SurfaceFold.replaced_seqs` of the checkpoint is what it did replace),
    `tokens` how much that was. `failed` with `error` when it ended without a checkpoint.
    """

    id: str = ""
    start_seq: int | None = None
    summary_seq: int | None = None
    checkpoint_seq: int | None = None
    end_seq: int | None = None
    shadowed: list[int] = []
    tokens: int | None = None
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
    failed: bool = False
    error: str = ""


class Prune(msgspec.Struct):
    """One prune: results whose content was shortened, by seq, and how many tokens that saved."""

    seq: int
    shadowed: list[int]
    tokens: int | None


class CompactionIndex:
    """All compactions and prunes of a log, in order; events without a group id belong to the group that is open."""

    __slots__ = ("_by_seq", "_open", "compactions", "prunes")

    def __init__(self) -> None:
        self.compactions: list[Compaction] = []
        self.prunes: list[Prune] = []
        self._open: Compaction | None = None
        self._by_seq: dict[int, Compaction] = {}

    def push(self, event: Event) -> None:
        """Take the next event."""
        group, _, part = event.type.partition("/")
        if group in ("compaction", "compact"):
            if part == "prune":
                self.prunes.append(Prune(event.seq, _seqs(event.data), _tokens(event.data)))
            elif part in ("start", "summary", "end"):
                self._part(part, event)
        elif event.type == "user/message" and is_checkpoint(event):
            found = self._group(text_at(source_of(event), "compactionId"), event.seq, opens=False)
            found.checkpoint_seq = event.seq
            self._by_seq[event.seq] = found

    def _part(self, part: str, event: Event) -> None:
        found = self._group(text_at(event.data, "compactionId"), event.seq, opens=part == "start")
        self._by_seq[event.seq] = found
        match part:
            case "start":
                found.start_seq = event.seq
            case "summary":
                found.summary_seq = event.seq
                found.shadowed, found.tokens = _seqs(event.data), _tokens(event.data)
                found.provider, found.model = text_at(event.data, "provider"), text_at(event.data, "model")
                found.usage = usage_of(event)
            case "end":
                found.end_seq = event.seq
                found.failed = member(event.data, "error") is not None
                found.error = text_at(event.data, "error") or text_at(event.data, "error", "message")
                self._open = None

    def _group(self, id: str, seq: int, *, opens: bool) -> Compaction:
        current = self._open
        if current is None or opens or (id and current.id and id != current.id):
            current = self._open = Compaction(id)
            self.compactions.append(current)
        current.id = current.id or id
        return current

    def of(self, seq: int) -> Compaction | None:
        """The compaction that event `seq` is a part of."""
        return self._by_seq.get(seq)


def _seqs(data: Any) -> list[int]:
    numbers = (sequence_number(item) for item in list_at(data, "shadowedSeqs"))
    return [number for number in numbers if number is not None]


def _tokens(data: Any) -> int | None:
    return whole(member(data, "shadowedTokenCount"))


def compactions_of(events: Iterable[Event]) -> CompactionIndex:
    """The compactions and prunes of a whole log."""
    index = CompactionIndex()
    for event in events:
        index.push(event)
    return index
