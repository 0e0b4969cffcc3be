"""Temporary folders that the app is opened on: gone afterwards, also when the window was closed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


@contextmanager
def removed_on_hangup(folder: Path) -> Iterator[None]:
    """While the block runs, a closed window (SIGHUP) takes `folder` with it: nothing else of this process will run."""

    def hang_up(number: int, _frame: FrameType | None) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    before = signal.signal(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
