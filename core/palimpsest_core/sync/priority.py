"""How much of the machine the indexer may take: little work at almost normal priority, much work at the lowest.

A busy machine gives the lowest priority next to nothing: half a second of work took 43 s beside twelve busy processes.
What is small enough to be over before anyone notices is therefore done at `MILD`.
"""

from __future__ import annotations

import contextlib
import os

NICENESS = 19
MILD = 5
SMALL_BYTES = 16 << 20
"""Pending stored bytes that are indexed within about a second."""


class Priority:
    """The niceness of this process: `MILD` at first, `lowest` from the first time that much is pending."""

    def __init__(self, lowest: int = NICENESS) -> None:
        self._lowest = lowest
        self._niceness = min(MILD, lowest)
        _renice(self._niceness)

    def fit(self, pending_bytes: int) -> None:
        """Go down to the lowest when more than `SMALL_BYTES` are pending. There is no way up again."""
        if pending_bytes > SMALL_BYTES and self._niceness < self._lowest:
            self._niceness = self._lowest
            _renice(self._lowest)


def _renice(niceness: int) -> None:
    """Set every thread of this process: on Linux each has a niceness of its own."""
    if not hasattr(os, "setpriority"):
        return
    try:
        threads = [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:
        threads = [0]
    for thread in threads:
        # A thread may have ended since, and a limit of the system may forbid it: work then goes on as it was.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, max(niceness, os.getpriority(os.PRIO_PROCESS, thread)))
