"""The inspector shows the event under the cursor, however it came back onto the screen."""

from __future__ import annotations

import asyncio

import pytest
from appdriving import Launch, settle

from palimpsest_core.writer.demo import DemoCorpus


@pytest.mark.parametrize("away", [("i", "i"), ("question_mark", "escape"), ("1", "2")])
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_it_shows_the_event_that_the_cursor_came_to_while_it_was_hidden(
    demo: DemoCorpus, launch: Launch, away: tuple[str, str], size: tuple[int, int]
) -> None:
    async def flow() -> None:
        async with launch(demo.root, size) as driver:
            await driver.indexed()
            await driver.open("0198f4aa-rounding-review")
            await driver.press("2", away[0])
            driver.desk.timeline.action_move(3)
            await driver.quiet()
            await driver.press(away[1], "3")
            await driver.quiet()
            index = driver.desk.timeline.event_index
            assert index is not None
            assert f"seq {index}" in driver.text()

    asyncio.run(flow())


def test_it_reads_what_it_missed_when_it_comes_back_as_wide_as_it_went(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.open("0198f4aa-rounding-review")
            driver.desk.inspector.styles.display = "none"
            await settle(driver.pilot)
            driver.desk.timeline.action_move(3)
            await driver.quiet()
            driver.desk.inspector.styles.display = "block"
            await settle(driver.pilot)
            await driver.quiet()
            assert f"seq {driver.desk.timeline.event_index}" in driver.text()

    asyncio.run(flow())
