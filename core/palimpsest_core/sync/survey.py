"""Looking over a root again and again: what the last look found is asked for by name, two stats a session.

A folder's listing is taken as unchanged while the folder's own times are; that is only sound when the folder was last
changed well before it was listed, so a root that changed lately is walked anew each time. Measured with 200 sessions:
a walk 1.8 ms, a second look 0.6 ms, a bare walk with stats 0.55 ms.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.catalog import flat_logs
from palimpsest_core.storage.layout import LogFile, Stat, discover

SETTLED_SECONDS = 30.0
"""A folder whose last change is older than this when it is listed has nothing going on in it. A file server's clock may
differ from ours by less than that."""

_Times = tuple[int, int, int, int]


class _Seen(NamedTuple):
    """A look: the logs, and names relative to the root of logs and folders with their times."""

    files: list[LogFile]
    names: list[tuple[str, Stat]]
    folders: list[tuple[str, _Times]]


class Survey:
    """The logs below one root. Not thread-safe."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/") or root
        self._seen: _Seen | None = None

    def look(self, cancel: CancelToken | None = None) -> list[LogFile] | None:
        """All logs as they are now, or None when nothing is different from the look before.

        Raises `ABORTED`, and OSError when the root cannot be examined.
        """
        if self._seen is not None and self._unchanged(self._seen, cancel):
            return None
        began = time.time_ns()
        found = discover(self._root, cancel)
        files = found.files + flat_logs(found.strays)
        self._seen = None if found.missing or found.strays else self._settled(files, began)
        return files

    @property
    def files(self) -> list[LogFile] | None:
        """What the last look found, if the next one may say that nothing changed."""
        return None if self._seen is None else self._seen.files

    def _unchanged(self, seen: _Seen, cancel: CancelToken | None) -> bool:
        check(cancel)
        try:
            # Names below an open folder: a shorter way for each of the stats.
            root = os.open(self._root, os.O_RDONLY)
        except OSError:
            return False
        try:
            return self._same(seen, root)
        except OSError:
            return False
        finally:
            os.close(root)

    def _same(self, seen: _Seen, root: int) -> bool:
        stat = os.stat
        for name, times in seen.folders:
            now = stat(name, dir_fd=root)
            if (now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_dev) != times:
                return False
        for name, then in seen.names:
            now = stat(name, dir_fd=root)
            if (
                now.st_size != then.size
                or now.st_mtime_ns != then.mtime_ns
                or now.st_ctime_ns != then.ctime_ns
                or now.st_ino != then.ino
                or now.st_dev != then.dev
            ):
                return False
        return True

    def _settled(self, files: list[LogFile], began_ns: int) -> _Seen | None:
        """What can be relied on next time; None while something is going on."""
        latest = began_ns - int(SETTLED_SECONDS * 1e9)
        names = {self._root}
        strip = len(self._root) + 1
        try:
            for entry in os.scandir(self._root):
                if entry.is_dir():
                    names.add(entry.path)
                    names.update(inner.path for inner in os.scandir(entry.path) if inner.is_dir())
            folders = []
            for name in sorted(names):
                now = os.stat(name)
                if now.st_mtime_ns > latest or now.st_ctime_ns > latest:
                    return None
                folders.append((name[strip:] or os.curdir, (now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_dev)))
        except OSError:
            return None
        return _Seen(files, [(file.path[strip:], file.stat) for file in files], folders)
