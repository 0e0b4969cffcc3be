"""What lies on disk under an id, judged by somebody who wants to go on writing there (session format, section 9)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.reader import read_log
from palimpsest_core.formats.strict import Outcome, envelope_refusal, physical_refusal, worst
from palimpsest_core.log.repair import closers
from palimpsest_core.log.validate import json_equal, validate_stored
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event, event_json
from palimpsest_core.storage.layout import (
    PLAIN,
    ZSTD,
    LogFile,
    log_file_name,
    parse_log_name,
    project_folder_name,
    session_folder_name,
)


class Stored(NamedTuple):
    """A stored log and how far it is whole.

    `header` is the first line's object. `events` are all that can be read; the first `sound_events` of them end at the
    stored offset `sound_bytes`, where appending may go on; what stands behind is torn.
    """

    file: LogFile
    header: dict[str, Any]
    events: list[Event]
    sound_events: int
    sound_bytes: int

    @property
    def torn(self) -> bool:
        """Whether something stands behind the sound part."""
        return self.sound_bytes < self.file.stat.size

    def closers(self) -> list[Event]:
        """The events that close its open last turn; empty when none is open."""
        return closers(self.events, 0)

    def begins(self, events: Sequence[Event]) -> bool:
        """Whether the stored events are the first of `events`."""
        return len(self.events) <= len(events) and all(
            json_equal(event_json(mine), event_json(theirs)) for mine, theirs in zip(self.events, events)
        )


def encoding_of(compression: str) -> str:
    """The encoding of the configured compression (`zstd` or `none`)."""
    return PLAIN if compression == "none" else ZSTD


def session_folders(root: Path, session_id: str) -> Iterator[Path]:
    """The existing folders of an id in the projects of a root. Raises `PERSISTENCE_FAILED` for an unreadable root."""
    name = session_folder_name(session_id)
    try:
        projects = sorted(entry.path for entry in os.scandir(root) if entry.is_dir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The root {root} cannot be read: {error.strerror}."
        ) from error
    for project in projects:
        folder = Path(project, name)
        if folder.is_dir():
            yield folder


def holds_log(folder: Path) -> bool:
    """Whether a session folder holds a log of any generation and encoding."""
    return any(parse_log_name(name) is not None for name in os.listdir(folder))


def find_log(root: Path, session_id: str, compression: str) -> LogFile | None:
    """The generation 0 log of an id in the root's encoding, None without one.

    Raises `PERSISTENCE_FAILED` when two projects hold one, or when it is there in the other encoding.
    """
    name = log_file_name(0, encoding_of(compression))
    other = log_file_name(0, ZSTD if compression == "none" else PLAIN)
    found: list[Path] = []
    for folder in session_folders(root, session_id):
        if (folder / other).exists():
            raise SessionQueryError(
                ErrorCode.PERSISTENCE_FAILED,
                f"The log {folder / other} is not in this root's encoding ({compression}).",
            )
        if (folder / name).exists():
            found.append(folder / name)
    if len(found) > 1:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED,
            f"The session {session_id!r} has logs in two projects: {found[0]} and {found[1]}.",
        )
    return LogFile.at(found[0]) if found else None


def read_stored(
    root: Path, session_id: str, compression: str, config: Config, cancel: CancelToken | None = None
) -> Stored | None:
    """The stored log of an id, None without one.

    Raises `PERSISTENCE_FAILED` for damage that a crash cannot explain, for a header that does not belong to its place,
    and where the file system fails; `CORRUPT_SESSION` for a row without payload. All other content is judged by
    `check_content`.
    """
    check(cancel)
    try:
        file = find_log(root, session_id, compression)
        if file is None:
            return None
        log = read_log(file, config=msgspec.structs.replace(config, mode="strict"), cancel=cancel)
        file = msgspec.structs.replace(file, stat=log.state.stat)
    except OSError as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The log of session {session_id!r} cannot be read: {error.strerror}."
        ) from error
    bad = physical_refusal(log.findings) or envelope_refusal(log.findings)
    if bad is not None:
        raise SessionQueryError(bad.code, f"The log of session {session_id!r} cannot be continued: {bad.message}")
    its, why = worst(log.findings)
    if log.header is None or (its >= Outcome.NOT_LISTED and why is not None):
        reason = why.message if why is not None else "It has no header."
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The log of session {session_id!r} cannot be continued: {reason}"
        )
    raw = log.header.raw
    place = (file.project, file.folder)
    if raw.get("id") != session_id or place != (project_folder_name(raw.get("cwd")), session_folder_name(session_id)):
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The header of {file.path} names another session or folder than its place."
        )
    issue = log.state.issue
    if issue is not None and file.encoding == PLAIN:
        return Stored(file, raw, log.events, issue.expected, issue.offset)
    return Stored(file, raw, log.events, log.state.next_seq, log.state.byte_offset)


def check_content(stored: Stored, events: Sequence[Event]) -> None:
    """Raise `CORRUPT_SESSION` or `PERSISTENCE_FAILED` when the log could not be resumed with these events."""
    fault = validate_stored(stored.header, events)
    if fault is not None:
        raise SessionQueryError(fault.code, fault.message)
