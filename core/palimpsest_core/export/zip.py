"""Writes a planned archive: streamed, checked against its plan, whole or not at all (export contract)."""

from __future__ import annotations

import os
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.progress import Progress, ProgressSink
from palimpsest_core.export.errors import ExportError, ExportErrorCode
from palimpsest_core.export.plan import ExportPlan, MissingImage, PlannedImage, PlannedLog
from palimpsest_core.model.config import Config
from palimpsest_core.model.jsonable import Record
from palimpsest_core.storage.atomic import new_file
from palimpsest_core.storage.attachments import BadObject, object_pieces
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.writer.rawtext import open_log, stored_text

_OLD_LIMIT = 0xFFFF_0000
_FIRST_YEAR = 1980


class ExportResult(Record, frozen=True):
    """A finished export: where it is, how large, how many entries, and what it lacks."""

    path: str
    bytes: int
    sessions: int
    images: int
    missing: list[MissingImage]
    damaged: list[PlannedLog]


def write_archive(
    plan: ExportPlan,
    target: Path,
    *,
    config: Config,
    level: int = 6,
    overwrite: bool = False,
    allow_missing: bool = False,
    cancel: CancelToken | None = None,
    progress: ProgressSink | None = None,
) -> ExportResult:
    """Write the archive to `target` (a file path; see `ExportPlan.file_name` for its default name).

    `level` is 0 (stored) to 9. At most one piece of a log or image is in memory. Progress counts bytes before
    compression. Raises `ExportError`: `ATTACHMENT_MISSING` unless `allow_missing`, `TARGET_EXISTS` unless `overwrite`,
    `TARGET_UNWRITABLE`, `LOG_CHANGED` when a log is no longer what was planned; `PERSISTENCE_FAILED` when one cannot be
    read; `ABORTED`. Nothing is left behind then.
    """
    if plan.missing and not allow_missing:
        first = plan.missing[0]
        raise ExportError(
            ExportErrorCode.ATTACHMENT_MISSING,
            f"{len(plan.missing)} referenced image(s) cannot be exported, first {first.attachment_id} of session "
            f"{first.session_id!r}: {first.reason} Export without them, or restore them.",
        )
    meter = _Meter(plan.total_bytes, cancel, progress)
    try:
        with new_file(target, overwrite=overwrite) as file:
            _fill(file, plan, config, level, meter)
    except FileExistsError as error:
        raise ExportError(
            ExportErrorCode.TARGET_EXISTS, f"{target} exists already; choose another name or allow overwriting."
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(ExportErrorCode.TARGET_UNWRITABLE, f"{target} cannot be written: {reason}.") from error
    size = os.stat(target).st_size
    return ExportResult(os.fspath(target), size, len(plan.logs), len(plan.images), list(plan.missing), plan.damaged)


class _Meter:
    def __init__(self, total: int, cancel: CancelToken | None, progress: ProgressSink | None) -> None:
        self.done = 0
        self.total = total
        self.cancel = cancel
        self.progress = progress

    def count(self, size: int, what: str) -> None:
        check(self.cancel)
        self.done += size
        if self.progress is not None:
            self.progress(Progress(self.done, self.total, "bytes", what))


def _fill(file: BinaryIO, plan: ExportPlan, config: Config, level: int, meter: _Meter) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED, allowZip64=True) as archive:
        for log in plan.logs:
            _add(archive, log.entry, log.text_bytes, log.modified, level, meter, _log_pieces(log, config, meter.cancel))
        for image in plan.images:
            # Images are compressed already.
            _add(archive, image.entry, image.bytes, image.modified, 0, meter, _image_pieces(image, meter.cancel))


def _add(
    archive: zipfile.ZipFile, name: str, size: int, modified: int, level: int, meter: _Meter, pieces: Iterator[bytes]
) -> None:
    info = zipfile.ZipInfo(name, _date(modified))
    info.create_system = 3
    info.external_attr = 0o100600 << 16
    info.compress_type = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    # The level of a single entry has no public name before Python 3.13.
    info._compresslevel = level or None  # type: ignore[attr-defined]  # ty: ignore[missing-attribute]
    info.file_size = size
    with archive.open(info, "w", force_zip64=size > _OLD_LIMIT) as entry:
        for piece in pieces:
            entry.write(piece)
            meter.count(len(piece), name)


def _date(modified: int) -> tuple[int, int, int, int, int, int]:
    """The file's own time in UTC; archives know none before 1980."""
    when = time.gmtime(modified)
    if not _FIRST_YEAR <= when.tm_year <= 2107:
        return (_FIRST_YEAR, 1, 1, 0, 0, 0)
    return when[:6]


def _log_pieces(log: PlannedLog, config: Config, cancel: CancelToken | None) -> Iterator[bytes]:
    left, crc = log.text_bytes, 0
    try:
        with open_log(LogFile.at(log.path), config) as opened:
            if opened.size_limit >= log.stored_bytes:
                for piece in stored_text(opened, log.stored_bytes, config.window_max_bytes, cancel):
                    if isinstance(piece, bytes) and left:
                        data = piece[:left]
                        left -= len(data)
                        crc = zlib.crc32(data, crc)
                        yield data
    except FileNotFoundError:
        left = -1
    except OSError as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The log of session {log.session_id!r} cannot be read: {error.strerror}."
        ) from error
    if left or crc != log.crc32:
        raise ExportError(
            ExportErrorCode.LOG_CHANGED,
            f"The log of session {log.session_id!r} was replaced while it was exported; export again.",
        )


def _image_pieces(image: PlannedImage, cancel: CancelToken | None) -> Iterator[bytes]:
    try:
        yield from object_pieces(Path(image.path), image.attachment_id, image.bytes, cancel)
    except (BadObject, OSError) as error:
        raise ExportError(
            ExportErrorCode.ATTACHMENT_MISSING,
            f"The image {image.attachment_id} changed while it was exported; export again.",
        ) from error
