"""How the app looks, in three sizes, on the made-up corpus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from appdriving import Driver

from palimpsest_core import Engine
from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui.app import PalimpsestApp
from palimpsest_tui.settings import Loaded, Settings, State

SIZES = [(80, 24), (120, 40), (200, 60)]
Act = Callable[[Driver], Awaitable[None]]


@pytest.fixture
def looks(demo: DemoCorpus, looks_as_kept: Callable[..., None], tmp_path: Path) -> Callable[..., None]:
    """Compare the made-up corpus with the picture that is kept."""

    def compare(size: tuple[int, int], act: Act, *, theme: str = "palimpsest-dark", first_run: bool = False) -> None:
        state = State(seen_roots=[] if first_run else [str(demo.root)])
        loaded = Loaded(Settings(theme=theme), [])
        engine = Engine(demo.root, index=":memory:")
        app = PalimpsestApp(engine, loaded=loaded, state=state, state_file=tmp_path / "state.json")
        looks_as_kept(app, size, act)

    return compare


async def _opened(driver: Driver, demo: DemoCorpus) -> None:
    await driver.open(demo.large_id)
    driver.desk.session_list.go_session(demo.large_id)
    await driver.press("2", "right_square_bracket", "l", "j", "j")


@pytest.mark.parametrize("size", SIZES)
def test_the_list_of_sessions(looks: Callable[..., None], size: tuple[int, int]) -> None:
    async def act(driver: Driver) -> None:
        await driver.press("j", "j", "j")
        await driver.previewed()

    looks(size, act)


@pytest.mark.parametrize("size", SIZES)
def test_a_session_with_a_compaction_opened(
    looks: Callable[..., None], demo: DemoCorpus, size: tuple[int, int]
) -> None:
    async def act(driver: Driver) -> None:
        await _opened(driver, demo)

    looks(size, act)


@pytest.mark.parametrize("size", SIZES)
def test_the_hits_of_a_search(looks: Callable[..., None], size: tuple[int, int]) -> None:
    async def act(driver: Driver) -> None:
        await driver.search("rounding")
        await driver.press("down", "j")
        await driver.previewed()

    looks(size, act)


def test_the_light_theme(looks: Callable[..., None], demo: DemoCorpus) -> None:
    async def act(driver: Driver) -> None:
        await _opened(driver, demo)

    looks((120, 40), act, theme="palimpsest-light")


def test_the_help(looks: Callable[..., None]) -> None:
    async def act(driver: Driver) -> None:
        await driver.press("question_mark")

    looks((80, 24), act)


def test_the_smallest_screen_that_works(looks: Callable[..., None], demo: DemoCorpus) -> None:
    async def act(driver: Driver) -> None:
        await _opened(driver, demo)

    looks((60, 20), act)


def test_hostile_text_is_shown_as_text(looks: Callable[..., None], demo: DemoCorpus) -> None:
    async def act(driver: Driver) -> None:
        hostile = next(session for session in driver.desk.listing.sessions if (session.title or "").startswith("[red]"))
        await driver.open(hostile.id)
        driver.desk.session_list.go_session(hostile.id)
        driver.desk.opening.go_seq(4)
        assert driver.desk.inspector is not None

    looks((120, 40), act)


def test_raw_json_is_laid_out(looks: Callable[..., None], demo: DemoCorpus) -> None:
    async def act(driver: Driver) -> None:
        await _opened(driver, demo)
        await driver.press("x", "3")

    looks((120, 40), act)
