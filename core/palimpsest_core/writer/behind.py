"""Gathers events for a short while before they are written, so that one sync carries many of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from palimpsest_core.writer.rows import Row

WINDOW_SECONDS = 0.2
"""How long the first waiting event waits for company; later ones do not start the time anew."""

_log = logging.getLogger(__name__)


class WriteBehind:
    """The queue of one session. Thread-safe; batches are written one after the other, in order.

    `write` takes a batch and returns when it is durable. `window_seconds` None means that only `flush` writes.
    A failure in the background is logged once and keeps the batch: the next event starts a fresh window, and `flush`
    tries at once.
    """

    def __init__(
        self, write: Callable[[Sequence[Row]], None], *, window_seconds: float | None = WINDOW_SECONDS
    ) -> None:
        self._write = write
        self._window = window_seconds
        self._waiting: list[Row] = []
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._failed = False

    def add(self, rows: Sequence[Row]) -> None:
        """Queue rows; the first one waiting starts the window."""
        if not rows:
            return
        with self._lock:
            self._waiting.extend(rows)
            if self._timer is None and self._window is not None:
                self._timer = threading.Timer(self._window, self._expired)
                self._timer.daemon = True
                self._timer.start()

    @property
    def waiting(self) -> int:
        """How many events are not durable yet and not being written."""
        return len(self._waiting)

    def cancel(self) -> None:
        """Write nothing by itself any more; what waits stays for `flush`."""
        with self._lock:
            self._window = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def flush(self) -> None:
        """Write everything that waits, now, with what comes in meanwhile; raises what `write` raises."""
        with self._writing:
            while True:
                with self._lock:
                    if self._timer is not None:
                        self._timer.cancel()
                        self._timer = None
                    batch, self._waiting = self._waiting, []
                if not batch:
                    return
                try:
                    self._write(batch)
                except BaseException:
                    with self._lock:
                        self._waiting = batch + self._waiting
                    raise
                self._failed = False

    def _expired(self) -> None:
        try:
            self.flush()
        except Exception as error:
            # Nobody waits for a background write; the batch is kept, and the next flush tells its caller.
            if not self._failed:
                _log.warning("A session could not be written in the background: %s", error)
            self._failed = True
