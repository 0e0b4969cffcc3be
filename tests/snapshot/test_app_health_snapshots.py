"""How the health screen and a log with two writers look, in three sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ailingroot import make_root
from appdriving import Driver

from palimpsest_core import Engine
from palimpsest_tui.app import PalimpsestApp
from palimpsest_tui.settings import Loaded, Settings, State
from palimpsest_tui.widgets.health_list import HealthList

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def looks(looks_as_kept: Callable[..., None], tmp_path: Path) -> Callable[..., None]:
    """Compare a root with ailing logs with the picture that is kept."""

    def compare(size: tuple[int, int], act: Callable[[Driver], Any]) -> None:
        async def from_the_preview(driver: Driver) -> None:
            await driver.previewed()  # so that what is opened next always leaves the same spot behind
            await act(driver)

        root = make_root(tmp_path / "logs")
        state = State(seen_roots=[str(root)])
        engine = Engine(root, index=":memory:")
        app = PalimpsestApp(engine, loaded=Loaded(Settings(), []), state=state, state_file=tmp_path / "state.json")
        looks_as_kept(app, size, from_the_preview)

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
