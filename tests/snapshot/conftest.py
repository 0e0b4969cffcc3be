"""The fixtures of tests that drive the app and compare its pictures."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from appdriving import Driver, demo, launch, still_clock, until
from textual.pilot import Pilot

from palimpsest_tui.app import PalimpsestApp

Act = Callable[[Driver], Awaitable[None]]
LooksAsKept = Callable[[PalimpsestApp, tuple[int, int], Act], None]


@pytest.fixture
def looks_as_kept(snap_compare: Callable[..., bool]) -> LooksAsKept:
    """Compare the screen of an app after some acts with the picture that is kept; its engine is closed in the end."""

    def compare(app: PalimpsestApp, size: tuple[int, int], act: Act) -> None:
        async def before(pilot: Pilot[Any]) -> None:
            driver = Driver(app, pilot)
            await until(pilot, lambda: app.is_running and driver.screen._desk is not None, "it is mounted")
            await driver.indexed()
            await act(driver)
            await driver.quiet()

        try:
            assert snap_compare(app, terminal_size=size, run_before=before)
        finally:
            app.engine.close()

    return compare


__all__ = ["LooksAsKept", "demo", "launch", "looks_as_kept", "still_clock"]
