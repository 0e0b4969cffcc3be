"""Running a producer one thread ahead of its consumer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Generic, TypeVar

_T = TypeVar("_T")
_LOOK_SECONDS = 0.1


class _End(Generic[_T]):
    """What a producer leaves when it is done, with the error that ended it, if one did."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def ahead(items: Iterable[_T], depth: int) -> Generator[_T, None, None]:
    """The same items in the same order, made by a thread that runs up to `depth` items ahead.

    An error of the producer is raised here, after the items that came before it. When the consumer stops, so does the
    producer: close the iterator (or use it in `contextlib.closing`), then the thread has ended.
    """
    made: queue.Queue[_T | _End[_T]] = queue.Queue(depth)
    stop = threading.Event()

    def put(item: _T | _End[_T]) -> bool:
        while not stop.is_set():
            try:
                made.put(item, timeout=_LOOK_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def produce() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as caught:
            error = caught
        put(_End(error))

    thread = threading.Thread(target=produce, name="reading-ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := made.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stop.set()
        thread.join()
