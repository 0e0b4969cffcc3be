"""Keys that come before the answer to the search they are meant for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from appdriving import Driver, Launch, burst, driven

from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui import key_order
from palimpsest_tui.flows import finding


@pytest.fixture(autouse=True)
def no_debounce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is searched for because time went by: a key has to start the search."""
    monkeypatch.setattr(finding, "_DEBOUNCE_S", 3600)
    monkeypatch.setattr(key_order, "_LOST_S", 20.0)  # a busy machine is not a hit that takes too long


class Gate:
    """Holds the answers to searches up until it is opened; records what is opened."""

    def __init__(self, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
        self._driver = driver
        self._free = threading.Event()
        self.asked: list[str] = []
        self.opened: list[tuple[str, int | None]] = []
        self._sessions = driver.desk.finding.seeker.sessions
        monkeypatch.setattr(driver.desk.finding.seeker, "sessions", self._held)
        opening = driver.desk.opening.open

        def opened(session_id: str, seq: int | None, **options: Any) -> None:
            self.opened.append((session_id, seq))
            opening(session_id, seq, **options)

        monkeypatch.setattr(driver.desk.opening, "open", opened)

    def _held(self, phrase: str, sessions: Any, events: Any, cursor: str | None, cancel: Any) -> Any:
        self.asked.append(phrase)
        while not self._free.wait(0.01):
            cancel.raise_if_set()
        return self._sessions(phrase, sessions, events, cursor, cancel)

    async def waits(self, phrase: str) -> None:
        """Until a search has come here."""
        await self._driver.until(lambda: phrase in self.asked, f"{phrase} is searched for")

    async def answer(self) -> None:
        """Let the answers through, until all is done that they lead to."""
        self._free.set()
        await self._driver.until(lambda: not self._driver.desk.finding._searching, "the search is answered")
        await self._driver.quiet()


@contextlib.asynccontextmanager
async def gated(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Driver, Gate]]:
    """The app on the demo corpus, all of it indexed, with a gate before the answers of its searches."""
    async with launch(demo.root) as driver:
        await driver.indexed()
        yield driver, Gate(driver, monkeypatch)


async def found(driver: Driver, phrase: str) -> None:
    """Search for something the slow way, the answer on the screen."""
    await driver.press("slash")
    await driver.type(phrase)
    driver.desk.finding._run()
    await driver.until(lambda: driver.desk.finding.has_found(phrase), "the hits are there")


def first_hit(driver: Driver, phrase: str) -> tuple[str, int]:
    hits = driver.desk.finding.hits
    assert driver.desk.finding.has_found(phrase)
    assert hits is not None
    return hits.hits[0].header.id, hits.hits[0].best_match.seq


def place(driver: Driver) -> tuple[str, int]:
    """Session and event under the cursor of the timeline."""
    log, index = driver.desk.opening.log, driver.desk.timeline.event_index
    assert log is not None
    assert index is not None
    return log.session_id, log.number_at(index)


