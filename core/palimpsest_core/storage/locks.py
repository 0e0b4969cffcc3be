"""Election of one worker among processes: an advisory lock on a file, held as long as the process lives.

Taken for derived data only; the lock of a log belongs to its writer and is never touched by a reader.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":  # pragma: no cover (no such machine in the checks)
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """A lock that one process holds at a time; the system frees it when the process ends, however it ends.

        lock = FileLock(path)
        if lock.acquire(): ...

    The file is left behind: removing it would let two processes hold locks on two files of one name.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._descriptor = -1

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor >= 0

    def acquire(self) -> bool:
        """Take the lock if it is free; at once, whether or not. Raises OSError when the file cannot be made."""
        if self.held:
            return True
        descriptor = os.open(self.path, _FLAGS, 0o600)
        try:
            _take(descriptor)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Give it back. Twice is fine."""
        if self.held:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
