"""Paths as people type them."""

from __future__ import annotations

import os
from pathlib import Path


def typed_path(text: str) -> Path:
    """`text` as a path, a leading `~` or `~user` replaced where that home is known and kept as it is where it is not.

    `Path.expanduser` raises for a user nobody knows, which half-typed text names at every other key.
    """
    return Path(os.path.expanduser(text))
