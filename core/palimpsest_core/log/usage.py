"""Token counts (spec: session format, section 7.2). They are foreign numbers: any of them may be missing or no number.

One request's usage may be reported twice: by the chunks or the embedded stream while it ran, and by the settled
message. The message wins; reports of attempts that never settled count on their own, because they were paid for too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.log.shapes import member, objects_at, whole
from palimpsest_core.model.event import Event


class Usage(msgspec.Struct, frozen=True):
    """Counts of tokens; None where nobody said. `input` excludes what came from or went into the cache."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    reported_total: int | None = None

    @property
    def total(self) -> int:
        """All tokens of the request: what was reported as the total, or else the sum of what is known."""
        if self.reported_total is not None:
            return self.reported_total
        return sum(part for part in (self.input, self.output, self.cache_read, self.cache_write) if part is not None)

    def __add__(self, other: Usage) -> Usage:
        """Both together; a count that neither knows stays unknown."""
        return Usage(
            _plus(self.input, other.input),
            _plus(self.output, other.output),
            _plus(self.cache_read, other.cache_read),
            _plus(self.cache_write, other.cache_write),
            _plus(self.reasoning, other.reasoning),
            self.total + other.total,
        )


NOTHING = Usage()


def _plus(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


def _count(value: Any) -> int | None:
    number = whole(value)
    return number if number is not None and number >= 0 else None


def parse_usage(raw: Any) -> Usage | None:
    """A usage object as stored; None when it is no object or holds no count at all."""
    if not isinstance(raw, dict):
        return None
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "totalTokens")
    usage = Usage(*(_count(raw.get(name)) for name in names))
    return usage if usage != NOTHING else None


def _streamed(stream: Any) -> Usage | None:
    """The last usage that an embedded stream reports."""
    found = None
    for record in objects_at({"stream": stream}, "stream"):
        found = parse_usage(member(record, "chunk", "usage")) or found
    return found


def usage_of(event: Event) -> Usage | None:
    """The usage that one event reports: a message, an attempt, a chunk or a compaction's summary."""
    match event.type:
        case "assistant/message":
            return parse_usage(member(event.data, "usage")) or _streamed(member(event.data, "stream"))
        case "assistant/attempt":
            return _streamed(member(event.data, "stream"))
        case "assistant/chunk":
            return parse_usage(member(event.data, "chunk", "usage"))
        case "compaction/summary" | "compact/summary":
            return parse_usage(member(event.data, "usage"))
    return None


class UsageTotals:
    """Adds up a log's usage; every request counts once."""

    __slots__ = ("_pending", "requests", "total")

    def __init__(self) -> None:
        self.total = NOTHING
        self.requests = 0
        """How many requests reported their usage."""
        self._pending: Usage | None = None

    def push(self, event: Event) -> Usage | None:
        """Take the next event; answers what was added to the total, if anything."""
        match event.type:
            case "assistant/chunk":
                return self._chunk(event)
            case "assistant/message":
                streamed, self._pending = self._pending, None
                return self._add(usage_of(event) or streamed)
            case "assistant/attempt" | "compaction/summary" | "compact/summary":
                return self._add(usage_of(event))
            case "llm/retry" | "step/end" | "turn/end":
                return self.settle()
        return None

    def _chunk(self, event: Event) -> Usage | None:
        self._pending = usage_of(event) or self._pending
        kind = member(event.data, "chunk", "reason", "kind")
        # An attempt that ends in an error is followed by no message of its own.
        return self.settle() if kind == "error" else None

    def settle(self) -> Usage | None:
        """Count what was streamed and never settled in a message (also to be called at the end of a log)."""
        pending, self._pending = self._pending, None
        return self._add(pending)

    def _add(self, usage: Usage | None) -> Usage | None:
        if usage is not None:
            self.total += usage
            self.requests += 1
        return usage
