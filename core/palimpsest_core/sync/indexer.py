"""The indexer: a process of its own that keeps one index equal to one root.

    python -m palimpsest_core.sync.indexer --root ROOT --index FILE [--follow] [--config JSON]

At most one per index works, elected by a file lock; with `--follow` another one takes over when it dies. It runs niced
(`Priority`) and reports on standard output, one JSON object a line (`Report`). Standard input takes the lines `pause`,
`resume` and `refresh`. It stops cleanly on SIGTERM, when standard input (a pipe) is closed, and when its parent dies.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config, parse_config
from palimpsest_core.model.jsonable import Record
from palimpsest_core.search.fts5.database import IndexDamaged
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.storage.locks import FileLock
from palimpsest_core.sync.lifeline import read_orders, return_memory, stop_on_signals, stop_with_parent
from palimpsest_core.sync.pause import Pause
from palimpsest_core.sync.priority import NICENESS, Priority
from palimpsest_core.sync.reconcile import Reconciler, Refresh, SyncProgress
from palimpsest_core.sync.watcher import Watcher

_ELECTION_SECONDS = 0.5
_REPORT_SECONDS = 0.5
"""Between two lines about progress, the first of which comes at once. Whoever shows them paints a part of a screen for
each: ten a second made every twentieth turn of an app's loop late."""

_RETRY_SECONDS = 5.0


class Report(Record, frozen=True):
    """One line of the indexer.

    `event`: "waiting" (another process works), "started", "notice" (`message`), "progress", "failed" (a log of which
    nothing can be read: `path`, `message`), "refreshed" (the index changed: counts), "current" (all logs are indexed),
    "paused" (`message`: why), "error" (`code`, `message`; it goes on trying), "stopped".
    """

    event: str
    logs_done: int | None = None
    logs_total: int | None = None
    bytes_done: int | None = None
    bytes_total: int | None = None
    bytes_per_second: int | None = None
    path: str | None = None
    code: str | None = None
    message: str | None = None
    added: int | None = None
    changed: int | None = None
    removed: int | None = None


