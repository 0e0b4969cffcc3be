"""The indexer's process: started, listened to, stopped. It keeps the index equal to the root while the app runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import palimpsest_core

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine
    from palimpsest_tui.jobs.asking import Tell

_WAIT_S = 3


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """One line of the indexer, as far as the app needs it."""

    event: str
    logs_done: int | None = None
    logs_total: int | None = None
    bytes_done: int | None = None
    bytes_total: int | None = None
    bytes_per_second: int | None = None
    path: str | None = None
    message: str | None = None


class Orders:
    """The way to tell a running indexer something."""

    def __init__(self) -> None:
        self._write: Callable[[bytes], None] | None = None

    def connect(self, write: Callable[[bytes], None] | None) -> None:
        """The process is there (or gone)."""
        self._write = write

    def refresh(self) -> bool:
        """Look at the whole root again. False when no process listens."""
        if self._write is None:
            return False
        self._write(b"refresh\n")
        return True

    def pause(self, paused: bool) -> bool:
        """Hold up, or go on (whatever feeds the machine). False when no process listens."""
        if self._write is None:
            return False
        self._write(b"pause\n" if paused else b"resume\n")
        return True


def run_indexer(engine: Engine, orders: Orders, cancel: CancelToken, tell: Tell[Report]) -> int:
    """Run the indexer until the token is set; every line it writes is told. Its exit status."""
    command = [sys.executable, "-m", "palimpsest_core.sync.indexer", "--follow"]
    command += ["--root", str(engine.root), "--index", engine.index_path]
    command += ["--config", msgspec.json.encode(engine.config).decode()]
    if engine.index is None:
        command.append("--own-path")
    home = str(Path(palimpsest_core.__file__).parents[1])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    order, lines = process.stdin, process.stdout

    def write(line: bytes) -> None:
        try:
            order.write(line)
            order.flush()
        except (OSError, ValueError):
            orders.connect(None)  # it is gone; the next look at the root finds what it missed

    orders.connect(write)
    try:
        with cancel.on_set(process.terminate):
            for line in lines:
                tell(msgspec.json.decode(line, type=Report))
    finally:
        orders.connect(None)
        _end(process)
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue  # a pipe whose other end is gone already
    try:
        process.wait(_WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