@driven
async def test_enter_right_behind_the_last_letter_opens_the_first_hit(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(launch, demo, monkeypatch) as (driver, gate):
        await burst(driver.pilot, "slash", *"rounding", "enter")
        await gate.waits("rounding")
        assert "Searching" in driver.text().splitlines()[-2]
        assert not gate.opened
        await gate.answer()
        assert gate.opened == [first_hit(driver, "rounding")]
        assert place(driver) == first_hit(driver, "rounding")
        assert driver.desk.timeline.has_focus


@pytest.mark.parametrize("keys", [("enter",), ("escape", "enter"), ("escape", "n"), ("escape", "N"), ("down", "enter")])
@driven
async def test_hits_of_an_earlier_text_are_never_opened(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    async with launch(demo.root) as driver:
        await driver.indexed()
        await found(driver, "rounding")
        old = {hit.header.id for hit in driver.desk.finding.hits.hits} if driver.desk.finding.hits else set()
        gate = Gate(driver, monkeypatch)
        await burst(driver.pilot, *["backspace"] * 8, *"webhook", *keys)
        await gate.waits("webhook")
        assert not gate.opened
        await gate.answer()
        hits, matches = driver.desk.finding.hits, driver.desk.finding.matches
        assert hits is not None
        assert matches is not None
        new = {hit.header.id for hit in hits.hits}
        assert not new >= old
        assert {session_id for session_id, _ in gate.opened} <= new
        assert place(driver)[0] in new
        if "N" in keys:  # the session beside the list has the only hits, all behind its first event
            assert "That was the first hit." in driver.text()
        else:
            assert place(driver)[1] in matches[1]
        if "enter" in keys:
            assert gate.opened == [first_hit(driver, "webhook")]


@pytest.mark.parametrize("keys", ["jj", "jjk", "n", "nn", "nN", "Gn", "jnj"])
@driven
async def test_keys_behind_enter_act_where_the_hit_is(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    places: list[tuple[str, int]] = []
    for at_once in (False, True):
        async with launch(demo.root) as driver:
            await driver.indexed()
            if at_once:
                await burst(driver.pilot, "slash", *"rounding", "enter", *keys)
            else:
                await found(driver, "rounding")
                for key in ("enter", *keys):
                    await driver.press(key)
                    await driver.quiet()
            await driver.until(lambda: driver.app.keys_rest and not driver.app.keys_wait, "all keys are handled")
            await driver.quiet()
            places.append(place(driver))
    assert places[0] == places[1]


@pytest.mark.parametrize("keys", [("escape",), ("2",), ("slash", "x"), ("question_mark",), ("j", "escape")])
@driven
async def test_whoever_went_elsewhere_meanwhile_stays_there(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    async with gated(launch, demo, monkeypatch) as (driver, gate):
        await burst(driver.pilot, "slash", *"rounding", "enter")
        await gate.waits("rounding")
        await driver.press(*keys)
        await driver.until(lambda: not driver.app.keys_wait, "no key waits")
        focused, screen = driver.screen.focused, driver.app.screen
        await gate.answer()
        assert not [seq for _, seq in gate.opened if seq is not None]
        assert (driver.screen.focused, driver.app.screen) == (focused, screen)


@pytest.mark.parametrize("keys", [("enter",), ("escape", "n")])
@driven
async def test_an_empty_answer_is_told_and_only_then(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    async with gated(launch, demo, monkeypatch) as (driver, gate):
        await burst(driver.pilot, "slash", *"nosuchword", *keys)
        await gate.waits("nosuchword")
        assert "Nothing" not in driver.text()
        await gate.answer()
        assert "Nothing found in everything." in driver.text().splitlines()[-2]
        assert not gate.opened


@driven
async def test_an_answer_that_fails_opens_nothing_and_enter_asks_again(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(demo.root) as driver:
        await driver.indexed()
        await found(driver, "rounding")
        gate = Gate(driver, monkeypatch)
        held: Callable[..., Any] = driver.desk.finding.seeker.sessions
        fails = [True, False]

        def failing(*args: Any) -> Any:
            if fails.pop(0):
                raise OSError(5, "the disk is ill")
            return held(*args)

        monkeypatch.setattr(driver.desk.finding.seeker, "sessions", failing)
        await burst(driver.pilot, *["backspace"] * 8, *"webhook", "enter")
        await driver.until(lambda: "the disk is ill" in driver.text(), "the failure is told")
        assert not gate.opened
        await driver.press("enter")
        await gate.answer()
        assert gate.opened == [first_hit(driver, "webhook")]


@driven
async def test_keys_typed_for_a_hit_that_takes_long_are_done_nowhere_else(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(demo.root) as driver:
        await driver.indexed()
        await driver.open(demo.large_id)
        gate = Gate(driver, monkeypatch)
        marks = dict(driver.desk.state.marks)
        await burst(driver.pilot, "slash", *"rounding", "enter", "m")
        await gate.waits("rounding")
        assert driver.app.keys_wait
        monkeypatch.setattr(key_order, "_LOST_S", 0.0)
        await driver.press("i")
        assert not driver.app.keys_wait
        assert not driver.desk.state.inspector
        assert driver.desk.state.marks == marks
        await gate.answer()
        assert not gate.opened
