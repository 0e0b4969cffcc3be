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

from palimpsest_core.model.config import Config
from tests.benchmarks.bench import Bench, Row, remove_index
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import HERE, environment

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
    """The first rows of known sessions, against a Textual app that shows one line, and against its import alone."""
    root = bench.corpus(shape)
    index = bench.index(root, Config(), suffix="-full")
    imports = [sys.executable, "-c", "import textual.app, textual.widgets"]
    times: list[tuple[float, float, float]] = []
    for number in range(bench.rounds + 1):
        began = time.perf_counter()
        subprocess.run(imports, env=environment(), check=True)
        imported = (time.perf_counter() - began) * 1000
        measured = (imported, _run("bare")[0], _run("start", root, index)[0])
        if number:  # the first one compiles modules
            times.append(measured)
    imported, other, ours = (statistics.median(column) for column in zip(*times, strict=True))
    name = f"app: first rows of {shape.sessions} known sessions, against "
    yield Row(f"{name}a bare Textual start", other, ours, "ms", "0.67x")
    yield Row(f"{name}importing Textual", imported, ours, "ms")


def long_session(bench: Bench) -> Iterator[Row]:
    """Keys and memory with a session of 1.3 million events."""
    root = bench.corpus(MILLION)
    _, told = _run("long", root, bench.index(root, Config(), suffix="-full"))
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
