"""What a session did, in numbers: turns, prompts, answers, calls and tokens, its own apart from what it inherited."""

from __future__ import annotations

from typing import Final

from palimpsest_core.log.lineage import CutFinder
from palimpsest_core.log.messages import is_human_prompt
from palimpsest_core.log.usage import UsageTotals
from palimpsest_core.model.event import Event
from palimpsest_core.model.header import Header
from palimpsest_core.model.statistics import Counts, Tokens

COUNTED: Final = frozenset(
    {
        "turn/start",
        "user/message",
        "assistant/message",
        "assistant/attempt",
        "assistant/chunk",
        "tool/call",
        "tool/result",
        "compaction/summary",
        "compact/summary",
        "llm/retry",
        "step/end",
        "turn/end",
        "session/end-seed",
    }
)
"""The types of the events that a tally looks at; all others only count as events."""


class Tally:
    """Counts a log's events as they go by. `own` and `inherited` can be asked for at any time."""

    def __init__(self, header: Header) -> None:
        self._cut = CutFinder(header)
        self._known_cut = self._cut.cut if header.version < 2 else None
        self._marker: int | None = None
        self._inherited = _Part()
        self._own = _Part()
        self._reach(0)

    def pass_by(self, first: int, count: int) -> None:
        """Take events that need no look, such as the members of a packed row."""
        before = max(0, min(count, self._known_cut - first)) if self._known_cut is not None else count
        self._own.events += before
        self._reach(first + before)
        self._own.events += count - before

    def push(self, event: Event) -> None:
        """Take the next event of a counted type."""
        self._cut.push(event)
        if self._cut.marker != self._marker:
            self._marker = self._cut.marker
            self._part_here()
        self._own.push(event)
        self._reach(event.seq + 1)

    def _reach(self, seq: int) -> None:
        if self._known_cut is not None and seq >= self._known_cut:
            self._known_cut = None
            self._part_here()

    def _part_here(self) -> None:
        """All that was counted so far was inherited."""
        self._inherited.take(self._own)
        self._own = _Part()

    @property
    def own(self) -> Counts:
        """What the session did itself."""
        return self._own.counts()

    @property
    def inherited(self) -> Counts:
        """What it took over from its parent."""
        return self._inherited.counts()


class _Part:
    def __init__(self) -> None:
        self.events = self.turns = self.prompts = self.answers = self.calls = self.failures = 0
        self.silent = 0
        self.usage = UsageTotals()

    def push(self, event: Event) -> None:
        self.events += 1
        added = self.usage.push(event)
        match event.type:
            case "turn/start":
                self.turns += 1
            case "user/message":
                self.prompts += is_human_prompt(event)
            case "assistant/message":
                self.answers += 1
                self.silent += added is None
            case "tool/call":
                self.calls += 1
            case "tool/result":
                self.failures += isinstance(event.data, dict) and event.data.get("error") is not None

    def take(self, other: _Part) -> None:
        other.usage.settle()
        self.usage.total += other.usage.total
        self.usage.requests += other.usage.requests
        for name in ("events", "turns", "prompts", "answers", "calls", "failures", "silent"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def counts(self) -> Counts:
        self.usage.settle()
        used = self.usage.total
        tokens = None
        if self.usage.requests:
            tokens = Tokens(used.total, used.input, used.output, used.cache_read, used.cache_write, used.reasoning)
        return Counts(
            events=self.events,
            turns=self.turns,
            messages=self.prompts + self.answers,
            prompts=self.prompts,
            answers=self.answers,
            tool_calls=self.calls,
            failed_calls=self.failures,
            requests=self.usage.requests,
            silent_answers=self.silent,
            tokens=tokens,
        )
