"""A repaired copy of a damaged log in a new root: the readable prefix line for line, and nothing made up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.log.repair import READS, RepairScan
from palimpsest_core.log.surface import SurfaceFold, surface_types
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.header import Header
from palimpsest_core.model.jsonable import Record
from palimpsest_core.storage.atomic import new_file
from palimpsest_core.storage.layout import LogFile, log_file_name, project_folder_name, session_folder_name
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.logfile import encode_batch, make_folders
from palimpsest_core.writer.verdict import refusal_of_copy

_FRAME = 1 << 20

_DONE = {
    FindingCode.TORN_TAIL: "The torn end is left out, except for whole lines that can be read from it.",
    FindingCode.WITHHELD_TAIL: "The rows behind the defect are left out.",
    FindingCode.CORRUPT: "What stands at or behind the damage is left out.",
    FindingCode.SEQUENCE_GAP: "The rows behind the gap are left out; missing events are not made up.",
    FindingCode.OVERLAPPING_WRITERS: "The first writer's rows are kept, the other lane is left out.",
    FindingCode.OVERLAPPED_REPAIR: "The rows up to the overlap are kept, the rest is left out.",
    FindingCode.LIMIT_EXCEEDED: "The row or frame that is too large, and what follows, is left out.",
    FindingCode.HEADER_FRAME: "The header gets a frame of its own.",
    FindingCode.PATH_MISMATCH: "The copy lies where its header says that it belongs.",
    FindingCode.NAME_HEADER_MISMATCH: "The copy is named after what its header says.",
    FindingCode.DUPLICATE_ID: "The copy is the only log of its id in the new root.",
    FindingCode.TWIN_ENCODING: "The copy is the only log of its id in the new root.",
}
_KEPT = {
    FindingCode.UNKNOWN_REQUIRED_EVENT: "Events of unknown types are kept; a harness without them refuses the log.",
    FindingCode.HEADER_KEYS: "The header's keys are kept as they are: none is added or dropped.",
    FindingCode.UNSUPPORTED_VERSION: "The format is newer than this program knows; its rows are copied unread.",
}


class Rescue(Record, frozen=True):
    """What a copy holds, or would hold. `path` is where; `written` whether it is there.

    `rows` and `events` are kept, `withheld` rows are not. `notes` says for each finding what is done about it, and what
    is not invented. `refused` tells why the harness itself will not take the copy, as far as its rules are known (those
    of generation 0); absent when it will.
    """

    session_id: str
    generation: int
    source: str
    path: str
    rows: int
    events: int
    withheld: int
    findings: list[Finding]
    notes: list[str]
    written: bool
    refused: str | None = None


def rescue(
    file: LogFile, root: Path, *, config: Config, write: bool = False, cancel: CancelToken | None = None
) -> Rescue:
    """Copy the readable prefix of a log to where it belongs below `root`; without `write` only tell what it would be.

    Lines are copied byte for byte, in the encoding that they have. No open turn is closed: a harness does that when it
    resumes, and what it would refuse in an event is not mended: `refused` says so beforehand. Raises
    `PERSISTENCE_FAILED` when the log has no readable header or the disk fails, `WriteRefused(ID_TAKEN)` when there is a
    log at that place already, `ABORTED`.
    """
    try:
        with LogReader(file, config=config) as reader:
            if reader.header is None:
                reason = reader.findings[0].message if reader.findings else "It has no header."
                raise SessionQueryError(ErrorCode.PERSISTENCE_FAILED, f"{file.path} cannot be rescued: {reason}")
            header = reader.header.header
            target = _place(root, header, file.encoding)
            copy = _Copy(reader, cancel)
            if write:
                make_folders(target.parent)
                with new_file(target) as out:
                    copy.into(out, reader.header.line, file.encoding)
            else:
                for _ in copy.lines():
                    pass
            findings = reader.findings
        refused = None if header.version else refusal_of_copy(file, copy.rows, config, cancel)
    except FileExistsError as error:
        raise WriteRefused(Refusal.ID_TAKEN, f"There is a log at {target} already; nothing was overwritten.") from error
    except OSError as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"{file.path} could not be rescued: {error.strerror or error}."
        ) from error
    return Rescue(
        session_id=header.id,
        generation=header.version,
        source=file.path,
        path=os.fspath(target),
        rows=copy.rows,
        events=copy.events,
        withheld=copy.withheld,
        findings=findings,
        notes=_notes(findings, copy, refused),
        written=write,
        refused=refused,
    )


def _place(root: Path, header: Header, encoding: str) -> Path:
    folder = root / project_folder_name(header.cwd) / session_folder_name(header.id)
    return folder / log_file_name(header.version, encoding)


class _Copy:
    """Goes through the rows of a log once and counts what it lets through."""

    def __init__(self, reader: LogReader, cancel: CancelToken | None) -> None:
        self._reader = reader
        self._cancel = cancel
        self.rows = 0
        self.events = 0
        self.withheld = 0
        self.scan = RepairScan(reader.state.version)
        self.fold = SurfaceFold(reader.state.version)
        self._read = READS | surface_types(reader.state.version)

    def lines(self) -> Iterator[bytes]:
        """The stored lines of the readable prefix, each with its line feed."""
        for rows in self._reader.batches(self._cancel):
            for row in rows:
                if row.withheld:
                    self.withheld += 1
                    continue
                self.rows += 1
                self.events += row.count
                if row.type in self._read:
                    for event in self._reader.expand(row):
                        self.scan.push(event)
                        self.fold.push(event)
                yield self._reader.line_of(row)

    def into(self, out: BinaryIO, header_line: bytes, encoding: str) -> None:
        """Write the copy: the header in a frame of its own, then frames of about a megabyte of lines."""
        compression = "none" if encoding == "plain" else "zstd"
        out.write(encode_batch(header_line.rstrip(b"\r\n") + b"\n", compression))
        held: list[bytes] = []
        size = 0
        for line in self.lines():
            held.append(line)
            size += len(line)
            if size >= _FRAME:
                check(self._cancel)
                out.write(encode_batch(b"".join(held), compression))
                held, size = [], 0
        if held:
            out.write(encode_batch(b"".join(held), compression))


def _notes(findings: list[Finding], copy: _Copy, refused: str | None) -> list[str]:
    notes = dict.fromkeys(note for finding in findings if (note := _note(finding)))
    if copy.fold.problems:
        problem = copy.fold.problems[0]
        notes[f"Broken surface marks are kept as they are; strict readers refuse the log: {problem}"] = None
    if copy.scan.open:
        notes[
            "The log ends inside a turn. No events that close it are made up; a harness adds them when it resumes."
        ] = None
    if refused is not None:
        notes[f"What is in the kept rows is not mended, and the harness will not take the copy: {refused}"] = None
    return list(notes)


def _note(finding: Finding) -> str:
    if finding.detail == "envelope":
        return "Events without payload or time are kept as they are; strict readers refuse the log."
    if finding.detail == "header-frame-damaged":
        return "The header is kept as it could be read from a damaged frame; it may be wrong."
    return _DONE.get(finding.code) or _KEPT.get(finding.code) or ""
