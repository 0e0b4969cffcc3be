"""The app: its start, its keys on a very long session, its timers while a root is being indexed."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest_core import first_look
from palimpsest_core.model.config import APP_CONFIG
from tests.benchmarks.bench import Bench, Row, remove_index
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import HERE, environment
from tests.benchmarks.terminal import shown_ms

MILLION = Shape(1, 108_000, seed=7)
"""A session of 1.3 million events."""


def _run(mode: str, *paths: Path) -> tuple[float, dict[str, Any]]:
    """Milliseconds from the start of a process to its answer, and the answer."""
    began = time.perf_counter()
    command = [sys.executable, str(HERE / "app_driver.py"), mode, *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    line = process.stdout.readline()
    took = (time.perf_counter() - began) * 1000
    process.wait()
    return took, json.loads(line)


def start(bench: Bench, shape: Shape) -> Iterator[Row]:
    """From the command to the first rows of known sessions on a terminal, against a Textual app that shows one line,
    and against its import alone."""
    root = bench.corpus(shape)
    # With the app's own settings: an index made with others would be made anew, and the rows would come from the logs.
    index = bench.index(root, APP_CONFIG, suffix="-app")
    first = _first_word(index, root)
    imports = [sys.executable, "-c", "import textual.app, textual.widgets"]
    bare = [sys.executable, str(HERE / "app_driver.py"), "bare"]
    ours = [sys.executable, "-m", "palimpsest_tui.cli.main", "--root", str(root), "--index", str(index)]
    times: list[tuple[float, float, float]] = []
    for number in range(bench.rounds + 1):
        began = time.perf_counter()
        subprocess.run(imports, env=environment(), check=True)
        imported = (time.perf_counter() - began) * 1000
        measured = (imported, shown_ms(bare, b"ready"), shown_ms(ours, first))
        if number:  # the first one compiles modules
            times.append(measured)
    imported, other, own = (statistics.median(column) for column in zip(*times, strict=True))
    name = f"app: first rows of {shape.sessions} known sessions, against "
    yield Row(f"{name}a bare Textual start", other, own, "ms", "0.67x")
    yield Row(f"{name}importing Textual", imported, own, "ms")


def _first_word(index: Path, root: Path) -> bytes:
    """What the first row of the list begins with."""
    known = first_look(str(index), root, 1)
    assert known is not None
    newest = max(known.sessions, key=lambda session: session.last_time or 0)
    return (newest.title or newest.id).split()[0][:16].encode()


def long_session(bench: Bench) -> Iterator[Row]:
    """Keys and memory with a session of 1.3 million events."""
    root = bench.corpus(MILLION)
    _, told = _run("long", root, bench.index(root, APP_CONFIG, suffix="-app"))
    name = f"app: a session of {told['events'] / 1e6:.1f} M events, "
    yield Row(f"{name}key to paint (p95)", None, told["p95"], "ms", "<= 50")
    yield Row(f"{name}peak memory", None, told["rss_mb"], "MB", "<= 250")


def delay(bench: Bench, shape: Shape) -> Iterator[Row]:
    """How late timers come while the root is being indexed, against an idle app."""
    root = bench.corpus(shape)
    index = root.with_name(root.name + "-delay.sqlite")
    remove_index(index)
    _, told = _run("delay", root, index)
    yield Row("app: event-loop delay (p95) while indexing, against idle", told["idle"], told["busy"], "ms", "0.67x")
