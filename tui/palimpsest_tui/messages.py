"""What background work tells the screen. Facts in domain words; every one carries the number of its question."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.message import Message

if TYPE_CHECKING:
    from palimpsest_core import CancelToken


class Question(NamedTuple):
    """One question to the engine: its topic, its number there, and the token that takes it back."""

    topic: str
    number: int
    token: CancelToken


class Answered(Message):
    """An answer, or a part of one, from a worker. It counts only while its question is the latest of its topic."""

    def __init__(self, question: Question, deliver: Callable[[Any], None], value: Any, *, last: bool = True) -> None:
        super().__init__()
        self.question = question
        self.deliver = deliver
        self.value = value
        self.last = last

    def can_replace(self, message: Message) -> bool:
        """Answers never replace each other: a part of an answer must not be lost."""
        return False
