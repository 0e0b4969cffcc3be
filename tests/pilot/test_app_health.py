"""Health: what is the matter with which log, the way into it, and the rescue of one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ailingroot import make_root
from appdriving import Driver, Launch
from logmaking import frame, frames, header, prompt, row, write

from palimpsest_core import Engine
from palimpsest_tui.screens.health import HealthScreen
from palimpsest_tui.screens.rescue import RescueScreen
from palimpsest_tui.widgets.health_list import HealthList


def run(flow: object) -> None:
    asyncio.run(flow)  # type: ignore[arg-type]


async def shown(driver: Driver) -> HealthScreen:
    """Open the health screen and wait until every row is counted."""
    await driver.press("H")
    await driver.until(lambda: isinstance(driver.app.screen, HealthScreen), "the health screen is there")
    screen = driver.app.screen
    assert isinstance(screen, HealthScreen)
    await driver.quiet()
    return screen


def listed(screen: HealthScreen) -> list[str]:
    rows = screen.query_one(HealthList)
    found = [rows.health_at(number) for number in range(rows.row_count())]
    return [health.session_id or Path(health.path).name for health in found if health is not None]


async def go(driver: Driver, screen: HealthScreen, session_id: str) -> None:
    rows = screen.query_one(HealthList)
    number = next(
        number
        for number in range(rows.row_count())
        if (health := rows.health_at(number)) is not None and health.session_id == session_id
    )
    rows.go(number)
    await driver.quiet()


def test_every_ailing_file_is_named_with_its_reason_and_both_numbers_of_rows(tmp_path: Path, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(make_root(tmp_path / "root")) as driver:
            await driver.indexed()
            screen = await shown(driver)
            names = ["empty", "gap", "two", "beside", "plug", "session.jsonl.zstd.0123456789ab.tmp"]
            assert listed(screen) == names
            await go(driver, screen, "gap")
            text = driver.text()
            assert "sequence gap" in text
            assert "2 shown + 2 withheld = 4 rows in the file" in text
            assert "line 4" in text
            await go(driver, screen, "beside")
            text = driver.text()
            assert "format v9" in text
            assert "another file answers for this session" in text
            assert "damaged" not in text.partition("format v9")[2]
            await go(driver, screen, "plug")
            assert "acme/route" in driver.text()

    run(flow())


def test_attachments_of_an_ailing_log_that_are_gone_are_told_too(tmp_path: Path, launch: Launch) -> None:
    attachment = {"attachmentId": "sha256:" + "0" * 64, "name": "plan.png", "mediaType": "image/png"}
    message = {**prompt(0, "look")["data"], "content": [{"type": "image", "attachment": attachment}]}
    rows = [{**prompt(0, ""), "data": message}, row(4), row(5, "turn/end")]
    write(tmp_path / "root", frames([header(0, "gap"), *rows]), session_id="gap")

    async def flow() -> None:
        async with launch(tmp_path / "root") as driver:
            await driver.indexed()
            await shown(driver)
            await driver.until(lambda: "attachment missing" in driver.text(), "the attachment was looked for")
            assert 'The image "plan.png"' in driver.text()
            await driver.press("escape")
            await driver.until(lambda: driver.app.screen is driver.screen, "the screen is closed")

    run(flow())


def test_the_status_bar_counts_sessions_with_something_wrong(tmp_path: Path, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(make_root(tmp_path / "root")) as driver:
            await driver.indexed()
            assert driver.desk.ailing.count == 5
            assert "! 5 H health" in driver.text()

    run(flow())


def test_a_sound_root_says_so(tmp_path: Path, launch: Launch) -> None:
    write(tmp_path / "root", frames([header(0, "sound"), prompt(0, "hello"), row(1, "turn/end")]), session_id="sound")

    async def flow() -> None:
        async with launch(tmp_path / "root") as driver:
            await driver.indexed()
            assert "H health" not in driver.text()
            await shown(driver)
            assert "Every log is sound." in driver.text()
            await driver.press("escape")
            await driver.until(lambda: driver.app.screen is driver.screen, "the screen is closed")

    run(flow())


def test_enter_opens_the_log_at_its_damage(tmp_path: Path, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(make_root(tmp_path / "root")) as driver:
            await driver.indexed()
            screen = await shown(driver)
            await go(driver, screen, "gap")
            await driver.press("enter")
            await driver.opened("gap")
            assert driver.desk.timeline.event_index == 2
            assert "refused sequence gap, line 4" in driver.text()
            screen = await shown(driver)
            await go(driver, screen, "plug")
            await driver.press("enter")
            await driver.opened("plug")
            await driver.until(lambda: driver.desk.timeline.event_index == 1, "the cursor is on the plug-in's event")

    run(flow())


def test_a_rescue_tells_first_and_writes_only_then_into_another_root(tmp_path: Path, launch: Launch) -> None:
    root = make_root(tmp_path / "root")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    target = tmp_path / "root-rescued"

    async def flow() -> None:
        async with launch(root) as driver:
            await driver.indexed()
            screen = await shown(driver)
            await go(driver, screen, "gap")
            await driver.press("r")
            await driver.until(lambda: isinstance(driver.app.screen, RescueScreen), "the rescue window is there")
            window = driver.app.screen
            assert isinstance(window, RescueScreen)
            await driver.until(lambda: window.ready, "it is told what would be written")
            text = driver.text()
            assert "2 events in 2 rows kept" in text
            assert "2 rows left out" in text
            assert "missing events are not made up" in text
            assert not target.exists()
            await driver.press("enter")
            await driver.until(lambda: "Written. The log itself is as it was." in driver.text(), "the copy is there")
            await driver.press("escape", "escape")

    run(flow())
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    with Engine(target, index=":memory:") as engine:
        assert [event.seq for event in engine.list_events("gap")][:2] == [0, 1]
        engine.refresh()
        assert engine.health() == []


def test_a_rescue_into_the_root_itself_is_refused(tmp_path: Path, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(make_root(tmp_path / "root")) as driver:
            await driver.indexed()
            screen = await shown(driver)
            await go(driver, screen, "gap")
            driver.desk.ailing._new_root = tmp_path / "root" / "inside"
            await driver.press("r")
            await driver.until(lambda: isinstance(driver.app.screen, RescueScreen), "the rescue window is there")
            await driver.until(lambda: "inside this root" in driver.text(), "it is refused with a reason")
            window = driver.app.screen
            assert isinstance(window, RescueScreen)
            assert not window.ready

    run(flow())
    assert not (tmp_path / "root" / "inside").exists()


def test_a_file_of_which_nothing_opens_cannot_be_rescued_and_says_so(tmp_path: Path, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(make_root(tmp_path / "root")) as driver:
            await driver.indexed()
            screen = await shown(driver)
            await go(driver, screen, "empty")
            await driver.press("r")
            assert "Nothing of that file can be read" in driver.text()
            assert driver.app.screen is screen

    run(flow())


def test_a_log_that_is_no_session_opens_as_raw_rows(tmp_path: Path, launch: Launch) -> None:
    root = tmp_path / "root"
    write(root, frame(prompt(0, "who am I")) + frame(row(1, "turn/end")), session_id="headless")

    async def flow() -> None:
        async with launch(root) as driver:
            await driver.indexed()
            await driver.open("headless")
            text = driver.text()
            assert "0 + 2 withheld = 2 rows" in text
            assert "who am I" in text

    run(flow())
