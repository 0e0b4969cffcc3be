"""The list of all sessions: from the index where it knows a log's present state, else from the log's header."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from palimpsest_core.base.cancel import CancelToken, stoppable, watched
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.catalog import CatalogEntry, build_catalog
from palimpsest_core.formats.generations import newer_reason
from palimpsest_core.log.lineage import lineage_of
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.session import SessionRecord, SessionState, SessionSummary
from palimpsest_core.search.documents import ACTIVE_SECONDS, KnownLog
from palimpsest_core.storage.layout import LogFile, discover
from palimpsest_core.sync.revision import revision_of


class SummaryIndex(Protocol):
    """What the list needs of an index."""

    def known_logs(self) -> Mapping[str, KnownLog]:
        """Every log file held, by path."""
        ...

    def summaries(self, *, cancel: CancelToken | None = None) -> list[SessionSummary]:
        """A row for every session and every log that cannot be one."""
        ...

    def summaries_of(self, session_id: str) -> list[SessionSummary]:
        """A row for every file of a session, the one that answers first."""
        ...


def summary_of_header(entry: CatalogEntry) -> SessionSummary:
    """A list row of a session of which only the headers were read: `indexed` is False, counts are None."""
    header = entry.header
    reason = None
    if header is None:
        state = SessionState.UNREADABLE
        reason = next((item.message for item in entry.findings if item.code == FindingCode.UNREADABLE), None)
    else:
        reason = newer_reason(header.version)
        state = SessionState.NEWER if reason else SessionState.COMPLETE
    return SessionSummary(
        id=entry.id,
        path=entry.primary.path,
        state=state,
        header=header,
        generation=entry.generation,
        project=header.cwd if header is not None else None,
        created_at=header.created_at if header is not None else None,
        last_time=entry.primary.stat.mtime_ns // 1_000_000,
        size=entry.primary.stat.size,
        parent=header.parent_session if header is not None else None,
        lineage=lineage_of(header) if header is not None else None,
        findings=entry.findings or None,
        reason=reason,
        generations=entry.generations,
    )


def _seen_before(row: SessionSummary, known: SessionSummary | None) -> SessionSummary:
    """A row made from a header, with what the index knew of the same log before it grew: title, counts, findings.

    It stays `indexed` False. A log that grows is at work, as far as anybody can tell without reading it. One that could
    not be read then and can be now has nothing to go on from.
    """
    if known is None or not known.indexed or row.header is None or row.header != known.header or row.size < known.size:
        return row
    if known.reason != row.reason:
        return row
    grows = (row.last_time or 0) / 1000 >= time.time() - ACTIVE_SECONDS
    quiet = known.state in (SessionState.COMPLETE, SessionState.INTERRUPTED, SessionState.ACTIVE)
    state = SessionState.ACTIVE if quiet and grows else known.state
    return msgspec.structs.replace(known, indexed=False, state=state, size=row.size, last_time=row.last_time)


def with_dangling(summaries: Iterable[SessionSummary], cancel: CancelToken | None = None) -> list[SessionSummary]:
    """The same rows; one whose parent is not among them gets the finding `dangling-parent`."""
    rows = list(summaries)
    ids = {row.id for row in rows}
    for place, row in enumerate(watched(rows, cancel)):
        if row.parent is not None and row.parent not in ids:
            message = f'The parent session "{row.parent}" is not under this root.'
            finding = Finding(FindingCode.DANGLING_PARENT, message, row.path)
            rows[place] = msgspec.structs.replace(row, findings=[*(row.findings or []), finding])
    return rows


def known_overview(index: SummaryIndex, cancel: CancelToken | None = None) -> list[SessionSummary]:
    """The list as the index has it, without a look at the logs: ten thousand rows in a tenth of a second."""
    return with_dangling(index.summaries(cancel=cancel), cancel)


def present_overview(
    root: Path, index: SummaryIndex | None, config: Config, cancel: CancelToken | None = None
) -> list[SessionSummary]:
    """The list as the root is now: one walk, and the headers of what the index does not know in its present state.

    Raises `PERSISTENCE_FAILED` when the root itself cannot be read.
    """
    # The index spells every path below the real root, whatever link led there.
    root = Path(os.path.realpath(root))
    try:
        found = discover(root, cancel).files
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, f"The folder {root} cannot be read: {reason}.") from error
    held = index.known_logs() if index is not None else {}
    rows = {row.path: row for row in index.summaries(cancel=cancel)} if index is not None else {}
    # A folder is judged as a whole: its files compete for one session.
    folders: dict[str, list[LogFile]] = {}
    for file in watched(found, cancel):
        folders.setdefault(os.path.dirname(file.path), []).append(file)
    strange = {
        folder
        for folder, files in stoppable(folders.items(), cancel)
        if any(file.path not in held or held[file.path].revision != revision_of(file.stat) for file in files)
    }
    kept = [row for path, row in rows.items() if (folder := os.path.dirname(path)) in folders and folder not in strange]
    fresh = [file for folder in strange for file in folders[folder]]
    catalog = build_catalog(os.fspath(root), fresh, [], config, cancel)
    looked_at = map(summary_of_header, watched(catalog.sessions, cancel))
    return with_dangling([*kept, *(_seen_before(row, rows.get(row.path)) for row in looked_at)], cancel)


def record_of(row: SessionSummary) -> SessionRecord | None:
    """A list row as a session record with the keys of tolerant mode; None for a log without header."""
    return None if row.header is None else enriched(SessionRecord(row.header, live=row.live, persisted=True), [row])


def known_rows(index: SummaryIndex, cancel: CancelToken | None = None) -> dict[str, list[SessionSummary]]:
    """The rows of all files of each session, the one that answers first."""
    files: dict[str, int] = {}
    for held in index.known_logs().values():
        if held.session_id is not None:
            files[held.session_id] = files.get(held.session_id, 0) + 1
    rows: dict[str, list[SessionSummary]] = {}
    for row in known_overview(index, cancel):
        rows.setdefault(row.id, []).append(row)
    for session_id, count in stoppable(files.items(), cancel):
        if count > 1 and session_id in rows:
            dangling = [finding for row in rows[session_id] for finding in row.findings or ()]
            answering, *others = index.summaries_of(session_id)
            own = msgspec.structs.replace(answering, findings=[*(answering.findings or ()), *dangling])
            rows[session_id] = [own, *others]
    return rows


def enriched(record: SessionRecord, rows: Sequence[SessionSummary]) -> SessionRecord:
    """A record with what the index knows of its session's files; unchanged as long as no log was read."""
    if not rows or not rows[0].indexed:
        return record
    answering = rows[0]
    return msgspec.structs.replace(
        record,
        generation=answering.generation,
        findings=sorted({finding.code.value for row in rows for finding in row.findings or ()}),
        lineage=answering.lineage,
        inherited_cut=answering.inherited_cut,
        own=answering.own,
        inherited=answering.inherited,
    )


def unreadable_reasons(rows: Iterable[SessionSummary]) -> Mapping[str, str]:
    """Why the sessions without header cannot be read, by the id that their folder's name tells."""
    return {row.id: row.reason or "its header cannot be read." for row in rows if row.header is None}


def resolve(text: str, ids: Iterable[str]) -> str:
    """The one id that `text` is or begins.

    Raises `SESSION_NOT_FOUND` when there is none, `INVALID_FILTER` naming some of them when there are several.
    """
    matching = sorted({candidate for candidate in ids if candidate.startswith(text)})
    if text in matching:
        return text
    if not matching:
        raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, f'There is no session whose id begins with "{text}".')
    if len(matching) > 1:
        some = ", ".join(matching[:5]) + (f" and {len(matching) - 5:,} more" if len(matching) > 5 else "")
        raise SessionQueryError(ErrorCode.INVALID_FILTER, f'"{text}" begins the ids of several sessions: {some}.')
    return matching[0]
