"""The calls of the engine that search; they are the engine's own, apart only for the length of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.search import EventHit, EventPage, Filter, SessionPage
from palimpsest_core.sync.service import SearchService


class SearchCalls:
    """Searches over the engine's corpus."""

    _search: SearchService

    def search_sessions(
        self,
        query: Any,
        session_filters: list[Filter] | None = None,
        event_filters: list[Filter] | None = None,
        limit: Any = None,
        cursor: Any = None,
        cancel: CancelToken | None = None,
        *,
        fresh: bool = True,
    ) -> SessionPage:
        """A page of the sessions in which an event holds the phrase `query`, each with its strongest event.

        `cursor` is the `next_cursor` of the page before. `fresh` False answers from the index as it is, for callers
        that have it kept up to date by another process. Raises `SEARCH_DISABLED`, `INVALID_FILTER`, `INVALID_CURSOR`,
        `INVALID_QUERY`, `INVALID_LIMIT`, `ABORTED`, what the sources refuse, `STALE_CURSOR`: in this order.
        """
        return self._search.search_sessions(query, session_filters, event_filters, limit, cursor, cancel, fresh=fresh)

    def search_events(
        self,
        session_id: Any,
        query: Any,
        filters: list[Filter] | None = None,
        limit: Any = None,
        cursor: Any = None,
        cancel: CancelToken | None = None,
        *,
        fresh: bool = True,
    ) -> EventPage:
        """A page of the events of one session that hold the phrase `query`. As `search_sessions`, and
        `SESSION_NOT_FOUND`."""
        return self._search.search_events(session_id, query, filters, limit, cursor, cancel, fresh=fresh)

    def scan_text(
        self,
        text: Any,
        session_filters: list[Filter] | None = None,
        event_filters: list[Filter] | None = None,
        cancel: CancelToken | None = None,
        progress: Callable[[int, int], None] | None = None,
        *,
        fresh: bool = True,
    ) -> Iterator[EventHit]:
        """Every event of the corpus whose semantic text holds `text` literally, in any letter case, as it is found.

        Sessions with the latest activity come first, within each the events by seq; a copy in a fork's inherited prefix
        is left to its birthplace. `progress` is told how many logs have been looked through, of how many. Raises
        `SEARCH_DISABLED`, `INVALID_FILTER`, `INVALID_QUERY` (no text, or blank), and `ABORTED`.
        """
        return self._search.scan_text(text, session_filters, event_filters, cancel, progress, fresh=fresh)
