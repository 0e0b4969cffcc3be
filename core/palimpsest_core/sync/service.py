"""Searching a corpus: the request is checked, the index brought up to date, then the provider answers.

The order of checks is the contract's: disabled search, the request itself, cancelling, then the corpus is observed;
an absent session, the cursor's content and the budget are the provider's to look at.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.progress import Progress, ProgressSink
from palimpsest_core.live.store import LiveSession
from palimpsest_core.model.config import Config
from palimpsest_core.model.jsonable import Record
from palimpsest_core.model.search import EventHit, EventPage, SessionPage
from palimpsest_core.query.corpus import Corpus
from palimpsest_core.query.durable import DurableSource
from palimpsest_core.search.fts5.database import IndexDamaged
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.fts5.searcher import Options
from palimpsest_core.search.place import MEMORY
from palimpsest_core.search.request import ABSENT, event_search, literal_scan, session_search
from palimpsest_core.storage.locks import FileLock
from palimpsest_core.sync.logtext import LogTexts
from palimpsest_core.sync.mirror import LiveMirror, StoredMirror
from palimpsest_core.sync.reconcile import Reconciler, Refresh, SyncProgress

_T = TypeVar("_T")
_LOOK_SECONDS = 0.05


class IndexStatus(Record, frozen=True):
    """The state of the index: its file and size in bytes, how many logs it holds, and what was done on opening it."""

    path: str
    open: bool
    bytes: int
    logs: int
    notices: list[str]


class SearchService:
    """One index over one corpus. Thread-safe; searches run side by side, bringing the index up to date does not.

    `index` is a path or `:memory:`; `own_path` says that it is the default one, where a damaged file may be set aside.
    With `openAt: startup` the index is opened here (`INDEX_FAILED` when that cannot be done).
    """

    def __init__(
        self,
        corpus: Corpus,
        root: Path | None,
        *,
        index: str,
        config: Config,
        own_path: bool = False,
        fold_inherited: bool = False,
    ) -> None:
        self._corpus = corpus
        self._root = os.path.realpath(root) if root is not None else ""
        self._index = index
        self._config = config
        self._own_path = own_path
        self._fold_inherited = fold_inherited
        self._opening = threading.Lock()
        self._syncing = threading.Lock()
        self._provider: Fts5Provider | None = None
        self._stored: StoredMirror | None = None
        self._live: LiveMirror | None = None
        self._reconciler: Reconciler | None = None
        self._notices: list[str] = []
        if config.open_at == "startup":
            self.provider()

    def provider(self) -> Fts5Provider:
        """The open provider; opened now if it was not. Raises `SEARCH_DISABLED`, `INDEX_FAILED`."""
        if self._config.open_at == "never":
            raise SessionQueryError(ErrorCode.SEARCH_DISABLED, "Search is switched off by the setting openAt.")
        with self._opening:
            if self._provider is not None and not (self._provider.status().available and not self._provider.superseded):
                # It was damaged and set aside, or removed: a new one is filled from the logs.
                self._notices += self._provider.notices
                self._provider.close()
                self._provider = None
            if self._provider is None:
                strict = self._config.mode == "strict"
                provider = Fts5Provider(
                    self._index,
                    root=self._root,
                    config=self._config,
                    options=Options(strict=strict, fold_inherited=self._fold_inherited, count_matches=not strict),
                    own_path=self._own_path,
                    text_source=None if self._config.store_text else LogTexts(self._config),
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
        return self._ask(lambda provider: provider.search_sessions(request, cancel), fresh, cursor, cancel)

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
        return self._ask(lambda provider: provider.search_events(request, cancel), fresh, cursor, cancel)

    def _ask(self, search: Callable[[Fts5Provider], _T], fresh: bool, cursor: Any, cancel: CancelToken | None) -> _T:
        """Search; an index that proves to be damaged meanwhile is filled anew first, so that no answer is short."""
        provider = self.provider()
        try:
            if fresh:
                self.observe(cancel)
                provider = self.provider()
            return search(provider)
        except IndexDamaged:
            provider = self.provider()
            if self.observe(cancel).elsewhere:
                raise  # another process fills it; what is there by now is only a part
            if cursor is not None:
                message = "The index was damaged and has been rebuilt: the pages start anew."
                raise SessionQueryError(ErrorCode.STALE_CURSOR, message) from None
            return search(provider)

    def scan_text(
        self,
        text: Any,
        session_filters: Any = None,
        event_filters: Any = None,
        cancel: CancelToken | None = None,
        progress: Callable[[int, int], None] | None = None,
        *,
        fresh: bool = True,
    ) -> Iterator[EventHit]:
        """See `Engine.scan_text`."""
        self._refuse_disabled()
        request = literal_scan(text, session_filters, event_filters, config=self._config)
        check(cancel)
        provider = self.provider()
        if fresh:
            self.observe(cancel)
        return provider.scan(request, cancel, progress)

    def _refuse_disabled(self) -> None:
        if self._config.open_at == "never":
            self.provider()

    def index(self) -> Fts5Provider | None:
        """The open index, None where search is switched off."""
        return None if self._config.open_at == "never" else self.provider()

    def look_up(self, work: Callable[[Fts5Provider | None], _T]) -> _T:
        """Do something with the index as it is (None where search is switched off).

        When it proves to be damaged, it is done with the empty one that takes its place.
        """
        try:
            return work(self.index())
        except IndexDamaged:
            return work(self.index())

    def observe(self, cancel: CancelToken | None = None) -> Refresh:
        """Make the index equal to the corpus as it is now. Raises what the sources refuse.

        `elsewhere`: another process does that for the stored sessions.
        """
        provider = self.provider()
        strict = self._config.mode == "strict"
        done = Refresh()
        with self._one_at_a_time(cancel):
            live = self._corpus.live.sessions() if self._corpus.live is not None else []
            if strict or live:
                # A conflict of headers or, in strict mode, an unreadable root refuses the search as a whole.
                self._corpus.records(cancel)
            stored: frozenset[str] = frozenset()
            if self._corpus.durable is not None:
                if strict:
                    stored = self._mirror(self._corpus.durable, live, cancel)
                else:
                    done = self._reconcile(cancel, None)
                    if live:
                        stored = frozenset(entry.session_id for entry in provider.persisted_inventory())
            assert self._live is not None
            self._live.sync(live, stored, cancel)
        return done

    def _mirror(self, durable: DurableSource, live: list[LiveSession], cancel: CancelToken | None) -> frozenset[str]:
        assert self._stored is not None
        try:
            return self._stored.sync(durable, frozenset(session.id for session in live), cancel)
        except SessionQueryError as error:
            if error.code is not ErrorCode.CORRUPT_SESSION:
                raise
            # To a search an unreadable log is a failure of the store, whatever is wrong with it.
            raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, error.message) from error

    def refresh(self, cancel: CancelToken | None = None, progress: ProgressSink | None = None) -> Refresh:
        """Bring the index up to date with the stored logs and tell what changed (tolerant mode).

        Does nothing (`elsewhere`) while another process has that task.
        """
        self.provider()
        if self._corpus.durable is None:
            return Refresh()
        with self._one_at_a_time(cancel):
            try:
                return self._reconcile(cancel, progress)
            except IndexDamaged:
                return self._reconcile(cancel, progress)

    def _reconcile(self, cancel: CancelToken | None, progress: ProgressSink | None) -> Refresh:
        def tell(step: SyncProgress) -> None:
            if progress is not None:
                progress(Progress(step.bytes_done, step.bytes_total, "bytes", step.path))

        lock = None if self._index == MEMORY else FileLock(f"{self._index}.lock")
        if lock is not None and not lock.acquire():
            return Refresh(elsewhere=True)
        try:
            provider = self.provider()
            if self._reconciler is None or self._reconciler.index is not provider:
                self._reconciler = Reconciler(provider, self._root, self._config)
            return self._reconciler.run(cancel, tell)
        finally:
            if lock is not None:
                lock.release()

    def rebuild(self) -> None:
        """Forget everything in the index, so that the next refresh reads every log again."""
        with self._one_at_a_time(None):
            self.look_up(_empty)

    @property
    def path(self) -> str:
        """Where the index is, or `:memory:`; opens nothing."""
        return self._index

    def status(self) -> IndexStatus:
        """Where the index is and how it is."""
        logs = self.look_up(lambda index: len(index.known_logs()) if index is not None else 0)
        provider = self.index()
        if provider is None:
            return IndexStatus(path=self._index, open=False, bytes=0, logs=0, notices=[])
        size = os.path.getsize(self._index) if self._index != MEMORY and os.path.exists(self._index) else 0
        return IndexStatus(
            path=self._index,
            open=True,
            bytes=size,
            logs=logs,
            notices=self.notices(),
        )

    def notices(self) -> list[str]:
        """What was done to the index since this was made, in sentences for people; opens nothing."""
        with self._opening:
            return [*self._notices, *(self._provider.notices if self._provider is not None else ())]

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


def _empty(index: Fts5Provider | None) -> None:
    if index is not None:
        with index.batch():
            for held in list(index.known_logs().values()):
                index.remove_log(held.number)


def _given(cursor: Any) -> Any:
    return ABSENT if cursor is None else cursor
