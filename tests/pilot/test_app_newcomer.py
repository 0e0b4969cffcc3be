"""What a newcomer tries first, by keyboard: search again, search too early, come back, get the notice out of the way."""

from __future__ import annotations

import asyncio

from appdriving import Launch

from palimpsest_core.writer.demo import DemoCorpus


def run(flow: object) -> None:
    asyncio.run(flow)  # type: ignore[arg-type]


def test_slash_selects_the_old_words_so_that_typing_replaces_them(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.search("rounding")
            await driver.press("escape")
            await driver.search("migration")
            assert driver.desk.search_bar.text == "migration"
            await driver.press("escape", "slash", "right")
            await driver.type("s")
            assert driver.desk.search_bar.text == "migrations", "a cursor key keeps the words for editing"

    run(flow())
