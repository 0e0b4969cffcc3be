"""Watching in a thread: the root for sessions that come, change and go, the open log for its growth."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, OpenLog
    from palimpsest_tui.jobs.asking import Tell

_LOOK_S = 0.2


def watch_root(root: str, cancel: CancelToken, tell: Tell[frozenset[str]]) -> None:
    """Tell the session folders in which a log changed, until the token is set."""
    from palimpsest_core import Watcher

    for folders in Watcher(root).changes(cancel):
        tell(folders)


def watch_log(log: OpenLog, cancel: CancelToken, tell: Tell[None]) -> None:
    """Tell when the file of a log is another one than was read last, until the token is set.

    One `stat` five times a second: it also sees what file systems without events hold.
    """
    told: tuple[int, ...] | None = None
    while not cancel.wait(_LOOK_S):
        if not log.complete:
            continue
        now = _look(log.file.path)
        known = log.file.stat
        if now != (known.ino, known.size, known.mtime_ns) and now != told:
            told = now
            tell(None)


def _look(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
