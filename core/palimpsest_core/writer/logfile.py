"""The only code that opens a log for writing: publish it whole, append to it, cut it back, each durable on return.

A crash at any instant leaves either no log, or a log whose complete frames (lines) are exactly those of earlier
calls, perhaps followed by a torn piece of the last one.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import zstandard

from palimpsest_core.storage.atomic import sync_folder
from palimpsest_core.writer.errors import Refusal, WriteRefused

FRAME_LEVEL = 3
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def encode_batch(text: bytes, compression: str) -> bytes:
    """The stored bytes of one durable batch: a checksummed frame of its own, or the text as it is for `none`."""
    if compression == "none":
        return text
    return zstandard.ZstdCompressor(level=FRAME_LEVEL, write_checksum=True, write_content_size=True).compress(text)


def make_folders(folder: Path) -> None:
    """Create `folder` and what is missing above it, owner-only; every new name is durable on return."""
    missing: list[Path] = []
    probe = folder
    while not probe.is_dir():
        missing.append(probe)
        probe = probe.parent
    for path in reversed(missing):
        try:
            path.mkdir(mode=_FOLDER_MODE)
        except FileExistsError:
            continue
        sync_folder(path.parent)


def publish(path: Path, content: bytes) -> None:
    """Create the log `path` with `content`, whole or not at all, never over an existing file.

    Written to `<name>.<12 hex>.tmp` beside it, synced, linked to its name, and the folder synced. Raises
    `WriteRefused(ID_TAKEN)` when the name exists, `OSError` when the disk refuses; the temporary file never stays.
    """
    make_folders(path.parent)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    try:
        try:
            _write_all(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.link(temporary, path)
        except FileExistsError as error:
            raise WriteRefused(
                Refusal.ID_TAKEN, f"There is a log at {path} already; nothing was overwritten."
            ) from error
    finally:
        os.unlink(temporary)
    sync_folder(path.parent)


def append(path: Path, content: bytes, expected_size: int) -> int:
    """Append `content` durably and return the new size in bytes.

    `expected_size` is the size that the writer left behind; another size means that somebody else writes here, and is
    refused (`CHANGED_ELSEWHERE`). When writing or syncing fails the file is cut back to its old size and the error
    goes up.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        size = os.fstat(handle).st_size
        if size != expected_size:
            raise WriteRefused(
                Refusal.CHANGED_ELSEWHERE,
                f"{path} is {size} bytes long but {expected_size} were expected: somebody else writes to it.",
            )
        try:
            _write_all(handle, content)
            os.fsync(handle)
        except BaseException:
            os.ftruncate(handle, size)
            os.fsync(handle)
            raise
    finally:
        os.close(handle)
    return size + len(content)


def truncate(path: Path, size: int) -> None:
    """Cut the log to `size` bytes, durably (the torn tail of a crash)."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.ftruncate(handle, size)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]
