"""New files that appear whole or not at all: written beside their place, synced, then given their name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(target: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A binary file, readable and seekable, that becomes `target` when the block ends without an error.

    Until then it is `.<name>.<12 hex>.part` in the same folder, owner-only; it is removed when the block fails. Raises
    `FileExistsError` when `target` exists and may not be overwritten: before the block, and again at its end, so that a
    file that came meanwhile is safe too. Other faults of the disk come as `OSError`.
    """
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(f"{target} exists already.")
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(part, target)
        else:
            _link(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _link(part: Path, target: Path) -> None:
    """Give the file its name without taking one that is in use; some file systems have no links to do that with."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError(f"{target} exists already.") from None
        os.rename(part, target)
        return
    part.unlink()


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
