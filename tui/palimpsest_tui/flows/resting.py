"""Waiting until a cursor rests. A key held down moves it thirty times a second; each time starts no timer anew."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.screen import Screen
from textual.timer import Timer


class Rest:
    """Runs something when nothing has moved for a while."""

    def __init__(self, host: Screen[Any]) -> None:
        self._host = host
        self._timer: Timer | None = None
        self._until = 0.0
        self._then: Callable[[], object] | None = None

    def begin(self, seconds: float, then: Callable[[], object]) -> None:
        """Run `then` in `seconds`, unless this is called again before."""
        self._until, self._then = monotonic() + seconds, then
        if self._timer is None:
            self._timer = self._host.set_timer(seconds, self._look)

    def stop(self) -> None:
        """Run nothing."""
        self._then = None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        left = self._until - monotonic()
        if left > 0:
            self._timer = self._host.set_timer(left, self._look)
        elif self._then is not None:
            self._then()
