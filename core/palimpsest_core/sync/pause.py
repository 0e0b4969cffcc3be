"""When the indexer holds up its work: when it is told to, and when much would be read at the cost of the battery."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.sync.power import on_battery
from palimpsest_core.sync.priority import SMALL_BYTES

AS_TOLD = "as told"
ON_BATTERY = "on battery"

_LOOK_SECONDS = 0.1
_BATTERY_SECONDS = 5.0
"""How often it is asked where the power comes from."""


class Pause:
    """Orders and the battery. Thread-safe.

    On battery only large pieces of work wait: a log that grows goes on being found. An order to go on holds for the
    battery too, until the next order to pause.
    """

    def __init__(self, on_battery: Callable[[], bool] = on_battery) -> None:
        self._on_battery = on_battery
        self._told = False
        self._despite_battery = False
        self._changed = threading.Event()
        self._asked_at = float("-inf")
        self._battery = False

    def set(self, paused: bool) -> None:
        """The order to hold up, or to go on whatever feeds the machine."""
        self._told, self._despite_battery = paused, not paused
        self._changed.set()

    def reason(self, pending_bytes: int = 0) -> str:
        """Why work with so many stored bytes before it has to wait; "" when it need not."""
        if self._told:
            return AS_TOLD
        return ON_BATTERY if pending_bytes > SMALL_BYTES and not self._despite_battery and self._drains() else ""

    def hold(self, cancel: CancelToken, pending_bytes: int = 0) -> None:
        """Return when work may go on or is cancelled."""
        while self.reason(pending_bytes) and not cancel.is_set():
            self._changed.wait(_LOOK_SECONDS)
            self._changed.clear()

    def _drains(self) -> bool:
        now = time.monotonic()
        if now - self._asked_at >= _BATTERY_SECONDS:
            self._battery, self._asked_at = self._on_battery(), now
        return self._battery
