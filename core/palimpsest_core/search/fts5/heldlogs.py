"""The log index side of the built-in provider: plain forwarding to the store, reads under the provider's lock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.session import SessionSummary
from palimpsest_core.search.documents import IndexDocument, KnownLog, LogEntry
from palimpsest_core.search.fts5.store import Store

_T = TypeVar("_T")


class HeldLogs(ABC):
    """What `LogIndex` asks for. Everything except reading belongs inside a `batch`."""

    _store: Store

    @abstractmethod
    def _read(self, cancel: CancelToken | None, work: Callable[[], _T]) -> _T:
        """What `work` answers from one reading transaction."""

    @property
    def generation(self) -> int:
        """Counts the changes of the stored side, by whatever process."""
        return self._read(None, lambda: self._store.generation)

    @property
    def foreign(self) -> int:
        """Changes when another process changes the stored side, and not with what is written through this index."""
        return self._read(None, lambda: self._store.foreign)

    def known_logs(self) -> Mapping[str, KnownLog]:
        """Every log file held, by path."""
        return self._read(None, self._store.known_logs)

    def add_log(self, entry: LogEntry) -> int:
        """Start holding a log; returns its number."""
        return self._store.add_log(entry)

    def update_log(self, number: int, entry: LogEntry) -> None:
        """Replace what is known of a log."""
        self._store.update_log(number, entry)

    def set_answers(self, number: int, answers: bool, listed: bool) -> None:
        """Say whether this file speaks for its session id, and whether it has a row in the list."""
        self._store.set_answers(number, answers, listed)

    def summary_of(self, number: int) -> SessionSummary | None:
        """The list row of a log as it was given."""
        return self._read(None, lambda: self._store.summary_of(number))

    def update_summary(self, number: int, summary: SessionSummary, revision: str | None = None) -> None:
        """Replace the list row of a log, and its revision when one is given."""
        self._store.update_summary(number, summary, revision)

    def bulk(self, on: bool) -> None:
        """Merge postings later, or as they come."""
        self._store.bulk(on)

    def remove_log(self, number: int) -> None:
        """Forget a log."""
        self._store.remove_log(number)

    def add_documents(self, number: int, documents: Iterable[IndexDocument]) -> int:
        """Add documents of a log."""
        return self._store.add_documents(number, documents)

    def drop_documents(self, number: int, from_seq: int = 0) -> None:
        """Remove a log's documents from an event on."""
        self._store.drop_documents(number, from_seq)

    def drop_each(self, number: int, seqs: Iterable[int]) -> None:
        """Remove single documents of a log."""
        self._store.drop_each(number, seqs)

    def mark(self, number: int, seqs: Sequence[int], surface: str) -> None:
        """Give documents another surface."""
        self._store.mark(number, seqs, surface)

    def load_state(self, number: int) -> bytes | None:
        """Where reading of a log stopped."""
        return self._read(None, lambda: self._store.load_state(number))

    def load_look(self) -> bytes | None:
        """What the last look over the whole root found."""
        return self._read(None, self._store.load_look)

    def save_look(self, look: bytes) -> None:
        """Remember what a look over the root found."""
        self._store.save_look(look)

    def save_state(self, number: int, state: bytes) -> None:
        """Remember where reading of a log stopped."""
        self._store.save_state(number, state)
