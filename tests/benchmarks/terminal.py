"""Programs in a terminal of their own: how long until they show something."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import tempfile
import termios
import time
from fcntl import ioctl

from tests.benchmarks.drivers import environment

_ROWS, _COLUMNS = 40, 120
_PATIENCE_S = 120.0
_SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def shown_ms(command: list[str], text: bytes) -> float:
    """Milliseconds from the start of a program until `text` stands on its screen; then it is killed. Its state and
    settings are those of a first start. Raises RuntimeError when that never happens."""
    with tempfile.TemporaryDirectory() as fresh:
        places = dict.fromkeys(("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), fresh)
        given = {**environment(), "TERM": "xterm-256color", **places}
        began = time.perf_counter()
        process, screen = pty.fork()
        if process == 0:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
            os.execvpe(command[0], command, given)
        try:
            return _until_shown(screen, text, began)
        finally:
            os.kill(process, 9)
            os.waitpid(process, 0)
            os.close(screen)


def _until_shown(screen: int, text: bytes, began: float) -> float:
    painted = b""
    while time.perf_counter() - began < _PATIENCE_S:
        if not select.select([screen], [], [], 1.0)[0]:
            continue
        try:
            painted += os.read(screen, 1 << 16)
        except OSError:  # it ended
            break
        if text in _SEQUENCE.sub(b"", painted):
            return (time.perf_counter() - began) * 1000
    raise RuntimeError(f"{text!r} was never shown.")
