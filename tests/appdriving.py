"""What pilot and snapshot tests share: an app on a made-up corpus, and waiting for a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from palimpsest_core import Engine
from palimpsest_core.writer.demo import DemoCorpus, write_demo
from palimpsest_tui.app import Grow, PalimpsestApp
from palimpsest_tui.flows.desk import Desk
from palimpsest_tui.screens.ledger import LedgerScreen, Start
from palimpsest_tui.settings import Loaded, Settings, State
from palimpsest_tui.widgets import numbers

NOW = 1_790_000_000_000
"""When the made-up corpus was written; the app's clock stands there too."""
_LOOKS = 1500
_LOOK_S = 0.02


async def until(pilot: Pilot[int], condition: Callable[[], bool], what: str) -> None:
    """Let the app run until a condition holds. Fails, naming it, when it never does."""
    for _ in range(_LOOKS):
        if condition():
            return
        await pilot.pause()
        await asyncio.sleep(_LOOK_S)
    raise AssertionError(f"It never came true that {what}.")


class Driver:
    """An app, its pilot and its desk."""

    def __init__(self, app: PalimpsestApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> LedgerScreen:
        """The main screen, also while a window stands over it."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, LedgerScreen))

    @property
    def desk(self) -> Desk:
        """The desk of the main screen."""
        return self.screen.desk

    async def press(self, *keys: str) -> None:
        """Press keys, each handled before the next."""
        for key in keys:
            await self.pilot.press(key)

    async def type(self, text: str) -> None:
        """Type letters."""
        names = {" ": "space", "/": "slash", ":": "colon", "-": "minus", "=": "equals_sign", ".": "full_stop"}
        for char in text:
            await self.pilot.press(names.get(char, char))

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Let the app run until a condition holds."""
        await until(self.pilot, condition, what)

    async def quiet(self) -> None:
        """Let the app run until no question waits for its answer, except those that watch."""
        watching = {"watch root", "watch log"}

        def still() -> bool:
            workers = [worker for worker in self.app.workers if not worker.is_finished]
            if [worker for worker in workers if worker.name not in {*watching, "index"}]:
                return False
            return self.screen._desk is None or self.desk.inspecting.up_to_date

        await self.until(still, "all questions are answered")
        await self.pilot.pause()

    async def indexed(self) -> None:
        """Let the app run until the whole root is indexed and listed from the index."""
        listing = self.desk.listing

        def done() -> bool:
            known = [session for session in listing.sessions if session.header is not None]
            indexed = all(session.indexed for session in known)
            return listing.loaded and "100%" in self.desk.telling.index_text and indexed

        await self.until(done, "the index is complete")
        await self.quiet()

    async def open(self, session_id: str) -> None:
        """Open a session and wait until all of it is read and the inspector shows its event."""
        self.desk.opening.open(session_id, None)
        await self.opened(session_id)

    async def opened(self, session_id: str) -> None:
        """Wait until a session is open and read."""

        def done() -> bool:
            log = self.desk.opening.log
            return log is not None and log.session_id == session_id and log.complete

        await self.until(done, f"{session_id} is open")
        await self.quiet()

    async def search(self, text: str, phrase: str | None = None) -> None:
        """Type a search and wait for its whole answer."""
        await self.press("slash")
        await self.type(text)
        await self.until(lambda: self.desk.finding.has_found(phrase or text), "the hits are there")

    async def previewed(self) -> None:
        """Wait until the session under the cursor of the list is shown beside it (on a narrow screen it is not)."""
        row = self.desk.session_list.cursor
        session = self.desk.session_list.session_at(row)
        if session is not None and not self.desk.panes.narrow:
            await self.opened(session.id)
            await self.until(lambda: self.desk.inspector.row_count() > 0, "the event is shown")
        await self.quiet()

    def text(self) -> str:
        """What the screen shows, line by line."""
        screen = self.app.screen
        strips = screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


@asynccontextmanager
async def running(
    root: Path | None,
    size: tuple[int, int] = (120, 40),
    *,
    index: Path | str = ":memory:",
    start: Start | None = None,
    settings: Settings | None = None,
    state: State | None = None,
    state_file: Path,
    grow: Grow | None = None,
) -> AsyncIterator[Driver]:
    """An app on a root, its first notice already read unless `state` says otherwise."""
    engine = Engine(root, index=index)
    app = PalimpsestApp(
        engine,
        start,
        loaded=Loaded(settings or Settings(), []),
        state=State(seen_roots=[str(root)]) if state is None else state,
        state_file=state_file,
        grow=grow,
    )
    try:
        async with app.run_test(size=size) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: any(isinstance(s, LedgerScreen) for s in app.screen_stack), "the app is there")
            await driver.until(lambda: driver.screen._desk is not None, "the main screen is mounted")
            yield driver
    finally:
        engine.close()


Launch = Callable[..., AbstractAsyncContextManager[Driver]]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoCorpus:
    """The demo corpus; tests only read it."""
    return write_demo(tmp_path_factory.mktemp("demo") / "sessions", now=NOW)


@pytest.fixture(autouse=True)
def still_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One time zone and one moment, whatever machine and day it is."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(numbers, "now_ms", lambda: NOW)
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """Run the app; its state, its copies and its exports stay in a temporary folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_TTY", "SSH_CONNECTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def start(
        root: Path | None, size: tuple[int, int] = (120, 40), **options: Any
    ) -> AbstractAsyncContextManager[Driver]:
        return running(root, size, state_file=tmp_path / "state.json", **options)

    return start
