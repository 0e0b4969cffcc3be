"""What goes into an archive, known before the first byte is written (export contract)."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.progress import Progress, ProgressSink
from palimpsest_core.export.names import Taken, archive_name, media_name, safe
from palimpsest_core.log.attached import AttachmentFinder, Reference
from palimpsest_core.model.config import Config
from palimpsest_core.model.jsonable import Record
from palimpsest_core.model.session import LineageNode
from palimpsest_core.storage.attachments import BadObject, object_path, object_pieces
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.writer.rawtext import FrameEnd, open_log, stored_text


class PlannedLog(Record, frozen=True):
    """One log of an archive. `text_bytes` and `crc32` are of its decoded text, `stored_bytes` of the file then,
    `modified` its time in epoch seconds.

    `damage` tells in a sentence what the archive cannot hold of it; None for a sound log (a torn final frame is no
    damage and is left out).
    """

    session_id: str
    path: str
    entry: str
    generation: int
    stored_bytes: int
    text_bytes: int
    crc32: int
    modified: int
    damage: str | None = None


class PlannedImage(Record, frozen=True):
    """One image of an archive, checked against its recorded size and hash; `modified` as for logs."""

    attachment_id: str
    media_type: str
    path: str
    entry: str
    bytes: int
    modified: int


class MissingImage(Record, frozen=True):
    """An image that is referred to and cannot go in; `session_id` is the first session that refers to it."""

    attachment_id: str
    session_id: str
    reason: str


class ExportPlan(Record, frozen=True):
    """The entries of an archive in their order, and what is missing. `file_name` is the archive's own default name."""

    root_id: str
    file_name: str
    logs: list[PlannedLog]
    images: list[PlannedImage]
    missing: list[MissingImage]

    @property
    def total_bytes(self) -> int:
        """Bytes of all entries before compression."""
        return sum(log.text_bytes for log in self.logs) + sum(image.bytes for image in self.images)

    @property
    def damaged(self) -> list[PlannedLog]:
        """Logs that go in only up to a damaged place."""
        return [log for log in self.logs if log.damage is not None]


def descendant_ids(forest: Iterable[LineageNode]) -> list[str]:
    """The ids of a forest depth first, in lineage order, each once."""
    waiting = list(reversed(list(forest)))
    ids: dict[str, None] = {}
    while waiting:
        node = waiting.pop()
        ids.setdefault(node.session.header.id)
        waiting.extend(reversed(node.descendants))
    return list(ids)


def make_plan(
    logs: Sequence[tuple[str, LogFile]],
    attachments: Path,
    *,
    config: Config,
    cancel: CancelToken | None = None,
    progress: ProgressSink | None = None,
) -> ExportPlan:
    """Read every log once and decide on the entries.

    `logs` holds (session id, file) of the root first, then its descendants in order. `attachments` is the store of the
    images. Raises `SESSION_NOT_FOUND` when a file is gone, `PERSISTENCE_FAILED` when one cannot be read, `ABORTED`.
    """
    taken = Taken()
    planned: list[PlannedLog] = []
    wanted: dict[str, tuple[Reference, str]] = {}
    done = 0
    total = sum(file.stat.size for _, file in logs)
    for number, (session_id, file) in enumerate(logs):
        check(cancel)
        base = os.path.basename(file.path).removesuffix(".zstd")
        entry = taken.unique("", base, "") if number == 0 else taken.unique("subagents/", safe(session_id), f"/{base}")
        log, images = _read(session_id, file, entry, config, cancel)
        planned.append(log)
        for reference in images:
            wanted.setdefault(reference.attachment_id, (reference, session_id))
        done += file.stat.size
        if progress is not None:
            progress(Progress(done, total, "bytes", session_id))
    images_in: list[PlannedImage] = []
    missing: list[MissingImage] = []
    for reference, session_id in wanted.values():
        found = _find(reference, session_id, attachments, taken, cancel)
        if isinstance(found, PlannedImage):
            images_in.append(found)
        else:
            missing.append(found)
    root_id = logs[0][0]
    return ExportPlan(root_id, archive_name(root_id), planned, images_in, missing)


def _read(
    session_id: str, file: LogFile, entry: str, config: Config, cancel: CancelToken | None
) -> tuple[PlannedLog, list[Reference]]:
    crc, length, damage = 0, 0, None
    held_crc, held_length = 0, 0
    finder = AttachmentFinder(config.row_max_bytes)
    known = 0
    try:
        with open_log(file, config) as log:
            size = log.size_limit
            for piece in stored_text(log, size, config.window_max_bytes, cancel):
                if isinstance(piece, bytes):
                    held_crc = zlib.crc32(piece, held_crc)
                    held_length += len(piece)
                    finder.feed(piece)
                elif piece.fault:
                    damage = _damage(piece)
                    break
                else:
                    crc, length, known = held_crc, held_length, len(finder.found)
    except FileNotFoundError as error:
        raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, f"The log of session {session_id!r} is gone.") from error
    except OSError as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The log of session {session_id!r} cannot be read: {error.strerror}."
        ) from error
    if damage is None:
        finder.finish()
        known = len(finder.found)
    modified = file.stat.mtime_ns // 1_000_000_000
    planned = PlannedLog(session_id, file.path, entry, file.generation, size, length, crc, modified, damage)
    return planned, list(finder.found.values())[:known]


def _damage(end: FrameEnd) -> str:
    return f"The stored bytes are damaged at offset {end.byte_offset} ({end.fault}); the archive holds the text before."


def _find(
    reference: Reference, session_id: str, attachments: Path, taken: Taken, cancel: CancelToken | None
) -> PlannedImage | MissingImage:
    path = object_path(attachments, reference.attachment_id)
    if path is None:
        return MissingImage(reference.attachment_id, session_id, "Its id is no content hash.")
    size = 0
    try:
        modified = int(os.stat(path).st_mtime)
        for piece in object_pieces(path, reference.attachment_id, reference.size, cancel):
            size += len(piece)
    except BadObject as error:
        return MissingImage(reference.attachment_id, session_id, error.reason)
    except OSError as error:
        return MissingImage(reference.attachment_id, session_id, error.strerror or "It cannot be read.")
    stem, _, kind = media_name(reference.attachment_id, reference.media_type).rpartition(".")
    entry = taken.unique("", stem, f".{kind}")
    return PlannedImage(reference.attachment_id, reference.media_type, os.fspath(path), entry, size, modified)
