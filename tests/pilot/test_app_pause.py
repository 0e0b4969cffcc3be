"""Indexing can be held up by a key, and goes on by the same."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from appdriving import Launch
from logmaking import frame, frames, header, prompt, write

from palimpsest_core.writer.demo import DemoCorpus


def test_a_key_holds_the_indexer_up_and_lets_it_go_on(demo: DemoCorpus, launch: Launch, tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    shutil.copytree(demo.root, root)
    file = write(root, frames([header(0, "grown"), prompt(0, "before")]), session_id="grown")

    async def flow() -> None:
        async with launch(root, index=tmp_path / "index.sqlite") as driver:
            await driver.indexed()
            await driver.press("P")
            assert driver.desk.telling.index_text.startswith("idx paused")
            with open(file.path, "ab") as log:
                log.write(frame(prompt(1, "afterwards")))
            await driver.press("P")
            await driver.until(lambda: driver.desk.telling.index_text.startswith("idx 100%"), "it goes on")
            await driver.search("afterwards")

            def found() -> list[str]:
                hits = driver.desk.finding.hits
                return [] if hits is None else [hit.header.id for hit in hits.hits]

            await driver.until(lambda: found() == ["grown"], "what was appended meanwhile is found")

    asyncio.run(flow())


def test_without_an_indexer_of_its_own_the_app_says_so(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("P")
            assert "100%" in driver.desk.telling.index_text
            assert "No indexer of this app is at work." in driver.text()

    asyncio.run(flow())
