"""The built-in provider: one connection, one lock, searches that can be interrupted."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import apsw
import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import SessionQueryError, aborted
from palimpsest_core.model.config import Config
from palimpsest_core.model.search import EventHit, EventPage, SessionPage
from palimpsest_core.model.session import SessionSummary
from palimpsest_core.search.documents import ACTIVE_SECONDS
from palimpsest_core.search.fts5 import schema
from palimpsest_core.search.fts5.database import (
    MEMORY,
    IndexDamaged,
    identity,
    immediate,
    index_failed,
    open_index,
    set_aside,
)
from palimpsest_core.search.fts5.heldlogs import HeldLogs
from palimpsest_core.search.fts5.live import LiveTables
from palimpsest_core.search.fts5.pages import PageBuilder, TextSource
from palimpsest_core.search.fts5.scanning import (
    BodyScan,
    LogToScan,
    ScanScope,
    hits_of_texts,
    scan_logs,
    texts_that_hold,
)
from palimpsest_core.search.fts5.searcher import Options, Searcher
from palimpsest_core.search.fts5.store import Store
from palimpsest_core.search.fts5.summaries import Summaries
from palimpsest_core.search.literal import Literal
from palimpsest_core.search.matching import Matcher
from palimpsest_core.search.provider import (
    IndexGrowth,
    IndexSnapshot,
    PersistedEntry,
    ProviderStatus,
    Unavailable,
    entry_of,
)
from palimpsest_core.search.request import ScanRequest, SearchRequest

_T = TypeVar("_T")
_LOCK_LOOK_S = 0.05
_STEPS_BETWEEN_LOOKS = 20_000


class Fts5Provider(HeldLogs):
    """SQLite FTS5 behind the provider protocol; also a `LogIndex`.

    >>> provider = Fts5Provider(":memory:")
    >>> provider.status().available
    True
    """

    id = "sqlite-fts5"

    def __init__(
        self,
        path: str,
        *,
        root: str = "",
        config: Config | None = None,
        options: Options | None = None,
        own_path: bool = False,
        text_source: TextSource | None = None,
    ) -> None:
        """Open (or make) the index at `path`. Raises `INDEX_FAILED` when that cannot be done.

        `root` is the real path of the session root that the index belongs to. An index of another root or of other
        text settings is emptied. `notices` tells afterwards what was done, in sentences for people.
        """
        self.path = path
        self._config = config or Config()
        self._options = options or Options()
        self._text_source = text_source
        self._lock = threading.RLock()
        self.notices: list[str] = []
        try:
            self._open(root, own_path)
        except IndexDamaged:
            self._open(root, own_path)

    def _open(self, root: str, own_path: bool) -> None:
        opened = open_index(self.path, journal_mode=self._config.journal_mode, own_path=own_path)
        self._db = opened.db
        self._closed = False
        self._file = identity(self.path)
        self.notices += opened.notices
        try:
            with self._errors():
                self._claim(root)
                tokenizer, store_text = self._config.tokenizer, self._config.store_text
                self._store = Store(self._db, tokenizer, store_text=store_text)
                self._live = LiveTables(self._db, tokenizer)
                self.matcher = Matcher(tokenizer)
                pages = PageBuilder(self._db, self.matcher, self._config.snippet_chars, self._text_source)
                self._searcher = Searcher(
                    self._db, self.id, self._store, self._live, self.matcher, pages, self._options
                )
                self._summaries = Summaries(self._db)
        except BaseException:
            self._db.close()
            raise

    def _claim(self, root: str) -> None:
        """Make sure that the tables hold this root with these settings, emptying them when they hold another."""
        wanted = {
            "root": root,
            "rows": "sessions" if self._options.strict else "logs, withheld rows too",
            "tokenizer": self._config.tokenizer,
            "store_text": str(self._config.store_text),
        }

        def held() -> dict[str, Any]:
            rows = self._db.execute("select key, value from meta where key <> 'generation'")
            return {str(key): value for key, value in rows}

        if held() == wanted:
            return
        with immediate(self._db):
            now = held()
            if now == wanted:
                return
            if now:
                generation = self._db.execute("select value from meta where key='generation'").fetchone()
                schema.drop_tables(self._db)
                schema.create_tables(self._db)
                self._db.execute(
                    "insert into meta values('generation', ?)", (1 + int(generation[0] if generation else 0),)
                )
                self.notices.append("The index was made for another root or other settings and is being rebuilt.")
            self._db.executemany("insert into meta values(?,?)", list(wanted.items()))

    # -- the seed's protocol ---------------------------------------------------------------------------------------

    def status(self) -> ProviderStatus:
        """Whether searches can be answered now."""
        return ProviderStatus(False, Unavailable.UNAVAILABLE) if self._closed else ProviderStatus(True)

    def persisted_inventory(self) -> list[PersistedEntry]:
        """Every stored session that is held, active or not."""
        return self._read(
            None,
            lambda: [
                PersistedEntry(session, revision)
                for session, revision in self._db.execute("select session, revision from log where session is not null")
            ],
        )

    def set_persisted_active(self, active: bool) -> None:
        """Hide or show the stored sessions; each change ages the cursors over them."""
        with self._lock:
            if active != self._searcher.persisted_active:
                self._searcher.persisted_active = active
                self._searcher.mounts += 1

    def replace_persisted(self, snapshot: IndexSnapshot) -> None:
        """Make this all that is held of a stored session."""
        with self.batch():
            self.remove_persisted(snapshot.session.header.id)
            number = self._store.add_log(entry_of(snapshot))
            self._store.add_documents(number, snapshot.documents)

    def append_persisted(self, growth: IndexGrowth) -> None:
        """Add to a stored session that is held."""
        with self.batch():
            number = self._store.number_of(growth.session.header.id)
            if number is None:
                raise index_failed(f'The index does not hold the session "{growth.session.header.id}".')
            self._store.update_log(number, entry_of(growth))
            self._store.add_documents(number, growth.documents)
            for surface in set(growth.remarked.values()):
                self._store.mark(number, [seq for seq, mark in growth.remarked.items() if mark == surface], surface)

    def remove_persisted(self, session_id: str) -> None:
        """Forget a stored session."""
        with self.batch():
            number = self._store.number_of(session_id)
            if number is not None:
                self._store.remove_log(number)

    def replace_live(self, snapshot: IndexSnapshot) -> None:
        """Make this all that is held of a live session."""
        with self._lock, self._errors(), self._savepoint():
            self._live.replace(snapshot.session, snapshot.fingerprint, snapshot.documents)

    def append_live(self, growth: IndexGrowth) -> None:
        """Add to a live session that is held."""
        with self._lock, self._errors(), self._savepoint():
            self._live.append(growth.session, growth.fingerprint, growth.documents, growth.remarked)

    def remove_live(self, session_id: str) -> None:
        """Forget a live session."""
        with self._lock, self._errors(), self._savepoint():
            self._live.remove(session_id)

    def search_sessions(self, request: SearchRequest, cancel: CancelToken | None = None) -> SessionPage:
        """A page of sessions, each with its best event."""
        return self._read(cancel, lambda: self._searcher.search_sessions(request, cancel))

    def search_events(self, request: SearchRequest, cancel: CancelToken | None = None) -> EventPage:
        """A page of one session's events."""
        return self._read(cancel, lambda: self._searcher.search_events(request, cancel))

    def scan(
        self,
        request: ScanRequest,
        cancel: CancelToken | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[EventHit]:
        """Every document that holds the literal, as they are found: latest sessions first, then by seq.

        `progress` is told how many logs have been looked through, of how many. Without stored texts the logs themselves
        are read, which takes much longer. Searches go on meanwhile. Raises `ABORTED`.
        """
        token = CancelToken() if cancel is None else cancel
        scopes = self._read(token, lambda: self._searcher.scan_scopes(request))
        done, total = 0, sum(len(scope.logs) for scope in scopes)
        for scope in scopes:
            groups = scope.groups()
            with self._errors():
                for group, hits in zip(groups, self._scanned(scope, groups, request.literal, token), strict=True):
                    for hit in hits:
                        check(token)
                        yield hit
                    done += len(group)
                    if progress is not None:
                        progress(done, total)

    def _scanned(
        self, scope: ScanScope, groups: list[list[LogToScan]], literal: Literal, cancel: CancelToken
    ) -> Iterator[list[EventHit]]:
        """The hits of each group: by threads with connections of their own where the texts lie in a file."""
        chars, source = self._config.snippet_chars, self._text_source
        if scope.prefix or (self.path == MEMORY and self._config.store_text):
            for group in groups:
                yield self._read(cancel, partial(scan_logs, self._db, scope, group, literal, chars, cancel))
        elif self._config.store_text:
            yield from BodyScan(self._another, literal, chars).hits(scope, cancel)
        else:
            for group in groups:
                check(cancel)
                found = [] if source is None else texts_that_hold(self._read, self._db, group, source, literal, scope)
                yield self._read(cancel, partial(hits_of_texts, self._db, scope, found, literal, chars))

    def _another(self) -> apsw.Connection:
        """One more connection to the index, for a thread of its own."""
        return open_index(self.path, journal_mode=self._config.journal_mode).db

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """A write transaction; nested ones join it."""
        with self._lock, self._errors(), self._store.batch():
            yield

    @contextlib.contextmanager
    def interruptible(self, cancel: CancelToken | None) -> Iterator[None]:
        """Inside, a statement that runs when the token is set ends at once, and its batch with it: `ABORTED`."""
        try:
            with cancel.on_set(self._db.interrupt) if cancel is not None else contextlib.nullcontext():
                yield
        except apsw.InterruptError as error:
            raise aborted() from error

    def tidy(self, cancel: CancelToken | None = None) -> None:
        """Merge what a bulk build left in parts, and give back the disk space that it left free."""
        with self._lock, self._errors():
            self._store.tidy(cancel)

    # -- the session list ------------------------------------------------------------------------------------------

    def summaries(
        self,
        active_seconds: float = ACTIVE_SECONDS,
        now: float | None = None,
        cancel: CancelToken | None = None,
    ) -> list[SessionSummary]:
        """A row for every session and for every log that cannot be one, in no particular order; one quick query.

        An open turn counts as active while its log grew within `active_seconds` of `now` (seconds since the epoch).
        """
        return self._read(cancel, lambda: self._summaries.listed(active_seconds, now))

    def summaries_of(self, session_id: str) -> list[SessionSummary]:
        """Every log of one session (generations, twins), the one that answers first; empty when there is none."""
        return self._read(None, lambda: self._summaries.of_session(session_id))

    def ids_with_prefix(self, prefix: str, limit: int = 20) -> list[str]:
        """Up to `limit` session ids that start with `prefix`, ascending."""
        return self._read(None, lambda: self._summaries.ids_with_prefix(prefix, limit))

    # -- running statements ----------------------------------------------------------------------------------------

    def _read(self, cancel: CancelToken | None, work: Callable[[], _T]) -> _T:
        """Run `work` on one state of the index; a cancelled token interrupts its running statement."""
        with self._locked(cancel), self._errors():
            while True:
                check(cancel)
                try:
                    with self._savepoint(), self._interruptible(cancel):
                        return work()
                except (UnicodeDecodeError, msgspec.DecodeError) as error:
                    # A row holds what nobody wrote there, in a file that keeps no checksums.
                    self._give_up()
                    raise IndexDamaged(self.path) from error
                except apsw.InterruptError as error:
                    if cancel is not None and cancel.is_set():
                        raise aborted() from error
                    # The interruption was meant for the search before this one; it came late.

    @contextlib.contextmanager
    def _savepoint(self) -> Iterator[None]:
        with self._db:
            yield

    @contextlib.contextmanager
    def _locked(self, cancel: CancelToken | None) -> Iterator[None]:
        if cancel is None:
            self._lock.acquire()
        else:
            while not self._lock.acquire(timeout=_LOCK_LOOK_S):
                check(cancel)
        try:
            yield
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def _interruptible(self, cancel: CancelToken | None) -> Iterator[None]:
        if cancel is None:
            yield
            return
        # Two ways, because an interruption that comes between two statements is lost.
        self._db.set_progress_handler(cancel.is_set, _STEPS_BETWEEN_LOOKS)
        try:
            with cancel.on_set(self._db.interrupt):
                yield
        finally:
            self._db.set_progress_handler(None)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (apsw.CorruptError, apsw.NotADBError) as error:
            self._give_up()
            raise IndexDamaged(self.path) from error
        except apsw.InterruptError:
            raise
        except apsw.BusyError as error:
            raise index_failed(
                f"Another process is writing to the index {self.path} and did not finish in time."
            ) from error
        except apsw.FullError as error:
            raise index_failed(f"There is no room left on the disk for the index {self.path}.") from error
        except (apsw.Error, OverflowError) as error:
            if "fts5" in str(error) and "format" in str(error):  # its tables do not fit together: a plain SQL error
                self._give_up()
                raise IndexDamaged(self.path) from error
            raise index_failed(f"The index {self.path} could not be used ({error}).") from error

    def _give_up(self) -> None:
        """The file is damaged: close it and put it aside, so that the next opening starts anew."""
        with contextlib.suppress(apsw.Error):
            self.close()
        if self.path != MEMORY:
            with contextlib.suppress(SessionQueryError):
                self.notices.append(set_aside(self.path))

    @property
    def superseded(self) -> bool:
        """Whether another file has taken the place of the one that is open (it was damaged, or removed)."""
        if self.path == MEMORY:
            return False
        try:
            there = os.stat(self.path)
        except OSError:
            return True
        return (there.st_dev, there.st_ino) != self._file

    def close(self) -> None:
        """Close the index. Nothing may be called afterwards; closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                # A full disk keeps the journal from being put into its file: it stays beside it, and nothing is lost.
                with contextlib.suppress(apsw.Error):
                    self._db.close()
