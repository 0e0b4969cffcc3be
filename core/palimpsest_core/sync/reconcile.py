"""Brings the index up to date with a root: only what is new, changed or gone is read (engine contract, section 6).

Newest logs first. Changes are committed in growing steps, so that first results show early and the journal stays
bounded; a kill loses at most one step. One bad log never stops the others.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from typing import NamedTuple

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.log.text import Registry, registry_for
from palimpsest_core.model.config import Config
from palimpsest_core.search.documents import KnownLog
from palimpsest_core.search.provider import LogIndex
from palimpsest_core.storage.layout import LogFile, parse_log_name
from palimpsest_core.sync.extract import End, Piece, Unreadable, extract
from palimpsest_core.sync.ledger import Ledger
from palimpsest_core.sync.revision import revision_of
from palimpsest_core.sync.survey import Survey
from palimpsest_core.sync.together import Helper, Job, read_together

BULK_BYTES = 32 << 20
"""From so many stored bytes on, postings are merged after the build instead of during it."""

HELPER_BYTES = 3 << 20
"""From so many stored bytes on, a helper process reads logs too. With less it would begin when all is nearly done."""


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


class _SavedLook(msgspec.Struct, array_like=True, frozen=True):
    """A look over the root, all of which was indexed with the extractors `fingerprint` when `generation` was made."""

    fingerprint: str
    generation: int
    logs: int
    look: bytes


class Reconciler:
    """Keeps one index equal to one root. Not thread-safe; the caller holds the election when others may write."""

    def __init__(
        self, index: LogIndex, root: str, config: Config, *, begin: Callable[[int], None] | None = None
    ) -> None:
        """`begin` is told how many stored bytes are to be read, before that begins."""
        self.index = index
        self._root = root
        self._config = config
        self._begin = begin
        self._registry: Registry = registry_for(config.extractors)
        self._fingerprint = self._registry.fingerprint()
        self._logs = 0
        self._settled = -1
        self._saved = self._saved_look()
        self._survey = Survey(root, None if self._saved is None else self._saved.look)

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
        if folders is not None:
            return self._run_folders(set(folders), cancel, progress)
        files = self._look(cancel)
        if files is None:
            if self._settled == self.index.generation:
                return Refresh(logs=self._logs)
            files = self._survey.files or []
        known = dict(self.index.known_logs())
        self._settled, self._logs = -1, len(files)
        refresh = self._carry_out(make_plan(files, known, self._fingerprint), len(files), cancel, progress)
        if not refresh.failed:
            self._settled = self.index.generation
            self._save_look()
        return refresh

    def _saved_look(self) -> _SavedLook | None:
        """The look of an earlier process; when nothing was written since, it is known to be indexed."""
        try:
            saved = msgspec.msgpack.decode(self.index.load_look() or b"", type=_SavedLook)
        except msgspec.DecodeError:
            return None
        if saved.fingerprint != self._fingerprint:
            return None
        self._settled, self._logs = saved.generation, saved.logs
        return saved

    def _save_look(self) -> None:
        """Let the next process begin with this look; only whoever finds the root at rest has one that is of use."""
        look = self._survey.save()
        if look is None:
            return
        saved = _SavedLook(self._fingerprint, self._settled, self._logs, look)
        if saved != self._saved:
            self._saved = saved
            # Where the index cannot be written the next process looks for itself.
            with contextlib.suppress(SessionQueryError), self.index.batch():
                self.index.save_look(msgspec.msgpack.encode(saved))

    def _run_folders(
        self, folders: set[str], cancel: CancelToken | None, progress: Callable[[SyncProgress], None] | None
    ) -> Refresh:
        known = self.index.known_logs()
        held = {path: log for path, log in known.items() if os.path.dirname(path) in folders}
        return self._carry_out(make_plan(files_in(folders), held, self._fingerprint), len(known), cancel, progress)

    def _look(self, cancel: CancelToken | None) -> list[LogFile] | None:
        """All logs, or None when the root is as it was at the last look."""
        try:
            return self._survey.look(cancel)
        except OSError as error:
            raise SessionQueryError(
                ErrorCode.PERSISTENCE_FAILED, f"The root {self._root} cannot be read ({error.strerror})."
            ) from error

    def _carry_out(
        self, plan: Plan, logs: int, cancel: CancelToken | None, progress: Callable[[SyncProgress], None] | None
    ) -> Refresh:
        if not plan.gone and not plan.read:
            return Refresh(logs=logs)
        return self._apply(plan, logs, cancel, progress)

    def _apply(
        self, plan: Plan, logs: int, cancel: CancelToken | None, progress: Callable[[SyncProgress], None] | None
    ) -> Refresh:
        sizes = {file.path: _bytes_to_read(file, held) for file, held in plan.read}
        total_bytes = sum(sizes.values())
        added: list[str] = []
        changed: list[str] = []
        failed: dict[str, str] = {}
        done, done_bytes = 0, 0
        known = {file.path: held for file, held in plan.read}
        bulk = total_bytes >= BULK_BYTES
        if self._begin is not None:
            self._begin(total_bytes)
        with (
            self.index.interruptible(cancel),
            Ledger(self.index, self._root, self._config) as ledger,
            contextlib.closing(self._pieces(plan, total_bytes, cancel)) as pieces,
        ):
            if bulk:
                ledger.bulk(True)
            for path in plan.gone:
                check(cancel)
                ledger.forget(path)
            for file, piece in pieces:
                check(cancel)
                ledger.write(file, piece)
                if isinstance(piece, Unreadable):
                    failed[file.path] = piece.reason
                elif isinstance(piece, End):
                    held = known[file.path]
                    (added if held is None or held.session_id is None else changed).append(file.path)
                else:
                    continue
                done_bytes += sizes[file.path]
                done += 1
                if progress is not None:
                    progress(SyncProgress(done, len(sizes), done_bytes, total_bytes, file.path))
            if bulk:
                ledger.bulk(False)
        if bulk:
            self.index.tidy(cancel)
        return Refresh(added, changed, plan.gone, failed, logs, done_bytes)

    def _pieces(
        self, plan: Plan, total_bytes: int, cancel: CancelToken | None
    ) -> Generator[tuple[LogFile, Piece], None, None]:
        """All pieces of all logs to read."""

        def read(job: Job) -> Iterator[Piece]:
            return extract(self._root, job.file, job.state, config=self._config, registry=self._registry, cancel=cancel)

        jobs = [Job(file, self._state(held)) for file, held in plan.read]
        helper = self._helper() if total_bytes >= HELPER_BYTES and len(jobs) > 1 else None
        if helper is None:
            for job in jobs:
                for piece in read(job):
                    yield job.file, piece
            return
        with contextlib.closing(helper):
            yield from read_together(helper, jobs, read, cancel)

    def _state(self, held: KnownLog | None) -> bytes | None:
        """From where a log can be gone on with."""
        if held is None or held.fingerprint != self._fingerprint:
            return None
        return self.index.load_state(held.number) or None

    def _helper(self) -> Helper | None:
        """A process beside this one, where there is a processor for it."""
        if (os.cpu_count() or 1) < 2 or not sys.executable:
            return None
        try:
            return Helper(self._root, self._config)
        except OSError:
            return None  # no more processes: it goes without


def _bytes_to_read(file: LogFile, held: KnownLog | None) -> int:
    """About how much of a log has to be read: what it grew by, or all of it."""
    if held is not None and held.complete:
        parts = held.revision.split(":")
        if len(parts) == 5 and parts[:2] == [str(file.stat.dev), str(file.stat.ino)]:
            grown = file.stat.size - int(parts[2])
            if grown > 0:
                return grown
    return file.stat.size
