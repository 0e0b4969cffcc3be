"""Reading logs in two processes: a helper reads ahead, and whoever writes the index reads too while it waits."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import BinaryIO, NamedTuple, cast

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.model.config import Config
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.sync.extract import Piece
from palimpsest_core.sync.lifeline import config_json
from palimpsest_core.sync.piecewire import Message, from_bytes, receive, send

_LOOK_SECONDS = 0.1
_GIVEN_BYTES = 8 << 20
"""The helper is told of so many stored bytes beforehand: what it reads while the index is being written."""

_WAITING_BYTES = 12 << 20
_PIPE_BYTES = 1 << 20


class Job(NamedTuple):
    """A log to read, and where an earlier reading of it stopped."""

    file: LogFile
    state: bytes | None


Read = Callable[[Job], Iterator[Piece]]


class HelperLost(Exception):
    """The helper ended before it had told all of a log."""


class _Inbox:
    """Messages that came and were not taken yet; who puts waits while they hold more than `_WAITING_BYTES`."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._messages: deque[Message | None] = deque()
        self._bytes = 0
        self._whole = 0
        self._closed = False

    def put(self, message: Message | None) -> None:
        """Add a message; None is the end."""
        with self._change:
            self._change.wait_for(lambda: self._bytes < _WAITING_BYTES or self._closed)
            self._messages.append(message)
            self._bytes += len(message.data) if message is not None else 0
            self._whole += message is None or message.last
            self._change.notify_all()

    def get(self, seconds: float) -> Message | None:
        """The next message. Raises `queue.Empty` when none comes in time."""
        with self._change:
            if not self._change.wait_for(lambda: self._messages, seconds):
                raise queue.Empty
            message = self._messages.popleft()
            if message is not None:
                self._bytes -= len(message.data)
                self._whole -= message.last
            self._change.notify_all()
            return message

    @property
    def ready(self) -> bool:
        """Whether all of a log is here, or as much as there is room for."""
        return self._whole > 0 or self._bytes >= _WAITING_BYTES

    def close(self) -> None:
        """Nobody takes anything any more."""
        with self._change:
            self._closed = True
            self._change.notify_all()


class Helper:
    """A running extractor process. Close it."""

    def __init__(self, root: str, config: Config) -> None:
        """Raises OSError when no process can be started."""
        command = [sys.executable, "-m", "palimpsest_core.sync.extractor", "--root", root]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [*command, "--config", config_json(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # an error of a reading comes up again where its log is read anew
            env=environment,
        )
        self._inbox = _Inbox()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        _widen(cast("BinaryIO", self._process.stdout))
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._feed)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        """Take pieces off the pipe: then the helper goes on while the index is being written."""
        stream = cast("BinaryIO", self._process.stdout)
        while (message := receive(stream)) is not None:
            self._inbox.put(message)
        self._inbox.put(None)

    def _feed(self) -> None:
        """Hand jobs over: a thread of its own, for a helper that waits to be listened to does not take any."""
        with contextlib.suppress(OSError):  # it ended, which `pieces` notices
            while (job := self._jobs.get()) is not None:
                send(cast("BinaryIO", self._process.stdin), pickle.dumps(tuple(job)))

    def give(self, job: Job) -> None:
        """One more log to read. Never waits."""
        self._jobs.put(job)

    @property
    def ready(self) -> bool:
        """Whether the next log, or much of it, can be had without waiting."""
        return self._inbox.ready

    def pieces(self, cancel: CancelToken | None) -> Iterator[Piece]:
        """The pieces of the next log that was given. Raises `HelperLost`, `ABORTED`."""
        while True:
            check(cancel)
            try:
                message = self._inbox.get(_LOOK_SECONDS)
            except queue.Empty:
                continue
            if message is None:
                raise HelperLost
            yield from_bytes(message.data)
            if message.last:
                return

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._inbox.close()
        self._jobs.put(None)
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not written yet can go nowhere
                cast("BinaryIO", pipe).close()


def read_together(
    helper: Helper, jobs: list[Job], read: Read, cancel: CancelToken | None
) -> Generator[tuple[LogFile, Piece], None, None]:
    """The pieces of all logs, each log's without others between; about in the order of the jobs.

    `read` reads one here. A helper that is lost is done without: its logs are read here, what it had begun anew.
    """
    waiting, given = deque(jobs), deque[Job]()
    left, given_bytes = sum(job.file.stat.size for job in jobs), 0
    alone = False
    while waiting or given:
        check(cancel)
        # Not more than half of what is left, so that both come to the end together.
        while waiting and not alone and (not given or given_bytes < min(_GIVEN_BYTES, left // 2)):
            job = waiting.popleft()
            helper.give(job)
            given.append(job)
            given_bytes += job.file.stat.size
        if given and (helper.ready or not waiting):
            try:
                for piece in helper.pieces(cancel):
                    yield given[0].file, piece
            except HelperLost:
                alone = True
                waiting.extendleft(reversed(given))
                given.clear()
                continue
            job = given.popleft()
            given_bytes -= job.file.stat.size
        else:
            job = waiting.popleft()
            for piece in read(job):
                yield job.file, piece
        left -= job.file.stat.size


def _widen(pipe: BinaryIO) -> None:
    """Let more lie in a pipe, where that can be had."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
