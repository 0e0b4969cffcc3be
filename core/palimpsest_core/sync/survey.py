"""Looking over a root again and again: what the last look found is asked for by name, two stats a session.

A folder's listing is taken as unchanged while the folder's own times are; that is only sound when the folder was last
changed well before it was listed, so a root that changed lately is walked anew each time. A look can be saved, so that
the next process goes on from it. Who looks a third time sets watches and needs no stats while none of them tells of
anything. Measured with 10,000 sessions: a walk 160 ms, a second look 55 ms, a bare walk with stats 90 ms, a look with
watches 0.02 ms.
"""

from __future__ import annotations

import os
import time

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.catalog import flat_logs
from palimpsest_core.storage.layout import LogFile, Stat, discover, parse_log_name
from palimpsest_core.sync.stillness import Stillness

SETTLED_SECONDS = 30.0
"""A folder whose last change is older than this when it is listed has nothing going on in it. A file server's clock may
differ from ours by less than that."""

LOOK_ALL_THE_SAME_SECONDS = 30.0
"""After so long everything is looked at although no watch told of a change: some changes make no event."""

_LOOKS_BEFORE_WATCHES = 2
"""Looks with stats alone at the same folders: who looks but once has nothing of watches."""

_Times = tuple[int, int, int, int]


class _Seen(msgspec.Struct, array_like=True):
    """A look: names relative to the root of logs and folders, with their stats and times."""

    logs: dict[str, tuple[int, int, int, int, int]]
    folders: dict[str, _Times]


class Survey:
    """The logs below one root. Not thread-safe."""

    def __init__(self, root: str, saved: bytes | None = None) -> None:
        """`saved`: what `save` gave to an earlier process, to go on from."""
        self._root = root.rstrip("/") or root
        self._seen: _Seen | None = None
        self._looks = 0
        self._still: Stillness | None = None
        self._looked_at = 0.0
        if saved:
            try:
                self._seen = msgspec.msgpack.decode(saved, type=_Seen)
            except msgspec.DecodeError:
                self._seen = None  # written by another version: look anew

    def look(self, cancel: CancelToken | None = None) -> list[LogFile] | None:
        """All logs as they are now, or None when nothing is different from the look before.

        Raises `ABORTED`, and OSError when the root cannot be examined.
        """
        if self._seen is not None:
            check(cancel)
            if self._watched(self._seen):
                return None
            before = dict(self._seen.logs)
            if self._folders_stand(self._seen):
                return None if before == self._seen.logs else self.files
        self._let_go()
        began = time.time_ns()
        found = discover(self._root, cancel)
        files = found.files + flat_logs(found.strays)
        self._seen = None
        if not found.missing and not found.strays:
            self._seen = self._settled(found.files, began)
        return files

    def _watched(self, seen: _Seen) -> bool:
        """Whether the watches prove that nothing changed; the third look of a process sets them."""
        now = time.monotonic()
        if self._still is not None and self._still.unbroken() and now - self._looked_at < LOOK_ALL_THE_SAME_SECONDS:
            return True
        self._looks, self._looked_at = self._looks + 1, now
        if self._looks == _LOOKS_BEFORE_WATCHES:
            # What happens while they are set is found by the stats that follow.
            self._still = Stillness.over(self._root, seen.folders, seen.logs)
        return False

    def _let_go(self) -> None:
        """The folders are others now: watches on the old ones prove nothing."""
        if self._still is not None:
            self._still.close()
        self._still, self._looks = None, 0

    @property
    def files(self) -> list[LogFile] | None:
        """What the last look found, if the next one may say that nothing changed."""
        return None if self._seen is None else [self._file(name, stat) for name, stat in self._seen.logs.items()]

    def save(self) -> bytes | None:
        """The last look for a later process; None when it is of no use to one."""
        try:
            return None if self._seen is None else msgspec.msgpack.encode(self._seen)
        except UnicodeEncodeError:
            return None  # a name that is no valid text

    def _file(self, name: str, stat: tuple[int, int, int, int, int]) -> LogFile:
        project, folder, log = name.split("/")
        named = parse_log_name(log)
        assert named is not None
        return LogFile(f"{self._root}/{name}", project, folder, *named, Stat(*stat))

    def _folders_stand(self, seen: _Seen) -> bool:
        """Whether every folder and log is still where it was; `seen` then holds the logs' stats of now."""
        try:
            # Names below an open folder: a shorter way for each of the stats.
            root = os.open(self._root, os.O_RDONLY)
        except OSError:
            return False
        stat = os.stat
        try:
            for name, times in seen.folders.items():
                now = stat(name, dir_fd=root)
                if (now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_dev) != times:
                    return False
            for name in seen.logs:
                now = stat(name, dir_fd=root)
                seen.logs[name] = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
        except OSError:
            return False
        finally:
            os.close(root)
        return True

    def _settled(self, files: list[LogFile], began_ns: int) -> _Seen | None:
        """What can be relied on next time; None while something is going on."""
        latest = began_ns - int(SETTLED_SECONDS * 1e9)
        strip = len(self._root) + 1
        logs = {file.path[strip:]: msgspec.structs.astuple(file.stat) for file in files}
        names = {self._root}
        try:
            for entry in os.scandir(self._root):
                if entry.is_dir():
                    names.add(entry.path)
                    names.update(inner.path for inner in os.scandir(entry.path) if inner.is_dir())
            folders = {}
            for name in sorted(names):
                now = os.stat(name)
                if now.st_mtime_ns > latest or now.st_ctime_ns > latest:
                    return None
                folders[name[strip:] or os.curdir] = (now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_dev)
        except OSError:
            return None
        return _Seen(logs, folders)