class Indexer:
    """The loop of the process, apart from its process: tests run it in a thread."""

    def __init__(
        self,
        root: str,
        index: str,
        config: Config,
        tell: Reporter,
        *,
        own_path: bool = False,
        priority: Priority | None = None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._index = index
        self._config = config
        self._own_path = own_path
        self._tell = tell
        self._priority = priority
        self.pause = Pause()
        self._wanted = threading.Event()

    def refresh(self) -> None:
        """Look at the whole root again soon."""
        self._wanted.set()

    def run(self, cancel: CancelToken, *, follow: bool) -> int:
        """Index everything, then follow changes if asked to. Returns the exit status."""
        os.makedirs(os.path.dirname(os.path.abspath(self._index)), mode=0o700, exist_ok=True)
        lock = FileLock(f"{self._index}.lock")
        if not self._elected(lock, cancel, follow):
            return 0
        try:
            while not cancel.is_set():
                try:
                    if not self._work(cancel, follow):
                        return 0
                    continue
                except IndexDamaged as error:
                    self._tell(Report("notice", message=error.message))
                    continue
                except SessionQueryError as error:
                    if error.code is ErrorCode.ABORTED:
                        return 0
                    self._tell(Report("error", code=error.code.value, message=error.message))
                    if not follow:
                        return 1
                    cancel.wait(_RETRY_SECONDS)
            return 0
        finally:
            lock.release()
            self._tell(Report("stopped"))

    def _elected(self, lock: FileLock, cancel: CancelToken, follow: bool) -> bool:
        if lock.acquire():
            return True
        self._tell(Report("waiting"))
        while follow and not cancel.wait(_ELECTION_SECONDS):
            if lock.acquire():
                return True
        return False

    def _work(self, cancel: CancelToken, follow: bool) -> bool:
        """One life of the index file: opened, filled, kept up to date. True: another took its place, begin anew."""
        provider = Fts5Provider(self._index, root=self._root, config=self._config, own_path=self._own_path)
        with contextlib.closing(provider):
            self._tell(Report("started"))
            for notice in provider.notices:
                self._tell(Report("notice", message=notice))
            fit = None if self._priority is None else self._priority.fit
            reconciler = Reconciler(provider, self._root, self._config, begin=fit)
            watcher = Watcher(self._root)
            if follow:
                watcher.baseline()
            # Also while it reconciles: what is written then goes on from what was there before.
            foreign = provider.foreign
            self._reconcile(reconciler, cancel, None)
            if provider.superseded or provider.foreign != foreign:
                return not cancel.is_set()
            self._tell(Report("current", logs_total=len(provider.known_logs())))
            if not follow:
                return False
            for folders in self._changes(watcher, cancel):
                if provider.superseded or provider.foreign != foreign:
                    # Another process emptied the index (`index --rebuild`) or put another file in its place. Nobody
                    # else fills it as long as this process has the lock, and what is held of it in memory is void.
                    return not cancel.is_set()
                if folders is not None and not folders:
                    continue
                if reason := self.pause.reason():
                    self._tell(Report("paused", message=reason))
                    self.pause.hold(cancel)
                    folders = None
                self._reconcile(reconciler, cancel, folders)
            return False

    def _changes(self, watcher: Watcher, cancel: CancelToken) -> Iterator[frozenset[str] | None]:
        """Folders to look at, from time to time none; None: all of them."""
        for folders in watcher.changes(cancel, ticks=True):
            if self._wanted.is_set():
                self._wanted.clear()
                yield None
            else:
                yield folders

    def _reconcile(self, reconciler: Reconciler, cancel: CancelToken, folders: frozenset[str] | None) -> None:
        """Take over what changed, in a thread of its own: it stays as nice as it had to become (`Priority`)."""
        with ThreadPoolExecutor(1, "reconcile") as once:
            once.submit(self._take_over, reconciler, cancel, folders).result()

    def _take_over(self, reconciler: Reconciler, cancel: CancelToken, folders: frozenset[str] | None) -> None:
        began, told = time.monotonic(), -_REPORT_SECONDS

        def progress(step: SyncProgress) -> None:
            nonlocal told
            pending = step.bytes_total - step.bytes_done
            if reason := self.pause.reason(pending):
                self._tell(Report("paused", message=reason))
                self.pause.hold(cancel, pending)
            now = time.monotonic()
            if now - told >= _REPORT_SECONDS or step.logs_done == step.logs_total:
                told = now
                self._tell(_progress(step, now - began))

        refresh = reconciler.run(cancel, progress, folders=folders)
        for path, reason in refresh.failed.items():
            self._tell(Report("failed", path=path, message=reason))
        if refresh.anything or refresh.failed:
            self._tell(_refreshed(refresh))


class Reporter:
    """Writes reports to a stream, a line each; a closed stream cancels."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        """Write one report."""
        try:
            line = msgspec.json.encode(report)
        except UnicodeEncodeError:
            # A file name that is no valid text.
            path = (report.path or "").encode("utf-8", "replace").decode()
            line = msgspec.json.encode(msgspec.structs.replace(report, path=path))
        with self._lock:
            try:
                sys.stdout.buffer.write(line + b"\n")
                sys.stdout.buffer.flush()
            except (BrokenPipeError, ValueError):
                self._cancel.set()


def _progress(step: SyncProgress, seconds: float) -> Report:
    return Report(
        "progress",
        logs_done=step.logs_done,
        logs_total=step.logs_total,
        bytes_done=step.bytes_done,
        bytes_total=step.bytes_total,
        bytes_per_second=int(step.bytes_done / seconds) if seconds > 0 else 0,
        path=step.path,
    )


def _refreshed(refresh: Refresh) -> Report:
    return Report(
        "refreshed",
        logs_total=refresh.logs,
        added=len(refresh.added),
        changed=len(refresh.changed),
        removed=len(refresh.removed),
    )


def main(arguments: list[str] | None = None) -> int:
    """The process."""
    parser = argparse.ArgumentParser(prog="palimpsest-indexer", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--root", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--follow", action="store_true", help="keep on watching the root")
    parser.add_argument("--config", default="{}", help="engine settings as JSON")
    parser.add_argument("--own-path", action="store_true", help="the index lies at its default place")
    parser.add_argument("--nice", type=int, default=NICENESS)
    given = parser.parse_args(arguments)
    config = parse_config(msgspec.json.decode(given.config))
    priority = Priority(given.nice)
    return_memory()
    cancel = CancelToken()
    stop_on_signals(cancel)
    stop_with_parent(cancel)
    indexer = Indexer(given.root, given.index, config, Reporter(cancel), own_path=given.own_path, priority=priority)
    orders = {
        b"pause": lambda: indexer.pause.set(True),
        b"resume": lambda: indexer.pause.set(False),
        b"refresh": indexer.refresh,
    }
    read_orders(cancel, lambda line: orders.get(line.strip(), lambda: None)())
    return indexer.run(cancel, follow=given.follow)


if __name__ == "__main__":
    sys.exit(main())
