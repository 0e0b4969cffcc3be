"""How the app asks the engine: in a thread, with a token, numbered, the older question of the same topic taken back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, TypeVar

from textual.screen import Screen

from palimpsest_core import CancelToken, ErrorCode, SessionQueryError
from palimpsest_tui.messages import Answered, Question

T = TypeVar("T")
P = TypeVar("P")


Tell = Callable[[P], None]
"""Called from a worker to pass on a part of the answer."""


class Jobs:
    """Starts workers for one screen and lets only the latest answer of each topic through."""

    def __init__(self, host: Screen[Any], failed: Callable[[str, Exception], None]) -> None:
        """`failed` hears of every question that failed without a handler of its own (topic, error)."""
        self._host = host
        self._failed = failed
        self._numbers = count(1)
        self._latest: dict[str, Question] = {}
        self._closed = False

    def ask(
        self,
        topic: str,
        work: Callable[[CancelToken], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None] | None = None,
    ) -> Question:
        """Run `work` in a thread and hand its result to `then` on the screen's own thread."""
        return self.ask_parts(topic, lambda token, tell: work(token), _no_part, then, failed)

    def ask_parts(
        self,
        topic: str,
        work: Callable[[CancelToken, Tell[P]], T],
        part: Callable[[P], None],
        then: Callable[[T], None],
        failed: Callable[[Exception], None] | None = None,
    ) -> Question:
        """As `ask`, for work that also tells parts of its answer on the way."""
        self.take_back(topic)
        question = Question(topic, next(self._numbers), CancelToken())
        if self._closed:
            return question
        self._latest[topic] = question
        self._host.run_worker(
            partial(self._run, question, work, part, then, failed),
            name=topic,
            group=topic,
            thread=True,
            exit_on_error=True,
        )
        return question

    def _run(
        self,
        question: Question,
        work: Callable[[CancelToken, Tell[P]], T],
        part: Callable[[P], None],
        then: Callable[[T], None],
        failed: Callable[[Exception], None] | None,
    ) -> None:
        def tell(value: P) -> None:
            question.token.raise_if_set()
            self._host.post_message(Answered(question, part, value, last=False))

        try:
            value = work(question.token, tell)
        except SessionQueryError as error:
            if error.code is not ErrorCode.ABORTED:
                self._report(question, failed, error)
        except Exception as error:
            # Whatever a log does to the code that reads it must not take the screen away from the person: the failure
            # is shown with its kind, and everything else goes on.
            self._report(question, failed, error)
        else:
            self._host.post_message(Answered(question, then, value))

    def _report(self, question: Question, failed: Callable[[Exception], None] | None, error: Exception) -> None:
        handler = failed if failed is not None else partial(self._failed, question.topic)
        self._host.post_message(Answered(question, handler, error))

    def deliver(self, answer: Answered) -> None:
        """Hand an answer on, unless its question was taken back or asked again."""
        question = answer.question
        if self._latest.get(question.topic) != question or question.token.is_set():
            return
        if answer.last:
            del self._latest[question.topic]
        answer.deliver(answer.value)

    def running(self, topic: str) -> bool:
        """Whether a question of a topic waits for its answer."""
        return topic in self._latest

    def topics(self) -> set[str]:
        """The topics of all questions that wait for their answers."""
        return set(self._latest)

    def take_back(self, topic: str) -> None:
        """Cancel the question of a topic; its answer will be dropped."""
        question = self._latest.pop(topic, None)
        if question is not None:
            question.token.set()

    def close(self) -> None:
        """Cancel everything; nothing new starts."""
        self._closed = True
        for topic in list(self._latest):
            self.take_back(topic)


def _no_part(part: object) -> None:
    del part


def sentence(error: Exception) -> str:
    """An error as one sentence for the screen (to be made printable like all foreign text)."""
    if isinstance(error, SessionQueryError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
