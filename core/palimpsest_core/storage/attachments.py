"""The attachment store beside a root: image bytes under the hash of their content (session format, section 1.6)."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from palimpsest_core.base.cancel import CancelToken, check

_ID = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
_PIECE = 256 << 10


def attachment_store(root: str | os.PathLike[str]) -> Path:
    """Where the attachments of the logs below `root` are: for a root X it is `X/../attachments`."""
    return Path(os.path.abspath(root)).parent / "attachments"


def object_path(store: Path, attachment_id: str) -> Path | None:
    """The file of an image, whether it exists or not; None when the id is no `sha256:<64 hex>`."""
    match = _ID.fullmatch(attachment_id)
    if match is None:
        return None
    digest = match.group(1)
    return store / "v1" / "objects" / digest[:2] / digest


def is_stored(store: Path, attachment_id: str, *, file: bool) -> bool:
    """Whether the bytes of an image, or of a `file`, are in the store; their content is not looked at.

    Raises OSError where the store cannot be entered: then nobody knows.
    """
    image = object_path(store, attachment_id)
    if image is None:
        return False
    if not file:
        return _exists(image)
    digest = image.name
    if _exists(store / "v1" / "file-objects" / digest[:2] / digest):
        return True
    # What it is called there is the log's word; that there is something is enough.
    try:
        with os.scandir(store / "v1" / "files" / digest[:2] / digest) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def _exists(path: Path) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


class BadObject(Exception):
    """The bytes of an object are not what its id and recorded size say; `reason` is a short sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def object_pieces(path: Path, attachment_id: str, size: int, cancel: CancelToken | None = None) -> Iterator[bytes]:
    """The bytes of an object, in pieces, checked against its id and `size` (-1 when that was not recorded).

    Raises `BadObject` at its end when they disagree, OSError where the file system does.
    """
    digest = hashlib.sha256()
    seen = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            check(cancel)
            digest.update(piece)
            seen += len(piece)
            yield piece
    if size not in (-1, seen):
        raise BadObject(f"The stored object is {seen} bytes long, the log says {size}.")
    if f"sha256:{digest.hexdigest()}" != attachment_id:
        raise BadObject("The stored object's content does not have the hash that names it.")
