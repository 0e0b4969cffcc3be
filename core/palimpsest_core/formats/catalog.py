"""All sessions below a root: every file of each, which one answers, and what is odd about their places (session format,
sections 1.2 to 1.4 and 10)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.generations import is_known
from palimpsest_core.formats.reader import HeaderPeek, LogReader, read_header
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.header import Header
from palimpsest_core.storage.layout import (
    LogFile,
    Stat,
    Stray,
    discover,
    project_folder_name,
    session_folder_name,
    session_id_of_folder,
)

FLAT = ""
"""The folder of a log that has no folder of its own."""


class CatalogFile(msgspec.Struct, frozen=True):
    """One log file of a session with its header and what is odd about the two; `generation` is the header's number, or
    the name's where there is no header."""

    file: LogFile
    peek: HeaderPeek
    generation: int
    findings: list[Finding]


class CatalogEntry(msgspec.Struct, frozen=True):
    """One session: all its files and the one that answers for it.

    `header` is None when no file of it can be read as a session; `id` then comes from the folder's name. `findings` are
    those of all files and of the choice between them (none about events: nothing behind the headers is looked at,
    unless two generations compete).
    """

    id: str
    primary: LogFile
    header: Header | None
    generation: int
    files: list[CatalogFile]
    findings: list[Finding]

    @property
    def generations(self) -> list[int]:
        """The generations on disk, ascending."""
        return sorted({item.generation for item in self.files})

    def file_of(self, generation: int) -> LogFile | None:
        """The file of a generation: the primary if it is of that generation, else the first; None without one."""
        if self.generation == generation:
            return self.primary
        return next((item.file for item in self.files if item.generation == generation), None)


class Catalog(msgspec.Struct, frozen=True):
    """What a root holds. `strays` are findings about things that are no logs; `missing`: there is no such root."""

    root: str
    sessions: list[CatalogEntry]
    strays: list[Finding]
    missing: bool = False

    @classmethod
    def scan(
        cls,
        root: str | os.PathLike[str],
        config: Config,
        cancel: CancelToken | None = None,
        cache: HeaderCache | None = None,
    ) -> Catalog:
        """One walk over `root`; headers come from `cache` where files are unchanged. See `build_catalog`.

        A log that lies directly in a project folder, as an older layout had it, is a session too.
        """
        found = discover(root, cancel)
        known = cache if cache is not None else HeaderCache()
        flat = [file for file in flat_logs(found.strays) if known.header(file, config).header is not None]
        files = found.files + flat
        return build_catalog(os.fspath(root), files, found.strays, config, cancel, known, found.missing)


class _Known(msgspec.Struct):
    stat: Stat
    peek: HeaderPeek
    described: CatalogFile | None = None
    last_time: int | None = None
    has_last_time: bool = False


