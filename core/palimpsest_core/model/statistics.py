"""Sessions in numbers."""

from __future__ import annotations

from palimpsest_core.model.jsonable import Record


class Tokens(Record, frozen=True):
    """Tokens as the logs report them; a part that nobody reported is absent. `reasoning` is part of `output`.

    `total` is the sum of the totals of the requests: what was reported as such, or else the sum of the known parts.
    """

    total: int
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None

    def __add__(self, other: Tokens) -> Tokens:
        """Both together; a part that neither knows stays unknown."""
        return Tokens(
            self.total + other.total,
            _plus(self.input, other.input),
            _plus(self.output, other.output),
            _plus(self.cache_read, other.cache_read),
            _plus(self.cache_write, other.cache_write),
            _plus(self.reasoning, other.reasoning),
        )


class Counts(Record, frozen=True):
    """Counts over some events. `messages` are prompts of a person and answers of a model, nothing else.

    `requests` reported their tokens, `silent_answers` are answers that did not; `tokens` is absent when none did.
    """

    events: int = 0
    turns: int = 0
    messages: int = 0
    prompts: int = 0
    answers: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    requests: int = 0
    silent_answers: int = 0
    tokens: Tokens | None = None

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        tokens = self.tokens if other.tokens is None else other.tokens
        if self.tokens is not None and other.tokens is not None:
            tokens = self.tokens + other.tokens
        return Counts(
            self.events + other.events,
            self.turns + other.turns,
            self.messages + other.messages,
            self.prompts + other.prompts,
            self.answers + other.answers,
            self.tool_calls + other.tool_calls,
            self.failed_calls + other.failed_calls,
            self.requests + other.requests,
            self.silent_answers + other.silent_answers,
            tokens,
        )


class SessionStatistics(Record, frozen=True):
    """One session in numbers: what it did itself, and what it took over from its parent (which counts there)."""

    session_id: str
    own: Counts
    inherited: Counts


def _plus(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
