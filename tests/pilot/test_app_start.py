"""The start of the app: what is on the screen first, and what takes its place."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest
from appdriving import Launch, driven

from palimpsest_core import Engine, FirstLook, first_look
from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui.jobs.early import late_engine, look_early
from palimpsest_tui.screens.ledger import LedgerScreen, Start
from palimpsest_tui.settings import State


def ready(known: FirstLook | None) -> Future[FirstLook | None]:
    early: Future[FirstLook | None] = Future()
    early.set_result(known)
    return early


@pytest.fixture
def index(demo: DemoCorpus, tmp_path: Path) -> Path:
    """An index of the demo corpus."""
    path = tmp_path / "index.sqlite"
    with Engine(demo.root, index=path) as engine:
        engine.refresh()
    return path


@driven
async def test_the_first_paint_shows_what_was_looked_up_and_then_all_sessions_take_its_place(
    launch: Launch, demo: DemoCorpus, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = first_look(str(index), demo.root, 2)
    assert known is not None
    at_first: list[tuple[int, int, bool]] = []
    mounted = LedgerScreen.on_mount

    def on_mount(screen: LedgerScreen) -> None:
        mounted(screen)
        listing = screen.desk.listing
        at_first.append((screen.desk.session_list.row_count(), listing.total, listing.loaded))

    monkeypatch.setattr(LedgerScreen, "on_mount", on_mount)
    async with launch(demo.root, index=index, start=Start(early=ready(known))) as driver:
        await driver.until(lambda: driver.desk.listing.loaded, "all sessions are listed")
        await driver.quiet()
        assert at_first == [(len(known.sessions), known.total, False)]
        assert len(driver.desk.listing.sessions) == driver.desk.listing.total == known.total
        assert driver.desk.session_list.row_count() == known.total > len(known.sessions)


@pytest.mark.parametrize("order", [State(sort="title"), State(grouping="project")])
@driven
async def test_another_order_than_that_of_the_first_look_waits_for_all_sessions(
    launch: Launch, demo: DemoCorpus, index: Path, order: State
) -> None:
    known = first_look(str(index), demo.root, 1)
    async with launch(demo.root, index=index, start=Start(early=ready(known)), state=order) as driver:
        assert driver.desk.session_list.row_count() == 0 or driver.desk.listing.loaded
        await driver.until(lambda: driver.desk.listing.loaded, "all sessions are listed")


@pytest.mark.parametrize("found", ["nothing", "trouble", "not yet"])
@driven
async def test_without_a_first_look_the_list_comes_the_long_way(
    launch: Launch, demo: DemoCorpus, index: Path, found: str
) -> None:
    early: Future[FirstLook | None] = Future()
    if found == "trouble":
        early.set_exception(ValueError("whatever"))
    elif found == "nothing":
        early.set_result(None)
    async with launch(demo.root, index=index, start=Start(early=early)) as driver:
        await driver.until(lambda: driver.desk.listing.loaded, "all sessions are listed")
        assert driver.desk.listing.total == len(driver.desk.listing.sessions) > 0


def test_the_look_is_taken_in_the_index_that_the_engine_will_use(demo: DemoCorpus, index: Path) -> None:
    known = look_early(demo.root, index).result(timeout=60)
    assert known is not None
    assert known.sessions
    assert look_early(None, None).result(timeout=60) is None
    engine = late_engine(demo.root, index)
    assert (engine.root, engine.index_path) == (demo.root, str(index))
    assert len(engine.sessions(fresh=False)) == known.total
    engine.close()


@driven
async def test_another_theme_colours_what_is_drawn_already(launch: Launch, demo: DemoCorpus) -> None:
    async with launch(demo.root) as driver:
        await driver.indexed()
        before = driver.desk.session_list.partial("line--dim").color
        driver.desk.next_theme()
        await driver.until(lambda: driver.desk.session_list.partial("line--dim").color != before, "other colours")
        await driver.quiet()
        drawn = driver.desk.session_list.render_line(1)
        assert driver.desk.session_list.partial("line--dim").color in {
            segment.style.color for segment in drawn if segment.style is not None
        }
