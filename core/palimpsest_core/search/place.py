"""Where the index of a root is kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

MEMORY = ":memory:"


def default_index_path(root: Path) -> Path:
    """Where the index of a root is kept for this user: one file for each real path, in the platform's cache folder."""
    import hashlib  # an index that is named needs none

    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]
    return platformdirs.user_cache_path("palimpsest", appauthor=False) / f"{name}.sqlite"


def index_path(root: Path | None, index: Path | str | None) -> str:
    """The place that an engine uses: the one it is given, else the default one of its root, else memory."""
    if index is not None:
        return str(index)
    return MEMORY if root is None else str(default_index_path(root))
