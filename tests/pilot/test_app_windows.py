"""Windows and answers that come at the wrong moment: a window is on the stack before its widgets are, and after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from appdriving import Driver, Launch

from palimpsest_core.writer.demo import DemoCorpus

OPENERS: list[Callable[[Driver], object]] = [
    lambda driver: driver.desk.ailing.show(),
    lambda driver: driver.desk.exporting.options(),
    lambda driver: driver.desk.filtering.menu(),
    lambda driver: driver.desk.help(),
    lambda driver: driver.desk.copying.resume(),
]


@pytest.mark.parametrize("opener", range(len(OPENERS)))
def test_a_sentence_said_while_a_window_comes_or_goes_is_no_crash(
    demo: DemoCorpus, launch: Launch, opener: int
) -> None:
    async def flow() -> None:
        async with launch(demo.root, (120, 40)) as driver:
            await driver.indexed()
            OPENERS[opener](driver)
            driver.desk.say("Copied something.")
            driver.desk.ailing.sessions_changed(1)
            driver.desk.exporting._update()
            await driver.until(lambda: driver.app.screen is not driver.screen, "the window is there")
            await driver.quiet()
            driver.app.screen.dismiss(None)
            driver.desk.say("Copied something else.")
            driver.desk.ailing.sessions_changed(2)
            driver.desk.exporting._update()
            await driver.until(lambda: driver.app.screen is driver.screen, "the window is gone")
            await driver.quiet()
            assert driver.app._exception is None

    asyncio.run(flow())


def test_a_sentence_that_fits_takes_the_room_of_the_hints(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24)) as driver:
            await driver.indexed()
            driver.desk.ailing.count = 3
            for length in (20, 77, 78):
                driver.desk.say("x" * length)
                await driver.quiet()
                assert "x" * length in driver.text()
            driver.desk.say("y" * 200)
            await driver.quiet()
            assert "! 3 H" in driver.text()

    asyncio.run(flow())


def test_going_back_is_offered_where_there_is_somewhere_to_go_back_to(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("4")
            await driver.quiet()
            assert "< Back" not in driver.text()
            await driver.press("1", "j", "enter")
            await driver.quiet()
            assert driver.desk.opening.history.can_go_back
            await driver.press("4")
            await driver.quiet()
            assert "< Back" in driver.text()

    asyncio.run(flow())
