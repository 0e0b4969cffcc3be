"""The seam between the engine and whatever finds text: a protocol, so that a team-size corpus can move elsewhere.

`SearchProvider` is the second seed's contract (docs by session, persisted and live snapshots replaced as wholes) with
what growth needs added: documents can be appended and their surfaces re-marked. A provider that also remembers log
files, as the built-in one does, is a `LogIndex`; the synchronisation then reads only what changed in each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.search import EventPage, SessionPage
from palimpsest_core.model.session import SessionRecord, SessionSummary
from palimpsest_core.search.documents import IndexDocument, KnownLog, LogEntry
from palimpsest_core.search.request import SearchRequest


class Unavailable(StrEnum):
    """Why a provider cannot answer."""

    MISCONFIGURED = "misconfigured"
    UNAVAILABLE = "unavailable"


class ProviderStatus(NamedTuple):
    """Whether a provider can answer; `reason` only when it cannot."""

    available: bool
    reason: Unavailable | None = None


class PersistedEntry(NamedTuple):
    """A stored session that the provider holds, and the state of it that it was given."""

    session_id: str
    fingerprint: str


class IndexSnapshot(msgspec.Struct, frozen=True):
    """One session with all its documents (ascending seq). `fingerprint` names the state of log and extractors."""

    session: SessionRecord
    fingerprint: str
    documents: Iterable[IndexDocument]


class IndexGrowth(msgspec.Struct, frozen=True):
    """What became of a session that grew: new documents, and events whose surface changed (value: the new surface).

    `fingerprint` names the new state. A growth without documents still counts as a change.
    """

    session: SessionRecord
    fingerprint: str
    documents: Iterable[IndexDocument] = ()
    remarked: Mapping[int, str] = msgspec.field(default_factory=dict)


def entry_of(given: IndexSnapshot | IndexGrowth) -> LogEntry:
    """What the index keeps of a session that came without a file."""
    header = given.session.header
    return LogEntry(
        path=None,
        session_id=header.id,
        revision=given.fingerprint,
        fingerprint="",
        header=header,
        live=False,
        persisted=True,
    )


class SearchProvider(Protocol):
    """What the engine needs. Every method may raise `INDEX_FAILED`; calls from several threads are allowed."""

    id: str

    def batch(self) -> AbstractContextManager[None]:
        """Changes that belong together: all of them or none, as one step for the cursors."""
        ...

    def status(self) -> ProviderStatus:
        """Whether searches can be answered now."""
        ...

    def persisted_inventory(self) -> list[PersistedEntry]:
        """Every stored session that is held, active or not."""
        ...

    def set_persisted_active(self, active: bool) -> None:
        """Hide the stored sessions from searches (the store is away) or show them again, without dropping them."""
        ...

    def replace_persisted(self, snapshot: IndexSnapshot) -> None:
        """Make this all that is held of a stored session."""
        ...

    def append_persisted(self, growth: IndexGrowth) -> None:
        """Add to a stored session that is held."""
        ...

    def remove_persisted(self, session_id: str) -> None:
        """Forget a stored session; an unknown one does no harm."""
        ...

    def replace_live(self, snapshot: IndexSnapshot) -> None:
        """Make this all that is held of a live session; it hides the stored session of the same id."""
        ...

    def append_live(self, growth: IndexGrowth) -> None:
        """Add to a live session that is held."""
        ...

    def remove_live(self, session_id: str) -> None:
        """Forget a live session; the stored one of that id shows again."""
        ...

    def search_sessions(self, request: SearchRequest, cancel: CancelToken | None = None) -> SessionPage:
        """A page of sessions, each with its best event. Raises `INVALID_CURSOR`, `STALE_CURSOR`, `ABORTED`."""
        ...

    def search_events(self, request: SearchRequest, cancel: CancelToken | None = None) -> EventPage:
        """A page of one session's events. Raises as `search_sessions`, and `SESSION_NOT_FOUND`."""
        ...

    def close(self) -> None:
        """Give back what is held; nothing may be called afterwards."""
        ...


@runtime_checkable
class LogIndex(SearchProvider, Protocol):
    """A provider that keeps account of log files: what was read of each, and where to go on.

    Everything below except reading belongs inside a `batch`.
    """

    @property
    def generation(self) -> int:
        """Counts the changes of the stored side, by whatever process."""
        ...

    def interruptible(self, cancel: CancelToken | None) -> AbstractContextManager[None]:
        """For the length of a block, setting the token ends what is being written; the batch is lost then (`ABORTED`).

        Around batches, not inside one.
        """
        ...

    def known_logs(self) -> Mapping[str, KnownLog]:
        """Every log file held, by path."""
        ...

    def add_log(self, entry: LogEntry) -> int:
        """Start holding a log; returns its number, higher than all before."""
        ...

    def update_log(self, number: int, entry: LogEntry) -> None:
        """Replace what is known of a log; its documents stay."""
        ...

    def set_answers(self, number: int, answers: bool, listed: bool) -> None:
        """Say whether this file speaks for its session id, and whether it has a row in the session list."""
        ...

    def summary_of(self, number: int) -> SessionSummary | None:
        """The list row of a log as it was given."""
        ...

    def update_summary(self, number: int, summary: SessionSummary, revision: str | None = None) -> None:
        """Replace the list row of a log, and its revision when one is given; its documents stay."""
        ...

    def bulk(self, on: bool) -> None:
        """Say that very much is about to be written (True), or that this is over."""
        ...

    def tidy(self, cancel: CancelToken | None = None) -> None:
        """Put what a bulk build left in parts together, and give back the disk space that it left free; outside of a
        batch. Cancelled, it ends early."""
        ...

    def remove_log(self, number: int) -> None:
        """Forget a log with its documents and its state."""
        ...

    def add_documents(self, number: int, documents: Iterable[IndexDocument]) -> int:
        """Add documents of a log; returns how many."""
        ...

    def drop_documents(self, number: int, from_seq: int = 0) -> None:
        """Remove a log's documents from an event on."""
        ...

    def drop_each(self, number: int, seqs: Iterable[int]) -> None:
        """Remove single documents of a log."""
        ...

    def mark(self, number: int, seqs: Sequence[int], surface: str) -> None:
        """Give documents another surface."""
        ...

    def load_state(self, number: int) -> bytes | None:
        """Where reading of a log stopped, as `save_state` was given it."""
        ...

    def load_look(self) -> bytes | None:
        """What the last look over the whole root found, as `save_look` was given it."""
        ...

    def save_look(self, look: bytes) -> None:
        """Remember what a look over the root found, for the next process. The generation stays."""
        ...

    def save_state(self, number: int, state: bytes) -> None:
        """Remember where reading of a log stopped."""
        ...
