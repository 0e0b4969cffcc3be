"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """One report: `done` of `total` in `unit` ("bytes", "events", "sessions"); `total` is 0 while unknown."""

    done: int
    total: int
    unit: str
    what: str = ""


ProgressSink = Callable[[Progress], None]
"""Called often and from the working thread; it must return at once."""
