"""How the index names the state of a file."""

from __future__ import annotations

from palimpsest_core.storage.layout import Stat


def revision_of(stat: Stat) -> str:
    """Device, inode, size, mtime and ctime (nanoseconds), joined by colons: equal only for an unchanged file."""
    return f"{stat.dev}:{stat.ino}:{stat.size}:{stat.mtime_ns}:{stat.ctime_ns}"
