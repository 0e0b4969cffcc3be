"""The app in a process of its own, mostly without a terminal; answers with one JSON line of figures.

app_driver.py bare                 a Textual app that shows one line, on a terminal, until it is killed
app_driver.py long   ROOT INDEX    the one session of a root, opened and walked through
app_driver.py delay  ROOT INDEX    how late a timer comes while nothing goes on, and while the root is being indexed
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_TICK_S = 0.005
_KEYS = ["j", "G", "k", "g", "ctrl+d", "}", "J", "space", "j", "v", "v", "v"]
_ROUNDS = 6
_DELAY_S = 6.0


def tell(**figures: Any) -> None:
    """Write the answer and end at once: the way out is not measured."""
    print(json.dumps(figures), flush=True)
    os._exit(0)


async def bare() -> None:
    """The least that an app can be."""
    from textual.app import App
    from textual.widgets import Static

    class Bare(App[None]):
        def compose(self) -> Any:
            yield Static("ready")

    await Bare().run_async()


async def long(root: Path, index: Path) -> None:
    """Keys on a session of very many events."""
    from appdriving import running

    from palimpsest_core.storage.layout import discover, session_id_of_folder
    from tests.benchmarks.test_app_million_events import key_to_paint

    (file,) = discover(root).files
    async with running(root, index=index, state_file=_state()) as driver:
        await driver.open(session_id_of_folder(file.folder))
        log = driver.desk.opening.log
        assert log is not None
        times = []
        for key in _KEYS * _ROUNDS:
            times.append(await key_to_paint(driver, key) * 1000)
            await driver.quiet()
        tell(
            events=len(log),
            p95=_p95(times),
            worst=max(times),
            rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        )


async def delay(root: Path, index: Path) -> None:
    """A timer's delay beside an indexer with a whole root to read."""
    from appdriving import running

    empty = Path(tempfile.mkdtemp())
    async with running(empty, index=empty / "index.sqlite", state_file=_state()) as driver:
        await driver.quiet()
        idle = await _lateness()
    async with running(root, index=index, state_file=_state()) as driver:
        await driver.until(lambda: "%" in driver.desk.telling.index_text, "the indexer is at work")
        busy = await _lateness()
        tell(idle=_p95(idle), busy=_p95(busy), told=driver.desk.telling.index_text)


async def _lateness() -> list[float]:
    """How many milliseconds late each tick of a timer comes."""
    late = []
    end = time.perf_counter() + _DELAY_S
    while (now := time.perf_counter()) < end:
        await asyncio.sleep(_TICK_S)
        late.append((time.perf_counter() - now - _TICK_S) * 1000)
    return late


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _state() -> Path:
    return Path(tempfile.mkdtemp()) / "state.json"


def main() -> None:
    """One measurement."""
    mode, *paths = sys.argv[1:]
    asyncio.run({"bare": bare, "long": long, "delay": delay}[mode](*map(Path, paths)))


if __name__ == "__main__":
    main()
