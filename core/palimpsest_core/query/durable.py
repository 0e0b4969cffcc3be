"""The stored side of the corpus: one root of log files, read strictly or tolerantly.

There is one reader. Strict mode asks the table of `formats.strict` what the reference would have refused; tolerant mode
takes what can be read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken, watched
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.catalog import Catalog, CatalogEntry, HeaderCache
from palimpsest_core.formats.reader import ReadLog, read_log
from palimpsest_core.formats.strict import strict_catalog
from palimpsest_core.log.repair import closers
from palimpsest_core.log.taking import refusal
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header, StoredHeader
from palimpsest_core.model.jsonable import NULL
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.query.reads import Observed
from palimpsest_core.storage.layout import LogFile


def unreadable_file(file: LogFile, error: OSError) -> SessionQueryError:
    """The error of a file that the system does not let us read."""
    reason = error.strerror or str(error)
    return SessionQueryError(ErrorCode.PERSISTENCE_FAILED, f"The log {file.path} cannot be read: {reason}.")


def file_at(path: str) -> LogFile:
    """The log file at a path, wherever it lies. Raises `PERSISTENCE_FAILED` when there is none."""
    try:
        return LogFile.at(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, f"The log {path} cannot be read: {reason}.") from error


class DurableSource:
    """The logs below `root`. Headers are cached by the state of their files. Thread-safe; nothing is ever written."""

    def __init__(self, root: Path, config: Config) -> None:
        self.root = root
        self.config = config
        self.strict = config.mode == "strict"
        self._headers = HeaderCache()

    def catalog(self, cancel: CancelToken | None = None) -> Catalog:
        """Everything below the root as it is now; in strict mode what the reference would list, or its refusal."""
        try:
            if self.strict:
                return strict_catalog(self.root, self.config, cancel, self._headers)
            return Catalog.scan(self.root, self.config, cancel, self._headers)
        except OSError as error:
            reason = error.strerror or str(error)
            raise SessionQueryError(
                ErrorCode.PERSISTENCE_FAILED, f"The folder {self.root} cannot be read: {reason}."
            ) from error

    def records(self, cancel: CancelToken | None = None) -> list[SessionRecord]:
        """A record for each session that can be listed, in no particular order."""
        return [
            SessionRecord(_as_listed(entry) if self.strict else entry.header, live=False, persisted=True)
            for entry in watched(self.catalog(cancel).sessions, cancel)
            if entry.header is not None
        ]

    def find(self, session_id: Any, cancel: CancelToken | None = None) -> CatalogEntry | None:
        """What the root holds under an id."""
        return entry_of(self.catalog(cancel), session_id)

    def observe(
        self,
        session_id: Any,
        cancel: CancelToken | None = None,
        *,
        generation: int | None = None,
        catalog: Catalog | None = None,
    ) -> Observed | None:
        """A stored session with the events of its balanced view, None when there is none of that id.

        In strict mode a log that the reference would refuse is `PERSISTENCE_FAILED` or `CORRUPT_SESSION`. `catalog` is
        a listing made before, for callers that observe several sessions.
        """
        entry = entry_of(catalog, session_id) if catalog is not None else self.find(session_id, cancel)
        if entry is None:
            return None
        file = entry.primary if generation is None else entry.file_of(generation)
        if file is None:
            raise SessionQueryError(
                ErrorCode.SESSION_NOT_FOUND,
                f'Session "{session_id}" has no log of generation {generation}; there are {entry.generations}.',
            )
        return observed_log(self.read(file, cancel), strict=self.strict, cancel=cancel)

    def read(self, file: LogFile, cancel: CancelToken | None = None) -> ReadLog:
        """A whole log. In strict mode one that keeps changing meanwhile is `PERSISTENCE_FAILED`, after one retry."""
        try:
            log = read_log(file, config=self.config, cancel=cancel)
            if not self.strict or log.state.stat == file.restat().stat:
                return log
            log = read_log(file, config=self.config, cancel=cancel)
            if log.state.stat == file.restat().stat:
                return log
        except OSError as error:
            raise unreadable_file(file, error) from error
        raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, f"The log {file.path} keeps changing while it is read.")


def entry_of(catalog: Catalog, session_id: Any) -> CatalogEntry | None:
    """What a listing holds under an id."""
    return next((entry for entry in catalog.sessions if entry.id == session_id), None)


def _as_listed(entry: CatalogEntry) -> Header:
    """The header as the reference lists it: what is of the wrong type is shown as it is."""
    header = entry.header
    assert header is not None
    raw = next((item.peek.raw for item in entry.files if item.file == entry.primary), None) or {}
    if "parentSession" in raw and header.parent_session is None:
        header = msgspec.structs.replace(header, parent_session=_shown(raw["parentSession"]))
    version = raw.get("version")
    if type(version) in (int, float) and version != header.version:
        header = msgspec.structs.replace(header, version=_shown(version))
    if "seedLength" in raw and header.seed_length is None:
        header = msgspec.structs.replace(header, seed_length=_shown(raw["seedLength"]))
    return _of_old(header)


def _of_old(header: Header) -> Header:
    """A header without the key that the reference does not know yet."""
    return header if header.is_seeded is None else msgspec.structs.replace(header, is_seeded=None)


def _shown(value: Any) -> Any:
    return NULL if value is None else value


def observed_log(log: ReadLog, *, strict: bool, cancel: CancelToken | None = None) -> Observed:
    """The balanced view of a log that was read: its open turn closed, in strict mode validated as if to be resumed."""
    if log.header is None:
        raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, log.findings[0].message)
    header = log.header.header
    if strict:
        refuse(log, log.header, cancel)
        header = _of_old(header)
    return Observed(
        header=header,
        events=[*log.events, *closers(watched(log.events, cancel), header.version)],
        generation=header.version,
        findings=log.findings,
        strict=strict,
    )


def refuse(log: ReadLog, header: StoredHeader, cancel: CancelToken | None = None) -> None:
    """Raise what the reference refuses this log with, if it does: bytes and rows first, then content."""
    refused = refusal(header.raw, watched(log.events, cancel), log.findings)
    if refused is not None:
        raise refused
