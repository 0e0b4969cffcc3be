"""Makes the pictures of the README: the app on the demo corpus, driven by keys, in three sizes.

Run it from a checkout with the development tools: `.venv/bin/python screenshots/make.py`. The corpus, the clock and the
time zone stand still, so that a picture changes only when the app does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
os.environ.pop("NO_COLOR", None)
os.environ["TZ"] = "UTC"
time.tzset()

from appdriving import NOW, Driver, running  # noqa: E402

from palimpsest_core.writer.demo import write_demo  # noqa: E402
from palimpsest_tui.widgets import numbers  # noqa: E402

SIZES = ((80, 24), (120, 40), (200, 60))
COMPACTED, REVIEW = "0198e1d0-entries-migration", "0198f4aa-rounding-review"
numbers.now_ms = lambda: NOW  # type: ignore[assignment]


async def ledger(driver: Driver) -> None:
    """A session at the message that a compaction put in place of earlier ones."""
    await driver.open(COMPACTED)
    await driver.press("2", "G", "left_square_bracket")
    await driver.quiet()


async def search(driver: Driver) -> None:
    """A search over all sessions, its first hit open."""
    await driver.search("half-even")
    await driver.press("enter")
    await driver.quiet()
    if driver.app.size.width < 120:
        # One pane at a time: the hits say more than the timeline.
        await driver.press("1")
        await driver.quiet()


async def lineage(driver: Driver) -> None:
    """A session with subagents three deep, and its tree."""
    await driver.open(REVIEW)
    await driver.press("4")
    await driver.quiet()


async def export(driver: Driver) -> None:
    """The window that says what an export takes along."""
    await driver.open(REVIEW)
    await driver.press("E")
    await driver.quiet()


SCENES: tuple[Callable[[Driver], Awaitable[None]], ...] = (ledger, search, lineage, export)


async def take(root: Path, state: Path, scene: Callable[[Driver], Awaitable[None]], size: tuple[int, int]) -> Path:
    """Play one scene in one size and write its picture."""
    async with running(root, size, state_file=state) as driver:
        await driver.indexed()
        await scene(driver)
        path = HERE / f"{scene.__name__}-{size[0]}x{size[1]}.svg"
        path.write_text(driver.app.export_screenshot(title="palimpsest"), encoding="utf-8")
    return path


async def main() -> None:
    """Make every picture."""
    with tempfile.TemporaryDirectory() as place:
        # A path that everybody's pictures share, since the export window shows one.
        os.chdir(place)
        os.environ["HOME"] = "/home/mira"
        root = write_demo(Path(place) / "sessions", now=NOW).root
        for scene in SCENES:
            for size in SIZES:
                path = await take(root, Path(place) / "state.json", scene, size)
                sys.stderr.write(f"{path.name}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    asyncio.run(main())
