"""Brings the index up to date with a root: only what is new, changed or gone is read (engine contract, section 6).

Newest logs first. Changes are committed in growing steps, so that first results show early and the journal stays
bounded; a kill loses at most one step. One bad log never stops the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.log.text import Registry, registry_for
from palimpsest_core.model.config import Config
from palimpsest_core.search.documents import KnownLog
from palimpsest_core.search.provider import LogIndex
from palimpsest_core.storage.layout import LogFile, discover, parse_log_name
from palimpsest_core.sync.extract import End, Piece, Unreadable, extract
from palimpsest_core.sync.ledger import Ledger
from palimpsest_core.sync.revision import revision_of

BULK_BYTES = 32 << 20
"""From so many stored bytes on, postings are merged after the build instead of during it."""


class SyncProgress(NamedTuple):
    """How far a reconciliation is: logs and their stored bytes, and the log that was read last."""

    logs_done: int
    logs_total: int
    bytes_done: int
    bytes_total: int
    path: str = ""


class Refresh(msgspec.Struct, frozen=True):
    """What a reconciliation did. `failed`: logs of which nothing can be read, with the reason. `logs`: all there are.

    `elsewhere`: another process keeps this index up to date, so nothing was done here.
    """

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []
    failed: dict[str, str] = {}
    logs: int = 0
    bytes_read: int = 0
    elsewhere: bool = False

    @property
    def anything(self) -> bool:
        """Whether the index changed."""
        return bool(self.added or self.changed or self.removed)


class Plan(NamedTuple):
    """What has to be done: paths to forget, and logs to read, newest first, with what is known of each."""

    gone: list[str]
    read: list[tuple[LogFile, KnownLog | None]]


def make_plan(files: Iterable[LogFile], known: dict[str, KnownLog], fingerprint: str) -> Plan:
    """Compare what lies in the root with what the index holds. Pure; `known` must be what could have been found."""
    missing = dict(known)
    read: list[tuple[LogFile, KnownLog | None]] = []
    for file in files:
        held = missing.pop(file.path, None)
        unchanged = held is not None and held.complete and held.revision == revision_of(file.stat)
        if not (unchanged and held is not None and held.fingerprint in (fingerprint, "")):
            read.append((file, held))
    read.sort(key=lambda pair: pair[0].stat.mtime_ns, reverse=True)
    return Plan(list(missing), read)


def files_in(folders: Iterable[str]) -> list[LogFile]:
    """The logs that lie directly in these session folders; folders that are gone have none."""
    found = []
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            if parse_log_name(name) is not None:
                try:
                    found.append(LogFile.at(os.path.join(folder, name)))
                except OSError:
                    continue
    return found


class Reconciler:
    """Keeps one index equal to one root. Not thread-safe; the caller holds the election when others may write."""

    def __init__(self, index: LogIndex, root: str, config: Config) -> None:
        self._index = index
        self._root = root
        self._config = config
        self._registry: Registry = registry_for(config.extractors)
        self._fingerprint = self._registry.fingerprint()

    def run(
        self,
        cancel: CancelToken | None = None,
        progress: Callable[[SyncProgress], None] | None = None,
        *,
        folders: Collection[str] | None = None,
    ) -> Refresh:
        """Look at the whole root, or at some session folders only, and take over what changed.

        Raises `ABORTED` when cancelled (what was committed before stays), `INDEX_FAILED`, and `PERSISTENCE_FAILED` when
        the root itself cannot be read.
        """
        known = dict(self._index.known_logs())
        if folders is None:
            files = self._discover(cancel)
            logs = len(files)
        else:
            files = files_in(folders)
            inside = set(folders)
            logs = len(known)
            known = {path: held for path, held in known.items() if os.path.dirname(path) in inside}
        plan = make_plan(files, known, self._fingerprint)
        if not plan.gone and not plan.read:
            return Refresh(logs=logs)
        return self._apply(plan, logs, cancel, progress)

    def _discover(self, cancel: CancelToken | None) -> list[LogFile]:
        try:
            return discover(self._root, cancel).files
        except OSError as error:
            raise SessionQueryError(
                ErrorCode.PERSISTENCE_FAILED, f"The root {self._root} cannot be read ({error.strerror})."
            ) from error

    def _apply(
        self, plan: Plan, logs: int, cancel: CancelToken | None, progress: Callable[[SyncProgress], None] | None
    ) -> Refresh:
        total_bytes = sum(_bytes_to_read(file, held) for file, held in plan.read)
        added: list[str] = []
        changed: list[str] = []
        failed: dict[str, str] = {}
        done_bytes = 0
        bulk = total_bytes >= BULK_BYTES
        ledger = Ledger(self._index, self._root, self._config)
        with ledger:
            if bulk:
                ledger.bulk(True)
            for path in plan.gone:
                check(cancel)
                ledger.forget(path)
            for done, (file, held) in enumerate(plan.read):
                for piece in self._pieces(file, held, cancel):
                    check(cancel)
                    ledger.write(file, piece)
                    if isinstance(piece, Unreadable):
                        failed[file.path] = piece.reason
                    elif isinstance(piece, End):
                        (added if held is None or held.session_id is None else changed).append(file.path)
                done_bytes += _bytes_to_read(file, held)
                if progress is not None:
                    progress(SyncProgress(done + 1, len(plan.read), done_bytes, total_bytes, file.path))
            if bulk:
                ledger.bulk(False)
        return Refresh(added, changed, plan.gone, failed, logs, done_bytes)

    def _pieces(self, file: LogFile, held: KnownLog | None, cancel: CancelToken | None) -> Iterator[Piece]:
        state = None
        if held is not None and held.fingerprint == self._fingerprint:
            state = self._index.load_state(held.number) or None
        return extract(self._root, file, state, config=self._config, registry=self._registry, cancel=cancel)


def _bytes_to_read(file: LogFile, held: KnownLog | None) -> int:
    """About how much of a log has to be read: what it grew by, or all of it."""
    if held is not None and held.complete:
        parts = held.revision.split(":")
        if len(parts) == 5 and parts[:2] == [str(file.stat.dev), str(file.stat.ino)]:
            grown = file.stat.size - int(parts[2])
            if grown > 0:
                return grown
    return file.stat.size
