"""Who calls, and which sessions that caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import EventRecord, EventTrace, EventWindow
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import EventPage, Filter, SessionPage
from palimpsest_core.model.session import SessionRecord, SessionSummary, SessionTrace, SettledTitle
from palimpsest_core.tools.errors import unauthorized


class QueryEngine(Protocol):
    """What the tools need of the engine; it is trusted and limits nothing itself."""

    @property
    def config(self) -> Config:
        """The engine's settings."""

    def filter_sessions(self, filters: Any, cancel: CancelToken | None = None) -> list[SessionRecord]:
        """Session records that pass the filters."""

    def sessions(self, cancel: CancelToken | None = None) -> list[SessionSummary]:
        """A row for every session, from the index where it knows one."""

    def header_of(self, session_id: Any, cancel: CancelToken | None = None) -> Header:
        """A session's header; a live session's without a look at the store."""

    def read_title_snapshots(self, session_ids: Any, cancel: CancelToken | None = None) -> Sequence[SettledTitle]:
        """One settled result per id."""

    def list_events(self, session_id: str, cancel: CancelToken | None = None) -> list[EventRecord]:
        """Every event of a session."""

    def read_event(
        self, session_id: str, seq: Any, before: Any = 0, after: Any = 0, cancel: CancelToken | None = None
    ) -> EventWindow:
        """An event and its neighbours."""

    def trace_session(self, session_id: str, cancel: CancelToken | None = None) -> SessionTrace:
        """A session's ancestors and descendants."""

    def trace_event(self, session_id: str, seq: Any, cancel: CancelToken | None = None) -> EventTrace:
        """An event's links."""

    def search_sessions(
        self,
        query: Any,
        session_filters: list[Filter] | None = None,
        event_filters: list[Filter] | None = None,
        limit: Any = None,
        cursor: Any = None,
        cancel: CancelToken | None = None,
    ) -> SessionPage:
        """A page of sessions that match."""

    def search_events(
        self,
        session_id: str,
        query: Any,
        filters: list[Filter] | None = None,
        limit: Any = None,
        cursor: Any = None,
        cancel: CancelToken | None = None,
    ) -> EventPage:
        """A page of events that match within one session."""


class Caller(msgspec.Struct, frozen=True):
    """On whose behalf tools run: a session, or (`session_id` None) a workspace that has no session yet."""

    session_id: str | None
    cwd: str | None = None


class Sight(msgspec.Struct, frozen=True):
    """What one caller may see, fixed for the length of one call."""

    session_id: str | None
    cwd: str | None

    def allows(self, header: Header | dict[str, Any]) -> bool:
        """Whether a session with this header may be shown: it is the caller's own, or of the very same workspace.

        Workspaces are equal as exact strings; a session without one belongs to none.
        """
        if isinstance(header, Header):
            session_id, cwd = header.id, header.cwd
        else:
            session_id, cwd = header["id"], header.get("cwd")
        if self.session_id is not None and session_id == self.session_id:
            return bool(cwd == self.cwd)
        return self.cwd is not None and bool(cwd == self.cwd)

    def require(self, header: Header | dict[str, Any]) -> None:
        """Raise `UNAUTHORIZED` unless the header that came with the data may be seen.

        The check before a read is not enough: the session may have become another one in between.
        """
        if not self.allows(header):
            raise unauthorized()


def sight_of(engine: QueryEngine, caller: Caller, cancel: CancelToken | None) -> Sight:
    """The caller's own header as it is now.

    A live caller is read without a look at the store, so that its own tools work while the store is broken.
    """
    if caller.session_id is None:
        return Sight(None, caller.cwd)
    return Sight(caller.session_id, engine.header_of(caller.session_id, cancel).cwd)


def visible(engine: QueryEngine, sight: Sight, ids: Sequence[str], cancel: CancelToken | None) -> dict[str, Header]:
    """Those of `ids` that exist and may be seen, with their headers, in the order given, each once."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    found = {
        record.header.id: record.header for record in engine.filter_sessions([{"kind": "id", "values": wanted}], cancel)
    }
    return {name: found[name] for name in wanted if name in found and sight.allows(found[name])}


def authorize(engine: QueryEngine, sight: Sight, session_id: str, cancel: CancelToken | None) -> None:
    """Raise `UNAUTHORIZED` unless the session exists and may be seen; the caller itself needs no look at the store."""
    if session_id != sight.session_id and session_id not in visible(engine, sight, [session_id], cancel):
        raise unauthorized()
