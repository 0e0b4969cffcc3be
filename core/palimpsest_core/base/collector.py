"""Python's cycle collector held still while a whole log is in memory.

Payloads are trees: counting references frees them. But each full collection walks all of them, a third of a second for
half a million events, in which nobody can look at a cancel token; and the walks are most of what reading costs.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MANY = 200_000
"""A walk through fewer new objects than this takes some ten milliseconds: the collector may do it as usual."""
_WALK_AFTER = 16
"""So many times it is spared the walk; then it takes one, for what has come together in between."""

_lock = threading.Lock()
_resting = 0
_spared = 0


def _rest() -> bool:
    """Hold the collector still; False when that is not ours to decide."""
    global _resting
    with _lock:
        if not _resting and not gc.isenabled():
            # Whoever switched it off has plans of their own.
            return False
        gc.disable()
        _resting += 1
        return True


def _go_on() -> None:
    global _resting, _spared
    with _lock:
        _resting -= 1
        if _resting:
            return
        if gc.get_count()[0] > _MANY and _spared < _WALK_AFTER and not gc.get_freeze_count():
            # Into the oldest generation with all that is new, or the very next object would start a walk through it.
            # Cycles among it stay for a while: were this done every time, they would stay for good. What somebody set
            # aside for good stays there (counting that is a walk of its own, so it is asked last).
            gc.freeze()
            gc.unfreeze()
            _spared += 1
        else:
            _spared = 0
        gc.enable()


def collector_resting(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """`work` without cycle collections while it runs, in any number of threads at once."""

    @wraps(work)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not _rest():
            return work(*args, **kwargs)
        try:
            return work(*args, **kwargs)
        finally:
            _go_on()

    return run
