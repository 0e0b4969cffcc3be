"""The logical corpus: live sessions over stored ones, one record per id (spec: engine contract, section 1)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken, check, watched
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.catalog import Catalog
from palimpsest_core.live.store import LiveSession, SessionStore
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.query.collate import sort_by_creation
from palimpsest_core.query.durable import DurableSource
from palimpsest_core.query.reads import Observed


def not_found(session_id: Any) -> SessionQueryError:
    """The error of an id that no source has."""
    return SessionQueryError(ErrorCode.SESSION_NOT_FOUND, f"There is no session {shown(session_id)}.")


def shown(session_id: Any) -> str:
    """An id inside a message."""
    return f'"{session_id}"' if isinstance(session_id, str) else repr(session_id)


def immutable_part(header: Header) -> tuple[Any, ...]:
    """What two observations of one session must agree on; preset and origin may differ."""
    return (
        header.version,
        header.id,
        header.created_at,
        header.cwd,
        header.parent_session,
        header.seed_length,
        header.delegation_depth or 0,
    )


class Corpus:
    """Both sources behind one door. Either may be absent, come and go while others ask; thread-safe.

    `durable` is the stored side while it is mounted (None while it is away), `live` the sessions of this process.
    `strict`: answer with the reference's refusals.
    """

    def __init__(self, durable: DurableSource | None, live: SessionStore | None, *, strict: bool = False) -> None:
        self.durable = durable
        self.live = live
        self.strict = strict

    def records(self, cancel: CancelToken | None = None) -> list[SessionRecord]:
        """Every session, newest first, ties by the collation of ids. Only headers are read.

        Raises `SOURCE_CONFLICT` when the sources disagree about an immutable header, `PERSISTENCE_FAILED` when strict
        reading refuses the root.
        """
        check(cancel)
        live = self._live_sessions()
        records = {session.id: SessionRecord(session.header, live=True, persisted=False) for session in live}
        for stored in watched(self.durable.records(cancel), cancel) if self.durable is not None else ():
            record = records.get(stored.header.id)
            if record is None:
                records[stored.header.id] = stored
                continue
            if immutable_part(record.header) != immutable_part(stored.header):
                raise SessionQueryError(
                    ErrorCode.SOURCE_CONFLICT,
                    f"The live and the stored session {shown(stored.header.id)} differ in their immutable headers.",
                )
            records[stored.header.id] = msgspec.structs.replace(record, persisted=True)
        return sorted_records(records.values(), cancel)

    def observe(self, session_id: Any, cancel: CancelToken | None = None, *, generation: int | None = None) -> Observed:
        """One session with its events. A live session is taken as it is; the store is not even looked at then.

        `generation` chooses among several files of a stored session (tolerant mode). Raises `SESSION_NOT_FOUND`, and
        `PERSISTENCE_FAILED` or `CORRUPT_SESSION` where strict reading refuses the log.
        """
        check(cancel)
        live = self.live_session(session_id)
        if live is not None:
            return observe_live(live, strict=self.strict)
        seen = None
        if self.durable is not None:  # an id that is no text is nobody's, but a root that cannot be listed comes first
            seen = self.durable.observe(session_id, cancel, generation=generation)
        if seen is None:
            raise not_found(session_id)
        return seen

    def observer(self, cancel: CancelToken | None = None) -> Callable[[Any], Observed]:
        """As `observe`, for several sessions: the root is listed at most once, when the first stored one is asked for.

        The returned function may be called from several threads; a root that cannot be listed fails each of its calls.
        """
        listing = _Listing(self.durable, cancel)

        def observe(session_id: Any) -> Observed:
            check(cancel)
            live = self.live_session(session_id)
            if live is not None:
                return observe_live(live, strict=self.strict)
            seen = listing.observe(session_id)
            if seen is None:
                raise not_found(session_id)
            return seen

        return observe

    def live_session(self, session_id: Any) -> LiveSession | None:
        """The live session of that id."""
        return self.live.get(session_id) if self.live is not None and isinstance(session_id, str) else None

    def _live_sessions(self) -> list[LiveSession]:
        return self.live.sessions() if self.live is not None else []


class _Listing:
    """One listing of the durable store, made on demand and shared by threads."""

    def __init__(self, durable: DurableSource | None, cancel: CancelToken | None) -> None:
        self._durable = durable
        self._cancel = cancel
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._refusal: SessionQueryError | None = None

    def observe(self, session_id: Any) -> Observed | None:
        if self._durable is None:
            return None
        with self._lock:
            if self._refusal is not None:
                raise self._refusal
            if self._catalog is None:
                try:
                    self._catalog = self._durable.catalog(self._cancel)
                except SessionQueryError as error:
                    self._refusal = error
                    raise
        return self._durable.observe(session_id, self._cancel, catalog=self._catalog)


def observe_live(session: LiveSession, *, strict: bool = False) -> Observed:
    """A live session as it is now: an open turn stays open."""
    return Observed(
        header=session.header,
        events=session.events,
        generation=session.header.version,
        shared=True,
        strict=strict,
    )


def sorted_records(records: Iterable[SessionRecord], cancel: CancelToken | None = None) -> list[SessionRecord]:
    """Records newest first, ties by the collation of ids."""
    return sort_by_creation(
        list(records),
        lambda record: record.header.created_at,
        lambda record: record.header.id,
        newest_first=True,
        cancel=cancel,
    )
