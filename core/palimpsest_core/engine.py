"""The engine: opens a corpus and hands out reads, searches, traces and exports; no logic of its own.

All calls are synchronous, thread-safe and cancellable; every value returned is detached. Failures are
`SessionQueryError`. Names are the snake_case of the contract's.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest_core.base.cancel import CancelToken, check, watched
from palimpsest_core.base.collector import collector_resting
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.progress import ProgressSink
from palimpsest_core.log.text import registry_for
from palimpsest_core.model.config import APP_CONFIG, Config
from palimpsest_core.model.event import EventDocument, EventRecord, EventTrace, EventWindow
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import (
    SessionLog,
    SessionRecord,
    SessionSummary,
    SessionTrace,
    SettledTitle,
    SurfaceSnapshot,
    Title,
    TitleSnapshot,
)
from palimpsest_core.query import reads, traces
from palimpsest_core.query.corpus import Corpus, not_found
from palimpsest_core.query.durable import DurableSource, file_at, unreadable_file
from palimpsest_core.query.filters import parse_event_filters, parse_session_filters, session_matcher
from palimpsest_core.query.openlog import OpenLog
from palimpsest_core.search.place import index_path
from palimpsest_core.storage.attachments import attachment_store
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.sync import overview
from palimpsest_core.sync.calls import SearchCalls
from palimpsest_core.sync.healthcalls import HealthCalls
from palimpsest_core.sync.reconcile import Refresh
from palimpsest_core.sync.service import IndexStatus, SearchService
from palimpsest_core.writer.errors import WriteRefused

if TYPE_CHECKING:
    from palimpsest_core.export.plan import ExportPlan
    from palimpsest_core.export.transcript import Form, TranscriptResult
    from palimpsest_core.export.zip import ExportResult
    from palimpsest_core.live.store import SessionStore
    from palimpsest_core.writer.rescue import Rescue

# What only exports, rescues and the health survey need is loaded by them: the list of sessions does not wait for it.


class Engine(SearchCalls, HealthCalls):
    """Reads, searches and traces over the logs below `root` and the live sessions of `store`.

    `root` None: no stored sessions. `index` is the path of the derived index (or `:memory:`); by default one in the
    user's cache folder. `config` is `APP_CONFIG` by default. `mounted` False: the stored sessions are away until
    `mount`. `fold_inherited`: a hit in a prefix that forks copied is shown once, where it was born (the default in
    tolerant mode). Close it, or use it in a `with` statement. Raises `INDEX_FAILED` when the index cannot be opened.
    """

    def __init__(
        self,
        root: Path | None,
        *,
        index: Path | str | None = None,
        config: Config | None = None,
        store: SessionStore | None = None,
        mounted: bool = True,
        fold_inherited: bool | None = None,
    ) -> None:
        self.root = root
        self.index = index
        self.config = config if config is not None else APP_CONFIG
        self.store = store
        self._registry = registry_for(self.config.extractors)
        self._durable = DurableSource(root, self.config) if root is not None else None
        self._corpus = Corpus(self._durable if mounted else None, store, strict=self.config.mode == "strict")
        fold = self.config.mode != "strict" if fold_inherited is None else fold_inherited
        own_path, place = index is None and root is not None, index_path(root, index)
        self._search = SearchService(
            self._corpus, root, index=place, config=self.config, own_path=own_path, fold_inherited=fold
        )

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held. Twice is fine."""
        self._search.close()

    # Sources --------------------------------------------------------------------------------------------------------

    @property
    def mounted(self) -> bool:
        """Whether the stored sessions are there."""
        return self._corpus.durable is not None

    def mount(self) -> None:
        """Bring the stored sessions back."""
        self._corpus.durable = self._durable
        self._search.set_mounted(self._durable is not None)

    def unmount(self) -> None:
        """Take the stored sessions away; live ones stay."""
        self._corpus.durable = None
        self._search.set_mounted(False)

    # Sessions -------------------------------------------------------------------------------------------------------

    def list_sessions(self, cancel: CancelToken | None = None) -> list[SessionRecord]:
        """Every session, newest first; only headers are read.

        In tolerant mode a session that the index has read also tells generation, findings, lineage and counts.
        """
        records = self._corpus.records(cancel)
        if self.config.mode == "strict" or not self.mounted:
            return records
        known = overview.known_rows
        rows = self._search.look_up(lambda index: known(index, cancel) if index is not None else {})
        return [overview.enriched(record, rows.get(record.header.id, ())) for record in watched(records, cancel)]

    def filter_sessions(self, filters: Any, cancel: CancelToken | None = None) -> list[SessionRecord]:
        """The sessions that pass every filter, in the order of `list_sessions`. Raises `INVALID_FILTER`."""
        passes = session_matcher(parse_session_filters(filters))
        return [record for record in watched(self.list_sessions(cancel), cancel) if passes(record)]

    def trace_session(self, session_id: Any, cancel: CancelToken | None = None) -> SessionTrace:
        """Ancestors and descendants of a session. Raises `SESSION_NOT_FOUND`, `INVALID_LINEAGE`."""
        return traces.trace_session(self.list_sessions(cancel), session_id, cancel)

    # For people: always tolerant ------------------------------------------------------------------------------------

    def sessions(self, cancel: CancelToken | None = None, *, fresh: bool = True) -> list[SessionSummary]:
        """A row for every session and every log that cannot be read, with its reason; in no particular order.

        `fresh` looks at the root: what the index does not know in its present state is listed from its header.
        Otherwise the rows are the index's alone (quick; empty before the first `refresh`).
        """
        if not fresh or self._durable is None:
            known = overview.known_overview
            return self._search.look_up(lambda index: known(index, cancel) if index is not None else [])
        present, root = overview.present_overview, self._durable.root
        return self._search.look_up(lambda index: present(root, index, self.config, cancel))

    def lineage(self, session_id: str, cancel: CancelToken | None = None, *, fresh: bool = True) -> SessionTrace:
        """As `trace_session`, for people: circles, lost parents and unreadable logs end the trace with a reason."""
        rows = self.sessions(cancel, fresh=fresh)
        records = [record for row in watched(rows, cancel) if (record := overview.record_of(row)) is not None]
        return traces.trace_tolerantly(records, session_id, overview.unreadable_reasons(rows), cancel)

    def resolve_id(self, text: str, cancel: CancelToken | None = None) -> str:
        """The one session id that `text` is or begins.

        Raises `SESSION_NOT_FOUND` when there is none, `INVALID_FILTER` when there are several.
        """
        return overview.resolve(text, [row.id for row in self.sessions(cancel)])

    def open_log(self, session_id: str, generation: int | None = None, *, path: str | None = None) -> OpenLog:
        """A stored log for looking at; call `load` next, in a worker. Raises `SESSION_NOT_FOUND`, `PERSISTENCE_FAILED`.

        `generation` chooses among several files of the session, `path` that very one (twins, or one id in two folders).
        """
        file = self._file_of(session_id, generation) if path is None else file_at(path)
        try:
            return OpenLog.start(file, config=self.config)
        except OSError as error:
            raise unreadable_file(file, error) from error

    def logs_of(self, session_id: str) -> list[SessionSummary]:
        """A row for each file of a session, the one that answers first. Raises `SESSION_NOT_FOUND`."""
        from palimpsest_core.sync import health

        primary, root = self._file_of(session_id, None), self.root
        assert root is not None
        return self._search.look_up(lambda index: health.logs_of_session(root, session_id, primary, index, self.config))

    def refresh(self, cancel: CancelToken | None = None, progress: ProgressSink | None = None) -> Refresh:
        """Bring the index up to date with the logs. Does nothing while another process has that task."""
        return self._search.refresh(cancel, progress)

    def rebuild_index(self) -> None:
        """Empty the index; the next `refresh` reads every log again."""
        self._search.rebuild()

    def index_notices(self) -> list[str]:
        """What was done to the index file so far, such as setting a damaged one aside; opens nothing."""
        return self._search.notices()

    @property
    def index_path(self) -> str:
        """Where the index is, or `:memory:`; opens nothing."""
        return self._search.path

    def index_status(self) -> IndexStatus:
        """Where the index is and how it is."""
        return self._search.status()

    # Export ---------------------------------------------------------------------------------------------------------

    def plan_export(
        self,
        session_id: str,
        descendants: bool = True,
        cancel: CancelToken | None = None,
        progress: ProgressSink | None = None,
    ) -> ExportPlan:
        """What an archive of a session (and everything below it) would hold. A live session is flushed first.

        Raises `SESSION_NOT_FOUND`, `PERSISTENCE_FAILED`, `ABORTED`.
        """
        from palimpsest_core.export.plan import descendant_ids, make_plan

        trace = traces.trace_tolerantly(self._corpus.records(cancel), session_id, {}, cancel)
        ids = [session_id, *(descendant_ids(trace.descendants) if descendants else [])]
        for live_id in ids:
            self._flush(live_id)
        logs = [(each, self._file_of(each, None)) for each in ids]
        assert self.root is not None
        return make_plan(logs, attachment_store(self.root), config=self.config, cancel=cancel, progress=progress)

    def export(
        self,
        plan: ExportPlan,
        target: Path,
        *,
        level: int = 6,
        overwrite: bool = False,
        allow_missing: bool = False,
        cancel: CancelToken | None = None,
        progress: ProgressSink | None = None,
    ) -> ExportResult:
        """Write the archive of a plan: whole or not at all. Raises `ExportError`, `SessionQueryError`."""
        from palimpsest_core.export.zip import write_archive

        return write_archive(
            plan,
            target,
            config=self.config,
            level=level,
            overwrite=overwrite,
            allow_missing=allow_missing,
            cancel=cancel,
            progress=progress,
        )

    def transcript(
        self,
        session_id: str,
        target: Path,
        form: Form,
        *,
        generation: int | None = None,
        everything: bool = False,
        redact_secrets: bool = False,
        redact_home: bool = False,
        overwrite: bool = False,
        cancel: CancelToken | None = None,
        progress: ProgressSink | None = None,
    ) -> TranscriptResult:
        """Tell one session as Markdown, HTML or JSON Lines: its current surface, or `everything`, marked.

        A live session is flushed first. Raises `SESSION_NOT_FOUND`, `PERSISTENCE_FAILED`, `ABORTED`, `ExportError`.
        """
        from palimpsest_core.export.transcript import write_transcript

        self._flush(session_id)
        file = self._file_of(session_id, generation)
        assert self.root is not None
        return write_transcript(
            file,
            target,
            form,
            config=self.config,
            everything=everything,
            redact_secrets=redact_secrets,
            redact_home=redact_home,
            attachments=attachment_store(self.root),
            overwrite=overwrite,
            cancel=cancel,
            progress=progress,
        )

    def rescue(
        self,
        session_id: str,
        root: Path,
        *,
        generation: int | None = None,
        path: str | None = None,
        write: bool = False,
        cancel: CancelToken | None = None,
    ) -> Rescue:
        """Copy the readable prefix of a log into another root; without `write` only tell what that would give.

        `generation` and `path` choose as in `open_log`. Raises `SESSION_NOT_FOUND`, `PERSISTENCE_FAILED`, `ABORTED`,
        and `WriteRefused` when a log is there already.
        """
        from palimpsest_core.writer.rescue import rescue

        file = self._file_of(session_id, generation) if path is None else file_at(path)
        return rescue(file, root, config=self.config, write=write, cancel=cancel)

    def _flush(self, session_id: str) -> None:
        """Let a live session reach the disk before its log is read."""
        if self.store is None or self.store.get(session_id) is None:
            return
        try:
            self.store.flush(session_id)
        except WriteRefused as error:
            raise SessionQueryError(
                ErrorCode.PERSISTENCE_FAILED, f"The live session {session_id!r} has no log of its own: {error.message}"
            ) from error

    # One session ----------------------------------------------------------------------------------------------------

    @collector_resting
    def read_session(
        self, session_id: Any, cancel: CancelToken | None = None, *, generation: int | None = None
    ) -> SessionLog:
        """Header and all events of the balanced view."""
        return reads.session_log(self._observe(session_id, cancel, generation), cancel)

    @collector_resting
    def header_of(self, session_id: Any, cancel: CancelToken | None = None) -> Header:
        """The header of a session whose log can be read."""
        return self._observe(session_id, cancel, None).header

    @collector_resting
    def list_events(
        self, session_id: Any, cancel: CancelToken | None = None, *, generation: int | None = None
    ) -> list[EventRecord]:
        """Every event with its surface, ascending."""
        return reads.event_records(self._observe(session_id, cancel, generation), cancel)

    @collector_resting
    def filter_events(
        self, session_id: Any, filters: Any, cancel: CancelToken | None = None, *, generation: int | None = None
    ) -> list[EventDocument]:
        """The documents that pass every filter, ascending. Raises `INVALID_FILTER`."""
        clauses = parse_event_filters(filters)
        return reads.event_documents(self._observe(session_id, cancel, generation), clauses, self._registry, cancel)

    @collector_resting
    def read_surface(
        self, session_id: Any, cancel: CancelToken | None = None, *, generation: int | None = None
    ) -> SurfaceSnapshot:
        """The current surface in model order."""
        return reads.surface_snapshot(self._observe(session_id, cancel, generation), cancel)

    @collector_resting
    def read_event(
        self,
        session_id: Any,
        seq: Any,
        before: Any = 0,
        after: Any = 0,
        cancel: CancelToken | None = None,
        *,
        generation: int | None = None,
    ) -> EventWindow:
        """An event and its neighbours. Raises `INVALID_WINDOW` before anything is read, `EVENT_NOT_FOUND`."""
        window = reads.parse_window(before, after, self.config.read_window_max)
        return reads.event_window(self._observe(session_id, cancel, generation), seq, window)

    @collector_resting
    def trace_event(
        self, session_id: Any, seq: Any, cancel: CancelToken | None = None, *, generation: int | None = None
    ) -> EventTrace:
        """What replaced an event, what it replaced, what it cites and what cites it. Raises `EVENT_NOT_FOUND`."""
        return reads.event_trace(self._observe(session_id, cancel, generation), seq, cancel)

    @collector_resting
    def read_title(self, session_id: Any, cancel: CancelToken | None = None) -> Title | None:
        """The title in force, None without one."""
        return reads.title_in_force(self._observe(session_id, cancel, None), cancel)

    @collector_resting
    def read_title_snapshot(self, session_id: Any, cancel: CancelToken | None = None) -> TitleSnapshot:
        """The header with the title, if there is one."""
        seen = self._observe(session_id, cancel, None)
        return TitleSnapshot(session=seen.header, title=reads.title_in_force(seen, cancel))

    @collector_resting
    def read_title_snapshots(self, session_ids: Any, cancel: CancelToken | None = None) -> list[SettledTitle]:
        """One settled result per distinct id, in the order in which they come first; one bad log spoils its own only.

        At most `persistedInspectConcurrency` logs are in memory at once. Raises `ABORTED` when cancelled.
        """
        check(cancel)
        wanted = reads.distinct(session_ids)
        observe = self._corpus.observer(cancel)

        def settle(session_id: Any) -> SettledTitle:
            try:
                seen = observe(session_id)
                title = reads.title_in_force(seen, cancel)
                return SettledTitle(session_id, value=TitleSnapshot(session=seen.header, title=title))
            except SessionQueryError as error:
                if error.code is ErrorCode.ABORTED:
                    raise
                return SettledTitle(session_id, reason=error)

        with ThreadPoolExecutor(self.config.persisted_inspect_concurrency, "titles") as pool:
            return list(pool.map(settle, wanted))

    def _observe(self, session_id: Any, cancel: CancelToken | None, generation: int | None) -> reads.Observed:
        return self._corpus.observe(session_id, cancel, generation=generation)

    def _file_of(self, session_id: str, generation: int | None) -> LogFile:
        """The file that answers for a session: as the index knows it if it is still there, else as the root shows."""
        rows = self._search.look_up(lambda index: index.summaries_of(session_id) if index is not None else [])
        with suppress(OSError, StopIteration):
            return LogFile.at(next(row.path for row in rows if generation in (None, row.generation)))
        entry = self._durable.find(session_id) if self._durable is not None else None
        file = None
        if entry is not None:
            file = entry.primary if generation is None else entry.file_of(generation)
        if file is None:
            raise not_found(session_id)
        return file
