"""What pilot and snapshot tests share: an app on a made-up corpus, and waiting for a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key as character_to_key
from textual.pilot import Pilot
from textual.timer import Timer

from palimpsest_core import Engine
from palimpsest_core.writer.demo import DemoCorpus, write_demo
from palimpsest_tui.app import Grow, PalimpsestApp
from palimpsest_tui.flows.desk import Desk
from palimpsest_tui.screens.ledger import LedgerScreen, Start
from palimpsest_tui.searching.words import read_words
from palimpsest_tui.settings import Loaded, Settings, State
from palimpsest_tui.widgets import numbers

NOW = 1_790_000_000_000
"""When the made-up corpus was written; the app's clock stands there too."""
_PATIENCE_S = 90
_LOOK_S = 0.01
_ROUNDS = 3
"""From the app to the screen, from there to a widget, and back: a key's message goes this far."""
_SHORT_S = 0.5
_SEARCHES = {"the words in the bar", "the end of a rest", "hits", "search", "matches"}
_SIGNS = {
    "space": " ", "slash": "/", "colon": ":", "minus": "-", "equals_sign": "=", "full_stop": ".", "question_mark": "?",
    "left_square_bracket": "[", "right_square_bracket": "]", "percent_sign": "%", "exclamation_mark": "!",
    "less_than_sign": "<", "greater_than_sign": ">", "apostrophe": "'", "plus": "+", "underscore": "_",
    "left_curly_bracket": "{", "right_curly_bracket": "}", "backslash": "\\",
}  # fmt: skip


def driven(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def settle(pilot: Pilot[int]) -> None:
    """Let every message that waits be handled, those it causes too, and what they changed be painted.

    The pilot's own pause looks at the processor's clock until the process idles; under load that takes a second.
    """
    for _ in range(_ROUNDS):
        await pilot._wait_for_screen()
    while isinstance(pilot.app, PalimpsestApp) and pilot.app.is_running and not pilot.app.keys_rest:
        await pilot._wait_for_screen()
        await asyncio.sleep(0)
    if pilot.app.is_running and pilot.app.screen_stack:
        pilot.app.screen._on_timer_update()
        await pilot._wait_for_screen()


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys (letters, or the long names of others), each handled and painted before the next."""
    for key in keys:
        _post(pilot, key)
        await settle(pilot)


async def burst(pilot: Pilot[int], *keys: str) -> None:
    """Press keys that all come at once, as from a paste or a slow line."""
    for key in keys:
        _post(pilot, key)
    await settle(pilot)


def _post(pilot: Pilot[int], key: str) -> None:
    name = character_to_key(key) if len(key) == 1 else key
    character = key if len(key) == 1 else _SIGNS.get(key)
    event = events.Key(name, character)
    event.set_sender(pilot.app)
    pilot.app.post_message(event)


async def until(pilot: Pilot[int], condition: Callable[[], bool], what: str) -> None:
    """Let the app run until a condition holds. Fails, naming it, when it never does."""
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"It never came true that {what}.")
        await settle(pilot)
        await asyncio.sleep(_LOOK_S)


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
        await press(self.pilot, *keys)

    async def type(self, text: str) -> None:
        """Type letters."""
        await press(self.pilot, *text)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Let the app run until a condition holds."""
        await until(self.pilot, condition, what)

    async def quiet(self) -> None:
        """Let the app run until nothing more comes onto the screen by itself.

        No question waits for its answer except those that watch, no short rest of the app is left (such as the one
        before the event under the cursor is read), every row that is shown has its text, and all of it is painted.
        """
        try:
            await self.until(lambda: not self._awaited(), "all questions are answered and all rows are read")
        except AssertionError as error:
            raise AssertionError(f"{error} There are still: {self._awaited()}") from error
        await settle(self.pilot)

    def _awaited(self) -> set[str]:
        """What is still to come: topics of questions, a rest, texts of rows, the event in the inspector."""
        if self.screen._desk is None:
            return set()
        awaited = self.desk.jobs.topics() - {"watch root", "watch log"}
        if str(self.app.engine.index) != ":memory:":
            awaited -= {"index"}  # the process that keeps the index stays
        if any(_rests(timer) for timer in self.screen._timers):
            awaited.add("the end of a rest")
        typed, read = read_words(self.desk.search_bar.text), self.desk.finding.search
        if typed.chips != read.chips or typed.phrase not in ("", read.phrase):
            awaited.add("the words in the bar")
        if self.desk.finding._searching:
            awaited.add("hits")
        if self.app.keys_wait:
            awaited.add("keys that wait")
        if not self.desk.timeline.all_read:
            awaited.add("texts of rows")
        if not self.desk.inspecting.up_to_date:
            awaited.add("the event in the inspector")
        return awaited

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

        def done() -> bool:
            # An answer to the first letters is none to all of them.
            return self.desk.finding.has_found(phrase or text) and not self._awaited() & _SEARCHES

        await self.until(done, "the hits are there")
        await settle(self.pilot)

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


def _rests(timer: Timer) -> bool:
    """Whether a timer will soon run out, once."""
    running = timer._task is not None and not timer._task.done()
    return running and timer._repeat == 0 and timer._interval < _SHORT_S


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
