"""What a newcomer tries first, by keyboard: search again, search too early, come back, close the notice."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from appdriving import Launch

from palimpsest_core import Engine
from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui.commands import COMMANDS
from palimpsest_tui.screens.export import ExportScreen
from palimpsest_tui.screens.ledger import Start
from palimpsest_tui.settings import State, settings_path
from palimpsest_tui.widgets.status_bar import Bar
from palimpsest_tui.widgets.timeline_views import View


def run(flow: object) -> None:
    asyncio.run(flow)  # type: ignore[arg-type]


def test_slash_selects_the_old_words_so_that_typing_replaces_them(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.search("rounding")
            await driver.press("escape")
            await driver.search("migration")
            assert driver.desk.search_bar.text == "migration"
            await driver.press("escape", "slash", "right")
            await driver.type("s")
            assert driver.desk.search_bar.text == "migrations", "a cursor key keeps the words for editing"

    run(flow())


@pytest.fixture
def late_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The index stays empty until this is set."""
    filled = threading.Event()
    refresh = Engine.refresh

    def late(engine: Engine, *args: Any, **options: Any) -> object:
        filled.wait()
        return refresh(engine, *args, **options)

    monkeypatch.setattr(Engine, "refresh", late)
    yield filled
    filled.set()


def test_a_search_before_the_index_is_full_says_so_and_goes_on(
    demo: DemoCorpus, launch: Launch, late_index: threading.Event
) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            try:
                await driver.until(lambda: driver.desk.listing.loaded, "the sessions are listed")
                await driver.press("j", "enter")
                await driver.until(lambda: driver.desk.opening.log is not None, "a session is open")
                await driver.search("rounding")
                total = sum(session.header is not None for session in driver.desk.listing.sessions)
                await driver.until(lambda: "Nothing found yet" in driver.text(), "it says that this is not final")
                assert f"0 of {total} logs" in driver.text()
                bar = driver.screen.query_one("#search-facts", Bar)
                await driver.until(lambda: f"over 0 of {total} logs" in bar.text, "the bar tells the true numbers")
                await driver.until(lambda: "this session is not indexed yet" in bar.text, "the open session is named")
                assert "There is no session" not in driver.text()
            finally:
                late_index.set()
            await driver.until(lambda: driver.desk.session_list.row_count() > 0, "the hits come by themselves")
            await driver.until(lambda: "not indexed" not in bar.text, "the open session is searched")
            assert " of " not in bar.text.partition("over")[2]

    run(flow())


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_escape_in_the_hits_brings_the_sessions_back_and_slash_the_search(
    demo: DemoCorpus, launch: Launch, size: tuple[int, int]
) -> None:
    async def flow() -> None:
        async with launch(demo.root, size) as driver:
            await driver.indexed()
            sessions = driver.desk.session_list
            await driver.search("migration")
            await driver.press("escape", "j")
            await driver.quiet()
            hit = sessions.session_at(sessions.cursor)
            assert hit is not None
            await driver.until(lambda: "esc: back to the sessions" in driver.text(), "the way back is told")
            await driver.press("escape")
            await driver.until(lambda: not sessions.showing_hits, "the sessions are back")
            here = sessions.session_at(sessions.cursor)
            assert here is not None
            assert here.path == hit.path, "the cursor stays on the session"
            assert sessions.has_focus
            assert driver.desk.search_bar.text == ""
            await driver.until(lambda: "esc: back" not in driver.text(), "there is nothing to go back from")
            await driver.press("escape")
            assert driver.app.is_running, "escape never quits"
            await driver.press("slash")
            assert driver.desk.search_bar.text == "migration"
            await driver.until(lambda: sessions.showing_hits, "the hits are back")
            await driver.type("zzyzx")
            await driver.until(lambda: driver.desk.finding.has_found("zzyzx"), "the answer is there")
            await driver.press("escape")
            await driver.until(lambda: "esc: back to the sessions." in driver.text(), "an empty list tells it too")

    run(flow())


@pytest.mark.parametrize("keys", [["j"], ["enter"], ["slash"], ["tab"], ["2"], ["escape"]])
def test_the_first_notice_goes_with_the_first_key_that_goes_anywhere(
    demo: DemoCorpus, launch: Launch, keys: list[str]
) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24), state=State(), start=Start(notice="Made-up data.")) as driver:
            notice = driver.screen.query_one("#notice")
            await driver.until(lambda: notice.has_class("shown"), "the notice is shown")
            await driver.quiet()
            assert notice.has_class("shown"), "it stays while nobody does anything"
            await driver.press(*keys)
            await driver.until(lambda: not notice.has_class("shown"), "the notice is closed")

    run(flow())


def test_escape_closes_the_notice_from_the_search_bar_too(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24)) as driver:
            await driver.indexed()
            await driver.press("slash")
            driver.screen._show_notice(["Made-up data."])
            notice = driver.screen.query_one("#notice")
            assert notice.has_class("shown")
            await driver.press("escape")
            await driver.until(lambda: not notice.has_class("shown"), "the notice is closed")

    run(flow())


