"""Cancellation: a token that anyone may set and every loop looks at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from palimpsest_core.base.errors import aborted

_T = TypeVar("_T")
_ITEMS_BETWEEN_LOOKS = 64


class CancelToken:
    """A one-way switch shared between a caller and the work it started.

    Thread-safe. Callbacks registered with `on_set` run once, in the thread that sets the token (or at once when
    it is already set); they interrupt what cannot look at the token itself, such as a running SQL statement.
    """

    __slots__ = ("_callbacks", "_event", "_lock")

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        """Cancel. Setting twice is fine."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """Whether the work should stop."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep until the token is set or the time is over; True when it is set."""
        return self._event.wait(seconds)

    def raise_if_set(self) -> None:
        """Raise `ABORTED` when the token is set."""
        if self._event.is_set():
            raise aborted()

    @contextmanager
    def on_set(self, callback: Callable[[], None]) -> Iterator[None]:
        """Run `callback` if the token is set while the block runs, or at once when it already is."""
        with self._lock:
            fire = self._event.is_set()
            if not fire:
                self._callbacks.append(callback)
        if fire:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)


def check(cancel: CancelToken | None) -> None:
    """Raise `ABORTED` when `cancel` is given and set: the one line for the top of a loop."""
    if cancel is not None:
        cancel.raise_if_set()


class _Watched(Sequence[_T]):
    """A sequence whose iterators look at a token every few items."""

    __slots__ = ("_cancel", "_items")

    def __init__(self, items: Sequence[_T], cancel: CancelToken) -> None:
        self._items = items
        self._cancel = cancel

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[_T]:
        return _looking(self._items, self._cancel)


def stoppable(items: Iterable[_T], cancel: CancelToken | None) -> Iterable[_T]:
    """As `watched`, for what can be gone over only once."""
    return items if cancel is None else _looking(items, cancel)


def _looking(items: Iterable[_T], cancel: CancelToken) -> Iterator[_T]:
    for place, item in enumerate(items):
        if not place % _ITEMS_BETWEEN_LOOKS:
            cancel.raise_if_set()
        yield item


def watched(items: Sequence[_T], cancel: CancelToken | None) -> Sequence[_T]:
    """`items` for a loop that has no token of its own: going over them raises `ABORTED` once `cancel` is set."""
    return items if cancel is None else _Watched(items, cancel)