class HeaderCache:
    """Headers by path, good as long as a file's stat is the same; keep one for each root. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def header(self, file: LogFile, config: Config) -> HeaderPeek:
        """The header of a log; a file that cannot be opened gives an `unreadable` finding."""
        return self._of(file, config).peek

    def described(
        self, file: LogFile, config: Config, describe: Callable[[LogFile, HeaderPeek], CatalogFile]
    ) -> CatalogFile:
        """What `describe` makes of a log, made once while the file is the same."""
        known = self._of(file, config)
        if known.described is None:
            known.described = describe(file, known.peek)
        return known.described

    def _of(self, file: LogFile, config: Config) -> _Known:
        known = self._known.get(file.path)
        if known is None or known.stat != file.stat:
            known = _Known(file.stat, _peek(file, config))
            self._known[file.path] = known
        return known

    def last_time(self, file: LogFile, config: Config, cancel: CancelToken | None) -> int:
        """The time of the last readable event, -1 without one. Reads the log through."""
        known = self._of(file, config)
        if not known.has_last_time:
            known.last_time = _last_time(file, config, cancel)
            known.has_last_time = True
        return -1 if known.last_time is None else known.last_time

    def learn(self, file: LogFile, peek: HeaderPeek, last_time: int | None) -> None:
        """Take over what somebody who read a log found, so that it need not be read again."""
        self._known[file.path] = _Known(file.stat, peek, None, last_time, True)

    def keep(self, files: Iterable[LogFile]) -> None:
        """Forget every file but these."""
        paths = {file.path for file in files}
        for path in [path for path in list(self._known) if path not in paths]:
            self._known.pop(path, None)


def _peek(file: LogFile, config: Config) -> HeaderPeek:
    try:
        return read_header(file, config=config)
    except OSError as error:
        reason = error.strerror or str(error)
        finding = Finding(
            FindingCode.UNREADABLE, f"The file cannot be opened: {reason}.", file.path, detail="not-openable"
        )
        return HeaderPeek(None, None, [finding], None)


def _last_time(file: LogFile, config: Config, cancel: CancelToken | None) -> int | None:
    try:
        with LogReader(file, config=config) as reader:
            for _ in reader.batches(cancel):
                check(cancel)
            return reader.last_time
    except OSError:
        return None


def build_catalog(
    root: str,
    files: list[LogFile],
    strays: list[Stray],
    config: Config,
    cancel: CancelToken | None = None,
    cache: HeaderCache | None = None,
    missing: bool = False,
) -> Catalog:
    """The catalog of files that were found. Raises `ABORTED` when cancelled, nothing for what the files hold."""
    known = cache if cache is not None else HeaderCache()
    builder = _Builder(root, config, cancel, known)
    sessions = builder.sessions(files)
    if cache is not None:
        cache.keep(files)
    folders = {os.path.dirname(file.path) for file in files}
    notes = [stray_finding(stray, alone=os.path.dirname(stray.path) not in folders) for stray in strays]
    return Catalog(root, sessions, notes, missing)


class _Builder:
    def __init__(self, root: str, config: Config, cancel: CancelToken | None, cache: HeaderCache) -> None:
        self.root = root
        self.config = config
        self.cancel = cancel
        self.cache = cache

    def sessions(self, files: list[LogFile]) -> list[CatalogEntry]:
        """Files grouped by the id in their header; one without header goes with the others of its folder."""
        by_id: dict[str, list[CatalogFile]] = {}
        headless: list[CatalogFile] = []
        folder_ids: dict[tuple[str, str], str] = {}
        for file in files:
            check(self.cancel)
            item = self.cache.described(file, self.config, partial(describe, self.root))
            header = item.peek.header
            if header is None:
                headless.append(item)
            else:
                by_id.setdefault(header.id, []).append(item)
                folder_ids.setdefault((file.project, file.folder), header.id)
        for item in headless:
            place = (item.file.project, item.file.folder)
            session_id = folder_ids.get(place) or session_id_of_folder(item.file.folder)
            by_id.setdefault(session_id, []).append(item)
        return [self.entry(session_id, items) for session_id, items in by_id.items()]

    def entry(self, session_id: str, items: list[CatalogFile]) -> CatalogEntry:
        if len(items) == 1:
            only = items[0]
            return CatalogEntry(session_id, only.file, only.peek.header, only.generation, items, only.findings)
        items.sort(key=lambda item: (item.file.project, item.generation, item.file.path))
        findings = [finding for item in items for finding in item.findings]
        primary = self.choose(items)
        findings += self.rivalry(items, primary)
        return CatalogEntry(session_id, primary.file, primary.peek.header, primary.generation, items, findings)

    def choose(self, items: list[CatalogFile]) -> CatalogFile:
        """The highest known generation, unless a lower one ends later; of equal ones the one that ends later.

        A folder in which a log lies where its header says goes before others: no stranger answers for it.
        """
        readable = [item for item in items if item.peek.header is not None]
        if not readable:
            return max(items, key=lambda item: item.generation)
        rivals = [item for item in readable if is_known(item.generation)]
        if not rivals:
            top = max(item.generation for item in readable)
            rivals = [item for item in readable if item.generation == top]
        placed = {_folder(item) for item in rivals if not _misplaced(item)}
        rivals = [item for item in rivals if _folder(item) in placed] or rivals
        if len(rivals) == 1:
            return rivals[0]
        return max(rivals, key=lambda item: (self.ends(item), item.generation))

    def ends(self, item: CatalogFile) -> int:
        return self.cache.last_time(item.file, self.config, self.cancel)

    def rivalry(self, items: list[CatalogFile], primary: CatalogFile) -> list[Finding]:
        """What is to be said about several files of one session."""
        out = []
        path = primary.file.path
        known = [item.generation for item in items if item.peek.header is not None and is_known(item.generation)]
        if known and primary.generation < max(known):
            message = (
                f"The log of generation {primary.generation} ends later than that of generation {max(known)}: an older "
                "build went on with it. The later one answers; both can be opened."
            )
            out.append(Finding(FindingCode.GENERATION_DIVERGENCE, message, path, detail="divergence"))
        places = {_folder(item) for item in items if item.peek.header is not None}
        if len(places) > 1:
            others = ", ".join(sorted(f"{project}/{folder}" for project, folder in places))
            message = f"The same id stands in {len(places)} folders: {others}."
            out.append(Finding(FindingCode.DUPLICATE_ID, message, path, detail="duplicate-id"))
        names = [(item.file.project, item.file.folder, item.file.generation) for item in items]
        if len(set(names)) < len(names):
            message = "One generation lies in the folder both plain and compressed; the one that ends later answers."
            out.append(Finding(FindingCode.TWIN_ENCODING, message, path, detail="twin"))
        return out


def describe(root: str, file: LogFile, peek: HeaderPeek) -> CatalogFile:
    """A log by itself: what is odd about its header, and about the folders it lies in."""
    header = peek.header
    if header is None:
        return CatalogFile(file, peek, file.generation, peek.findings)
    findings = peek.findings
    if header.version != file.generation:
        message = (
            f"The file's name says format {file.generation}, its header {header.version}: name and header "
            "disagree. It is read by its header."
        )
        findings = [
            *findings,
            Finding(FindingCode.NAME_HEADER_MISMATCH, message, file.path, line=1, detail="generation"),
        ]
    if file.folder == FLAT:
        finding = stray_finding(Stray("legacy-layout", file.path))
        findings = [*findings, finding]
    elif not in_its_place(root, file, header):
        message = "The folders do not follow from the header's id and cwd; the header counts."
        findings = [*findings, Finding(FindingCode.PATH_MISMATCH, message, file.path, detail="path")]
    return CatalogFile(file, peek, header.version, findings)


def flat_logs(strays: Iterable[Stray]) -> list[LogFile]:
    """The files among strays that may be logs of the older layout; one without a header is none."""
    found = []
    for stray in strays:
        if stray.kind == "legacy-layout":
            try:
                file = LogFile.at(stray.path)
            except OSError:
                continue
            found.append(msgspec.structs.replace(file, project=file.folder, folder=FLAT))
    return found


def _folder(item: CatalogFile) -> tuple[str, str]:
    return item.file.project, item.file.folder


def _misplaced(item: CatalogFile) -> bool:
    return any(finding.code == FindingCode.PATH_MISMATCH for finding in item.findings)


def in_its_place(root: str, file: LogFile, header: Header) -> bool:
    """Whether the two folders above a log follow from its header; links to the right place count as right."""
    project, folder = project_folder_name(header.cwd), session_folder_name(header.id)
    if file.project == project and file.folder == folder:
        return True
    try:
        return Path(root, project, folder).samefile(os.path.dirname(file.path))
    except (OSError, ValueError):
        return False


_STRAYS = {
    "temporary": (
        FindingCode.LEFT_TEMPORARY,
        "A temporary file was left behind by a publication or a migration; it is no log",
    ),
    "legacy-layout": (FindingCode.LEGACY_LAYOUT, "A log lies directly in a project folder, as an older layout had it"),
    "in-root": (FindingCode.LEGACY_LAYOUT, "A log lies directly in the root, where none belongs"),
    "not-a-file": (FindingCode.UNREADABLE, "Something that is no file bears a log's name"),
    "dangling": (FindingCode.UNREADABLE, "A link under a log's name leads nowhere"),
    "unreadable": (FindingCode.UNREADABLE, "It cannot be examined"),
}


def stray_finding(stray: Stray, *, alone: bool = False) -> Finding:
    """The finding for something below a root that is no log; `alone`: its folder holds no log besides."""
    code, message = _STRAYS[stray.kind]
    if stray.reason:
        message = f"{message}: {stray.reason}"
    elif alone and stray.kind == "temporary":
        message += ", and its folder holds no log besides"
    return Finding(code, message + ".", stray.path, detail=stray.kind)