def test_a_finished_export_is_closed_and_names_no_descendants_where_there_are_none(
    demo: DemoCorpus, launch: Launch
) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            parents = {session.parent for session in driver.desk.listing.sessions}
            childless = next(s for s in driver.desk.listing.sessions if s.id not in parents and s.header is not None)
            await driver.open(childless.id)
            await driver.press("2", "E")
            await driver.until(lambda: isinstance(driver.app.screen, ExportScreen), "the window is there")
            await driver.press("enter")
            await driver.until(lambda: "Written:" in driver.text(), "the archive is written")
            assert "esc: close" in driver.text()
            assert "0 descendants" not in driver.text()
            await driver.press("escape")
            await driver.until(lambda: not isinstance(driver.app.screen, ExportScreen), "the window is closed")

    run(flow())


def test_on_a_narrow_screen_the_status_line_drops_the_date_before_it_cuts_the_time(
    demo: DemoCorpus, launch: Launch
) -> None:
    async def flow() -> None:
        async with launch(demo.root, (62, 24)) as driver:
            await driver.indexed()
            await driver.press("enter")
            await driver.until(lambda: driver.desk.timeline.event_index is not None, "an event is under the cursor")
            await driver.quiet()
            line = driver.text().splitlines()[-2]
            assert re.search(r"\d\d:\d\d:\d\d", line), line
            assert "2026-" not in line

    run(flow())


def test_the_open_session_stays_open_when_the_hits_are_left_and_the_list_is_read_again(
    demo: DemoCorpus, launch: Launch
) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.search("migration 0042")
            await driver.press("enter")
            await driver.opened("0198e1d0-entries-migration")
            opened = driver.desk.opening.session
            assert opened is not None
            await driver.press("escape", "escape")
            await driver.until(lambda: not driver.desk.session_list.showing_hits, "the sessions are back")
            await driver.quiet()
            for _ in range(2):
                assert driver.desk.session_list.session_at(driver.desk.session_list.cursor) == opened
                assert driver.desk.opening.session == opened
                driver.desk.listing.show()  # as when a log elsewhere grew
                await driver.quiet()

    run(flow())


def test_what_was_said_goes_with_the_next_key(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("enter")
            await driver.until(lambda: driver.desk.timeline.row_count() > 3, "it is open")
            await driver.quiet()
            await driver.press("%")
            assert "replaced nothing" in driver.text().splitlines()[-2]
            await driver.press("j")
            assert "replaced nothing" not in driver.text().splitlines()[-2]
            await driver.press("%")
            assert "replaced nothing" in driver.text().splitlines()[-2]
            await driver.press("i")
            assert "replaced nothing" not in driver.text().splitlines()[-2]

    run(flow())


def test_the_key_line_shows_what_works_where_the_focus_is(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24)) as driver:
            await driver.indexed()

            def line() -> str:
                return driver.text().splitlines()[-1]

            assert "enter Open" in line()
            assert "4 Lineage" in line()
            await driver.press("enter")
            assert "esc Back" in line()
            assert "[] Boundary" in line()
            await driver.press("slash")
            assert "enter Open" in line()
            assert "? Keys" not in line(), "a question mark is typed there"

    run(flow())


def test_back_from_a_jump_in_the_lineage_comes_back_to_the_lineage(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.open("0198f4aa-rounding-review")
            await driver.press("4", "j", "enter")
            await driver.quiet()
            assert driver.desk.opening.session is not None
            assert driver.desk.opening.session.id != "0198f4aa-rounding-review"
            await driver.press("<")
            await driver.opened("0198f4aa-rounding-review")
            assert driver.desk.panes.focused() == "lineage"

    run(flow())


def test_a_written_export_has_no_options_left_and_a_second_one_names_the_first(
    demo: DemoCorpus, launch: Launch
) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            for told in ("", "was there already"):
                await driver.press("e")
                await driver.until(lambda: "Written:" in driver.text(), "it is written")
                await driver.quiet()  # the options go a moment after the line comes
                assert "overwrite" not in driver.text()
                assert told in driver.text()
                await driver.press("escape")

    run(flow())


def test_the_first_notice_is_short_and_begins_with_keys(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24), state=State()) as driver:
            await driver.indexed()
            lines = driver.text().splitlines()
            top = next(number for number, line in enumerate(lines) if line.startswith("╭"))
            bottom = next(number for number, line in enumerate(lines) if line.startswith("╰"))
            assert bottom - top - 1 <= 4
            assert "/ search" in lines[top + 1]
            assert "36 sessions in 37 logs" in driver.text()

    run(flow())


def test_every_fault_of_the_settings_is_told_with_the_file(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24)) as driver:
            await driver.indexed()
            driver.screen.tell_settings(Path("/a/settings.toml"), ["Setting a: wrong.", "Setting b: wrong."])
            await driver.quiet()
            for told in ("/a/settings.toml", "Setting a", "Setting b"):
                assert told in driver.text()

    run(flow())


def test_the_palette_says_where_the_settings_file_is(
    demo: DemoCorpus, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)

    async def flow() -> None:
        async with launch(demo.root, (200, 24)) as driver:
            await driver.indexed()
            COMMANDS["settings.open"].run(driver.desk)
            assert str(settings_path()) in driver.text()

    run(flow())


def test_the_title_of_the_errors_counts_errors(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.open("0198e1d0-entries-migration")
            driver.desk.opening.set_view(View.ERRORS)
            await driver.quiet()
            rows = driver.desk.timeline.row_count()
            assert f"errors · {rows} errors" in driver.text()

    run(flow())
