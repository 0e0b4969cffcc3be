"""Every file below a root that is not sound: damaged, foreign, diverging or passed over, with what can be done.

Headers come from the catalog, what was found among the rows from the index where it knows the file's present state.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.catalog import Catalog, CatalogEntry, CatalogFile, build_catalog, stray_finding
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.health import Ailment, LogHealth, RowCounts, ailment_of, remedies_of
from palimpsest_core.model.session import SessionSummary
from palimpsest_core.query.durable import unreadable_file
from palimpsest_core.storage.layout import LogFile, discover
from palimpsest_core.sync.overview import SummaryIndex, known_overview, summary_of_header
from palimpsest_core.sync.reconcile import files_in

_CIRCLE_SHOWN = 6
_RANK = {ailment: rank for rank, ailment in enumerate(Ailment)}


def ailing_logs(catalog: Catalog, index: SummaryIndex | None, cancel: CancelToken | None = None) -> list[LogHealth]:
    """One entry for each file with trouble, the worst first, then by path; files that are no logs come last.

    Without an index only headers and places are judged. Findings that are no trouble (an open turn, a parent that is
    elsewhere) go with those of an ailing file and make none by themselves.
    """
    known = {row.path: row for row in known_overview(index, cancel)} if index is not None else {}
    circles = _circles(catalog)
    ailing: list[LogHealth] = []
    for entry in catalog.sessions:
        check(cancel)
        rows = known
        if len(entry.files) > 1 and index is not None:
            rows = {**{row.path: row for row in index.summaries_of(entry.id)}, **known}
        told = (_health(entry, item, rows.get(item.file.path), circles) for item in entry.files)
        ailing += [health for health in told if health is not None]
    listed = {health.path for health in ailing}
    ailing += [_stray(finding) for finding in catalog.strays if finding.path not in listed]
    return sorted(ailing, key=lambda health: (_RANK[health.ailment], health.path))


def _circles(catalog: Catalog) -> dict[str, str]:
    """The sessions whose parents lead back to themselves, each with its circle as a sentence."""
    parents = {entry.id: entry.header.parent_session for entry in catalog.sessions if entry.header is not None}
    settled: set[str] = set()
    found: dict[str, str] = {}
    for start in parents:
        way: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in settled and at not in way:
            way[at] = None
            at = parents.get(at)
        if at is not None and at in way:
            names = list(way)
            circle = names[names.index(at) :]
            first = circle.index(min(circle))
            circle = circle[first:] + circle[:first]
            shown = " → ".join([*circle[:_CIRCLE_SHOWN], "…"] if len(circle) > _CIRCLE_SHOWN else [*circle, circle[0]])
            found |= dict.fromkeys(circle, f"The parents of this session run in a circle: {shown}.")
        settled.update(way)
    return found


def _health(
    entry: CatalogEntry, item: CatalogFile, row: SessionSummary | None, circles: Mapping[str, str]
) -> LogHealth | None:
    path = item.file.path
    findings = [*item.findings, *(finding for finding in entry.findings if finding.path == path)]
    if row is not None and row.indexed:
        findings += row.findings or []
    if item.file == entry.primary and entry.id in circles:
        findings.append(Finding(FindingCode.LINEAGE_CYCLE, circles[entry.id], path))
    findings = list(dict.fromkeys(findings))
    ailment = ailment_of(findings)
    if ailment is None:
        return None
    beside = tuple(sorted(other.generation for other in entry.files if other is not item))
    readable = item.peek.header is not None
    return LogHealth(
        path=path,
        ailment=ailment,
        findings=findings,
        remedies=remedies_of(findings, readable=readable, beside=bool(beside)),
        session_id=entry.id,
        generation=item.generation,
        answers=item.file == entry.primary,
        beside=beside,
        title=row.title if row is not None else None,
        size=item.file.stat.size,
        readable=readable,
    )


def _stray(finding: Finding) -> LogHealth:
    ailment = ailment_of([finding])
    assert ailment is not None, "every stray is trouble"
    path = finding.path or ""
    try:
        size = os.lstat(path).st_size
    except OSError:
        size = 0  # it is gone by now
    remedies = remedies_of([finding], readable=False, beside=False, is_log=False)
    return LogHealth(path, ailment, [finding], remedies, size=size, readable=False)


def closed_folders(root: Path, cancel: CancelToken | None = None) -> list[Finding]:
    """Folders and files below a root that cannot be examined, by path.

    Raises `PERSISTENCE_FAILED` when the root itself cannot be read, `ABORTED`.
    """
    try:
        strays = discover(root, cancel).strays
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, f"The folder {root} cannot be read: {reason}.") from error
    return [
        stray_finding(stray) for stray in sorted(strays, key=lambda stray: stray.path) if stray.kind == "unreadable"
    ]


def row_counts(file: LogFile, config: Config, cancel: CancelToken | None = None) -> RowCounts:
    """How many lines of a log are shown and how many withheld; reads it through.

    Raises `PERSISTENCE_FAILED` where the file system does, `ABORTED`.
    """
    try:
        with LogReader(file, config=config) as reader:
            for _ in reader.batches(cancel):
                check(cancel)
            return RowCounts(reader.rows_read - reader.rows_withheld, reader.rows_withheld)
    except OSError as error:
        raise unreadable_file(file, error) from error


def logs_of_session(
    root: Path, session_id: str, primary: LogFile, index: SummaryIndex | None, config: Config
) -> list[SessionSummary]:
    """A row for each file of a session, the one that answers first, then by generation; only its folders are looked at.

    `primary` is the file that answers as far as is known. What the index has not read is told from the header.
    """
    known: Mapping[str, SessionSummary] = {}
    if index is not None:
        known = {row.path: row for row in index.summaries_of(session_id)}
    folders = dict.fromkeys(os.path.dirname(path) for path in (primary.path, *known))
    files = {file.path: file for file in [primary, *files_in(folders)]}
    catalog = build_catalog(os.fspath(root), list(files.values()), [], config)
    entry = next((entry for entry in catalog.sessions if entry.id == session_id), None)
    if entry is None:
        return []
    return _rows(entry, known)


def _rows(entry: CatalogEntry, known: Mapping[str, SessionSummary]) -> list[SessionSummary]:
    items = sorted(entry.files, key=lambda item: (item.file != entry.primary, -item.generation, item.file.path))
    rows = []
    for item in items:
        row = known.get(item.file.path)
        if row is None or not row.indexed:
            row = summary_of_header(_alone(entry, item))
        extra: Iterable[Finding] = entry.findings if item.file == entry.primary else ()
        own = [finding for finding in extra if finding.path == item.file.path]
        findings = list(dict.fromkeys([*(row.findings or []), *own]))
        rows.append(msgspec.structs.replace(row, findings=findings or None, generations=entry.generations))
    return rows


def _alone(entry: CatalogEntry, item: CatalogFile) -> CatalogEntry:
    return CatalogEntry(entry.id, item.file, item.peek.header, item.generation, [item], item.findings)
