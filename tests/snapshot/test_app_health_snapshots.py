"""How the health screen and a log with two writers look, in three sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ailingroot import make_root
from appdriving import Driver, until
from textual.pilot import Pilot

from palimpsest_core import Engine
from palimpsest_tui.app import PalimpsestApp
from palimpsest_tui.settings import Loaded, Settings, State
from palimpsest_tui.widgets.health_list import HealthList

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def looks(snap_compare: Callable[..., bool], tmp_path: Path) -> Callable[..., None]:
    """Compare the screen after some acts with the picture that is kept."""

    def compare(size: tuple[int, int], act: Callable[[Driver], Any]) -> None:
        root = make_root(tmp_path / "logs")
        engine = Engine(root, index=":memory:")
        state = State(seen_roots=[str(root)])
        app = PalimpsestApp(engine, loaded=Loaded(Settings(), []), state=state, state_file=tmp_path / "state.json")

        async def before(pilot: Pilot[Any]) -> None:
            driver = Driver(app, pilot)
            await until(pilot, lambda: len(app.screen_stack) > 1 and driver.screen._desk is not None, "it is mounted")
            await driver.indexed()
            await driver.previewed()  # so that what is opened next always leaves the same spot behind
            await act(driver)
            await driver.quiet()

        try:
            assert snap_compare(app, terminal_size=size, run_before=before)
        finally:
            engine.close()

    return compare


@pytest.mark.parametrize("size", SIZES)
def test_the_health_screen(looks: Callable[..., None], size: tuple[int, int]) -> None:
    async def act(driver: Driver) -> None:
        await driver.press("H")
        await driver.quiet()
        driver.app.screen.query_one(HealthList).go_path(_path_of(driver, "two"))

    looks(size, act)


def _path_of(driver: Driver, session_id: str) -> str:
    return next(session.path for session in driver.desk.listing.sessions if session.id == session_id)


@pytest.mark.parametrize("size", SIZES[:2])
def test_a_log_that_two_programs_wrote_to(looks: Callable[..., None], size: tuple[int, int]) -> None:
    async def act(driver: Driver) -> None:
        await driver.open("two")
        driver.desk.session_list.go_session("two")
        driver.desk.beyond.go()
        driver.desk.telling.unsay()

    looks(size, act)
