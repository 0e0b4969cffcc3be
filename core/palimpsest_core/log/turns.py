"""Turns and their steps, found while the log goes by; tolerant of ends without a start and the reverse."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import msgspec

from palimpsest_core.log.messages import is_human_prompt
from palimpsest_core.log.shapes import member, text_at, whole
from palimpsest_core.model.event import Event


class Step(msgspec.Struct):
    """One request to the model and its calls. `last_seq` is None while it is open."""

    number: int | None
    first_seq: int
    last_seq: int | None = None


class Turn(msgspec.Struct):
    """From one `turn/start` to its `turn/end`. `last_seq` and `reason` are None while it is open.

    `reason` is the kind of the end as stored. `prompt_seq` is the first human prompt in it.
    """

    number: int | None
    first_seq: int
    first_time: int
    last_seq: int | None = None
    last_time: int | None = None
    reason: str | None = None
    prompt_seq: int | None = None
    steps: list[Step] = []


class TurnIndex:
    """All turns in log order. What stands between turns belongs to none."""

    __slots__ = ("_starts", "turns")

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._starts: list[int] = []

    @property
    def current(self) -> Turn | None:
        """The open turn, if the log ends inside one."""
        return self.turns[-1] if self.turns and self.turns[-1].last_seq is None else None

    def push(self, event: Event) -> None:
        """Take the next event."""
        if event.type in _READS:
            self.push_data(event.type, event.seq, event.time, event.data, prompt=is_human_prompt(event))

    def push_data(self, type: str, seq: int, time: int, data: Any, *, prompt: bool = False) -> None:
        """Take the next event by its parts; `prompt` says whether it is a human prompt."""
        turn = self.current
        match type:
            case "turn/start":
                self._end(turn, seq - 1, time, None)
                self.turns.append(Turn(whole(member(data, "turn")), seq, time))
                self._starts.append(seq)
            case "turn/end":
                self._end(turn, seq, time, text_at(data, "reason", "kind") or None)
            case "step/start" if turn is not None:
                self._end_step(turn, seq - 1)
                turn.steps.append(Step(whole(member(data, "step")), seq))
            case "step/end" if turn is not None:
                self._end_step(turn, seq)
        if prompt and turn is not None and turn.prompt_seq is None:
            turn.prompt_seq = seq

    @staticmethod
    def _end_step(turn: Turn, seq: int) -> None:
        if turn.steps and turn.steps[-1].last_seq is None:
            turn.steps[-1].last_seq = seq

    def _end(self, turn: Turn | None, seq: int, time: int, reason: str | None) -> None:
        if turn is not None:
            self._end_step(turn, seq)
            turn.last_seq, turn.last_time, turn.reason = seq, time, reason

    def turn_at(self, seq: int) -> Turn | None:
        """The turn that event `seq` belongs to, or None for one between turns."""
        place = bisect_right(self._starts, seq) - 1
        if place < 0:
            return None
        turn = self.turns[place]
        return turn if turn.last_seq is None or seq <= turn.last_seq else None


_READS = frozenset({"turn/start", "turn/end", "step/start", "step/end", "user/message", "steering/message"})


def turns_of(events: Iterable[Event]) -> list[Turn]:
    """All turns of a whole log."""
    index = TurnIndex()
    for event in events:
        index.push(event)
    return index.turns
