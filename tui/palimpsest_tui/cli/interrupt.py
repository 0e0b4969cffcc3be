"""Ctrl+C as a cancel token: the first one asks the work to stop, the second one does not ask."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from palimpsest_core.base.cancel import CancelToken


@contextmanager
def cancel_on_interrupt() -> Iterator[CancelToken]:
    """A token that SIGINT or SIGTERM sets while the block runs.

    Python runs signal handlers in the main thread between two steps of the interpreter, so a long SQL statement or
    decompression there would not notice. The wake-up descriptor is written at once by the C handler: a small thread
    waits on it and sets the token, whose callbacks interrupt the work. A second signal raises KeyboardInterrupt.
    """
    token = CancelToken()
    if threading.current_thread() is not threading.main_thread():
        yield token
        return

    def again(number: int, frame: FrameType | None) -> None:
        if token.is_set() and seen:
            raise KeyboardInterrupt
        seen.append(number)

    seen: list[int] = []
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def wait() -> None:
        # Every signal comes by here, also a resized window: only these two mean stop.
        while data := reader.recv(1):
            if data[0] in (signal.SIGINT, signal.SIGTERM):
                token.set()

    watcher = threading.Thread(target=wait, name="interrupt", daemon=True)
    before = {number: signal.signal(number, again) for number in (signal.SIGINT, signal.SIGTERM)}
    old_wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield token
    finally:
        signal.set_wakeup_fd(old_wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        writer.close()
        watcher.join()
        reader.close()
