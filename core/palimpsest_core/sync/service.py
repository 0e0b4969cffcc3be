"""Searching a corpus: the request is checked, the index brought up to date, then the provider answers.

The order of checks is the contract's: disabled search, the request itself, cancelling, then the corpus is observed;
an absent session, the cursor's content and the budget are the provider's to look at.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.search import EventPage, SessionPage
from palimpsest_core.query.corpus import Corpus
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.fts5.searcher import Options
from palimpsest_core.search.request import ABSENT, event_search, session_search
from palimpsest_core.sync.mirror import LiveMirror, StoredMirror

_LOOK_SECONDS = 0.05


def default_index_path(root: Path) -> Path:
    """Where the index of a root is kept for this user: one file for each real path, in the platform's cache folder."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]
    return platformdirs.user_cache_path("palimpsest", appauthor=False) / f"{name}.sqlite"


class SearchService:
    """One index over one corpus. Thread-safe; searches run side by side, bringing the index up to date does not.

    `index` is a path or `:memory:`; `own_path` says that it is the default one, where a damaged file may be set aside.
    With `openAt: startup` the index is opened here (`INDEX_FAILED` when that cannot be done).
    """

    def __init__(
        self, corpus: Corpus, root: Path | None, *, index: str, config: Config, own_path: bool = False
    ) -> None:
        self._corpus = corpus
        self._root = os.path.realpath(root) if root is not None else ""
        self._index = index
        self._config = config
        self._own_path = own_path
        self._opening = threading.Lock()
        self._syncing = threading.Lock()
        self._provider: Fts5Provider | None = None
        self._stored: StoredMirror | None = None
        self._live: LiveMirror | None = None
        if config.open_at == "startup":
            self.provider()

    def provider(self) -> Fts5Provider:
        """The open provider; opened now if it was not. Raises `SEARCH_DISABLED`, `INDEX_FAILED`."""
        if self._config.open_at == "never":
            raise SessionQueryError(ErrorCode.SEARCH_DISABLED, "Search is switched off by the setting openAt.")
        with self._opening:
            if self._provider is None:
                strict = self._config.mode == "strict"
                provider = Fts5Provider(
                    self._index,
                    root=self._root,
                    config=self._config,
                    options=Options(strict=strict, fold_inherited=not strict, count_matches=not strict),
                    own_path=self._own_path,
                )
                provider.set_persisted_active(self._corpus.durable is not None)
                self._stored = StoredMirror(provider, self._config)
                self._live = LiveMirror(provider, self._config)
                self._provider = provider
            return self._provider

    def search_sessions(
        self,
        query: Any,
        session_filters: Any = None,
        event_filters: Any = None,
        limit: Any = None,
        cursor: Any = None,
        cancel: CancelToken | None = None,
        *,
        fresh: bool = True,
    ) -> SessionPage:
        """See `Engine.search_sessions`."""
        self._refuse_disabled()
        request = session_search(query, session_filters, event_filters, limit, _given(cursor), config=self._config)
        check(cancel)
        provider = self.provider()
        if fresh:
            self.observe(cancel)
        return provider.search_sessions(request, cancel)

    def search_events(
        self,
        session_id: Any,
        query: Any,
        filters: Any = None,
        limit: Any = None,
        cursor: Any = None,
        cancel: CancelToken | None = None,
        *,
        fresh: bool = True,
    ) -> EventPage:
        """See `Engine.search_events`."""
        self._refuse_disabled()
        request = event_search(session_id, query, filters, limit, _given(cursor), config=self._config)
        check(cancel)
        provider = self.provider()
        if fresh:
            self.observe(cancel)
        return provider.search_events(request, cancel)

    def _refuse_disabled(self) -> None:
        if self._config.open_at == "never":
            self.provider()

    def observe(self, cancel: CancelToken | None = None) -> None:
        """Make the index equal to the corpus as it is now. Raises what the sources refuse."""
        self.provider()
        with self._one_at_a_time(cancel):
            # Listing first: a conflict of headers or an unreadable root refuses the search as a whole.
            self._corpus.records(cancel)
            assert self._stored is not None
            assert self._live is not None
            live = self._corpus.live.sessions() if self._corpus.live is not None else []
            stored: frozenset[str] = frozenset()
            if self._corpus.durable is not None:
                try:
                    stored = self._stored.sync(self._corpus.durable, frozenset(item.id for item in live), cancel)
                except SessionQueryError as error:
                    if error.code is not ErrorCode.CORRUPT_SESSION:
                        raise
                    # To a search an unreadable log is a failure of the store, whatever is wrong with it.
                    raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, error.message) from error
            self._live.sync(live, stored, cancel)

    @contextmanager
    def _one_at_a_time(self, cancel: CancelToken | None) -> Iterator[None]:
        while not self._syncing.acquire(timeout=_LOOK_SECONDS):
            check(cancel)
        try:
            yield
        finally:
            self._syncing.release()

    def set_mounted(self, mounted: bool) -> None:
        """Show or hide the stored sessions of the index at once."""
        with self._opening:
            if self._provider is not None:
                self._provider.set_persisted_active(mounted)

    def close(self) -> None:
        """Close the index. Twice is fine."""
        with self._opening:
            if self._provider is not None:
                self._provider.close()
                self._provider = None


def _given(cursor: Any) -> Any:
    return ABSENT if cursor is None else cursor
