"""Knowing without a look that nothing below some folders changed: Linux tells of every change, in order (inotify).

A write has put its event into the queue before it returns, so an empty queue proves that all is as it was when the
watches were set. That only holds for file systems of this machine, for logs that are plain files with one name, and for
folders that are no links; everywhere else, and when watches run out, there is no stillness to be had and the caller
looks with stats. Two things make no event: writing through a memory map, and mounting something over a folder. So the
caller looks with stats now and then all the same.

Measured with 10,000 sessions: setting the watches 70 ms, once; asking 0.02 ms, instead of 55 ms for all stats.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Collection
from pathlib import Path

_EVENTS = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
"""Modified, attributes, moved from and to, created, deleted; the folder itself deleted or moved."""

_ONLY_FOLDERS_NO_LINKS = 0x01000000 | 0x02000000
_MOST_SHARE = 4
"""At most this part of the watches that a user may have."""

_LOCAL = frozenset({0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010})
"""Types of file systems that nobody changes but through this kernel: ext, xfs, btrfs, tmpfs, f2fs."""

_STATFS_BYTES = 512
_QUEUE_BYTES = 1 << 16


class Stillness:
    """Watches over the folders of a root. Close it; who forgets it closes it too."""

    def __init__(self, root: str, descriptor: int) -> None:
        self._root = root
        self._descriptor = descriptor
        self._identity = _identity(root)

    @classmethod
    def over(cls, root: str, folders: Collection[str], logs: Collection[str]) -> Stillness | None:
        """Watch these folders, in which these logs lie (names relative to `root`); None where that proves nothing.

        What changed before or while this was called is not told: look once more afterwards.
        """
        if not sys.platform.startswith("linux") or len(folders) * _MOST_SHARE > _allowed():
            return None
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if not _is_local(libc, root) or not _are_plain(root, folders, logs):
                return None
            descriptor = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except (OSError, AttributeError):
            return None
        if descriptor < 0:
            return None
        add, mask = libc.inotify_add_watch, _EVENTS | _ONLY_FOLDERS_NO_LINKS
        for name in folders:
            if add(descriptor, os.fsencode(f"{root}/{name}"), mask) < 0:
                os.close(descriptor)
                return None
        try:
            return cls(root, descriptor)
        except OSError:
            os.close(descriptor)
            return None

    def unbroken(self) -> bool:
        """Whether nothing happened since the last call (since `over`, at the first)."""
        still = True
        try:
            while os.read(self._descriptor, _QUEUE_BYTES):
                still = False
        except OSError as error:
            if error.errno != errno.EAGAIN:
                return False
        try:
            return still and _identity(self._root) == self._identity
        except OSError:
            return False

    def close(self) -> None:
        """Stop watching. Twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.close()


def _identity(path: str) -> tuple[int, int]:
    """Which folder a path leads to: no event tells that something above it was renamed."""
    there = os.stat(path)
    return there.st_dev, there.st_ino


def _allowed() -> int:
    """How many watches a user may have."""
    try:
        return int(Path("/proc/sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return 0


def _is_local(libc: ctypes.CDLL, root: str) -> bool:
    answer = ctypes.create_string_buffer(_STATFS_BYTES)
    if libc.statfs(os.fsencode(root), answer) != 0:
        return False
    return int.from_bytes(answer.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder) & 0xFFFFFFFF in _LOCAL


def _are_plain(root: str, folders: Collection[str], logs: Collection[str]) -> bool:
    """Whether all lies in one file system, and no log can be changed by another name. Raises OSError."""
    device = os.stat(root).st_dev
    opened = os.open(root, os.O_RDONLY)
    try:
        for name in folders:
            if os.stat(name, dir_fd=opened, follow_symlinks=False).st_dev != device:
                return False
        for name in logs:
            there = os.stat(name, dir_fd=opened, follow_symlinks=False)
            if not stat.S_ISREG(there.st_mode) or there.st_nlink != 1 or there.st_dev != device:
                return False
    finally:
        os.close(opened)
    return True
