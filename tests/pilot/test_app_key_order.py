"""Keys that come in one burst do what they do one by one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from appdriving import Launch, burst, driven, until
from textual import events
from textual.screen import Screen

from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui import key_order
from palimpsest_tui.screens.help import HelpScreen
from palimpsest_tui.screens.ledger import LedgerScreen
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.search_bar import SearchInput
from palimpsest_tui.widgets.status_bar import Bar


@pytest.mark.parametrize("word", ["queue", "boxed", "rounding", "iiix", "exE!"])
@driven
async def test_letters_typed_right_behind_the_slash_are_searched_for(
    launch: Launch, demo: DemoCorpus, word: str
) -> None:
    async with launch(demo.root) as driver:
        await driver.quiet()
        await burst(driver.pilot, "slash", *word)
        await driver.until(lambda: driver.app.keys_rest, "all keys are handled")
        assert driver.desk.search_bar.text == word
        assert isinstance(driver.app.focused, SearchInput)
        assert driver.app.screen is driver.screen
        assert not list((Path.home()).glob("*.zip"))


@driven
async def test_a_second_search_typed_at_once_replaces_the_first(launch: Launch, demo: DemoCorpus) -> None:
    async with launch(demo.root) as driver:
        await driver.search("rounding")
        await driver.press("escape")
        await burst(driver.pilot, "slash", *"dunning")
        await driver.until(lambda: driver.app.keys_rest, "all keys are handled")
        assert driver.desk.search_bar.text == "dunning"


@driven
async def test_keys_behind_a_window_that_opens_go_to_it(launch: Launch, demo: DemoCorpus) -> None:
    async with launch(demo.root) as driver:
        await driver.quiet()
        await burst(driver.pilot, "question_mark", "G", "escape", "slash", *"abc")
        await driver.until(lambda: driver.app.keys_rest, "all keys are handled")
        assert not any(isinstance(screen, HelpScreen) for screen in driver.app.screen_stack)
        assert driver.desk.search_bar.text == "abc"


@pytest.mark.parametrize("keys", ["qe", "q?", "q/e", "qH"])
@driven
async def test_keys_behind_q_do_nothing(launch: Launch, demo: DemoCorpus, keys: str) -> None:
    async with launch(demo.root) as driver:
        await driver.quiet()
        shown: list[Screen[object]] = list(driver.app.screen_stack)
        await burst(driver.pilot, *keys)
        await until(driver.pilot, lambda: driver.app._exit, "the app was left")
        assert driver.app._exception is None
        assert set(driver.app.screen_stack) <= set(shown)


@driven
async def test_a_pasted_text_waits_for_the_key_before_it(launch: Launch, demo: DemoCorpus) -> None:
    async with launch(demo.root) as driver:
        await driver.quiet()
        await burst(driver.pilot, "slash")
        paste = events.Paste("hello there")
        paste.set_sender(driver.app)
        driver.app.post_message(paste)
        await driver.until(lambda: driver.desk.search_bar.text == "hello there", "the text is in the bar")
        assert isinstance(driver.app.focused, SearchInput)


@driven
async def test_a_key_that_is_lost_holds_the_others_up_for_a_while_only(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(demo.root) as driver:
        await driver.quiet()
        monkeypatch.setattr(key_order, "_LOST_S", 0.05)
        handled = driver.app._handled
        monkeypatch.setattr(driver.app, "_handled", lambda event: None)
        driver.app.post_message(events.Key("j", "j"))
        await asyncio.sleep(0.05)
        monkeypatch.setattr(driver.app, "_handled", handled)
        driver.app.post_message(events.Key("question_mark", "?"))
        await driver.until(lambda: isinstance(driver.app.screen, HelpScreen), "the key behind it was taken up")
        await driver.until(lambda: driver.app.keys_rest, "all keys are handled")
        assert driver.app._exception is None


@driven
async def test_keys_that_only_move_the_cursor_keep_their_place_among_others(launch: Launch, demo: DemoCorpus) -> None:
    async with launch(demo.root) as driver:
        await driver.indexed()
        await burst(driver.pilot, *"jjjk", "slash", *"jGk", "escape", *"jj")
        await driver.until(lambda: driver.app.keys_rest, "all keys are handled")
        assert driver.desk.search_bar.text == "jGk"
        assert driver.desk.session_list.has_focus
    async with launch(demo.root) as driver:
        await driver.indexed()
        await burst(driver.pilot, *"gjjjk", "question_mark", *"jjG", "escape", *"jk")
        await driver.until(lambda: driver.app.keys_rest, "all keys are handled")
        assert driver.app.screen is driver.screen
        assert driver.desk.session_list.cursor == 2


@driven
async def test_many_presses_of_one_key_are_told_of_together(
    launch: Launch, demo: DemoCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(demo.root) as driver:
        await driver.open(demo.large_id)
        await driver.press("2", "g")
        await driver.quiet()
        told: list[int] = []
        moved = LedgerScreen.on_line_list_moved

        def on_line_list_moved(screen: LedgerScreen, event: LineList.Moved) -> None:
            told.append(event.row)
            moved(screen, event)

        monkeypatch.setattr(LedgerScreen, "on_line_list_moved", on_line_list_moved)
        for _ in range(50):
            key = events.Key("j", "j")
            key.set_sender(driver.app)
            driver.app.post_message(key)
        await driver.until(lambda: driver.desk.timeline.cursor == 50, "all keys are handled")
        await driver.quiet()
        assert told[-1] == 50
        assert len(told) < 25
        assert driver.desk.inspecting.up_to_date
        place = driver.desk.timeline.place()
        assert place is not None
        assert driver.app.screen.query_one("#status-bar", Bar).text.startswith(f"{place.span.start + 1}")
