"""How much of the machine the indexer may take: little work at almost normal priority, much work at the lowest.

A busy machine gives the lowest priority next to nothing: half a second of work took 43 s beside twelve busy processes.
What is small enough to be over before anyone notices is therefore done at `MILD`. Nobody may become less nice again; on
Linux each thread has a niceness of its own, so much work gets a thread to itself there, and whoever answers the next
growth of a log is as quick as ever.
"""

from __future__ import annotations

import contextlib
import os

NICENESS = 19
MILD = 5
SMALL_BYTES = 16 << 20
"""Pending stored bytes that are indexed within about a second."""


class Priority:
    """The niceness of this process: `MILD`, and `lowest` for a thread (elsewhere the process) with much to do."""

    def __init__(self, lowest: int = NICENESS) -> None:
        self._lowest = lowest
        _renice(min(MILD, lowest))

    def fit(self, pending_bytes: int) -> None:
        """Let the calling thread go down to the lowest when more than `SMALL_BYTES` are pending: for good."""
        if pending_bytes > SMALL_BYTES:
            _renice(self._lowest)


def _renice(niceness: int) -> None:
    """Set the calling thread (Linux) or process; what it starts from now on begins there."""
    if hasattr(os, "setpriority"):
        # A limit of the system may forbid it: work then goes on as it was.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))
