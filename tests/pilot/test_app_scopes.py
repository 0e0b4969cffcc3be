"""Scopes of a search, an index that another process keeps, hits on a narrow screen, the help of a pane."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from appdriving import Launch
from logmaking import header, line, prompt, text_of, write

from palimpsest_core import call_of
from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui.jobs.indexing import Report
from palimpsest_tui.screens.help import HelpScreen
from palimpsest_tui.searching.resolve import Scope
from palimpsest_tui.widgets.status_bar import Bar


def run(flow: object) -> None:
    asyncio.run(flow)  # type: ignore[arg-type]


def test_a_search_in_this_event_finds_its_lines_and_widens_to_the_session(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            finding, desk = driver.desk.finding, driver.desk
            await driver.search("rounding")
            await driver.press("enter")
            await driver.quiet()
            here = desk.finding.scopes.event()
            assert here is not None
            finding.scopes.scope = Scope.EVENT
            finding.rerun()
            await driver.quiet()
            assert finding.hits is not None
            assert [hit.best_match.seq for hit in finding.hits.hits] == [here]
            assert finding.matches is not None
            assert finding.matches[1] == [here]
            facts = driver.screen.query_one("#search-facts", Bar)
            assert "this event" in facts.text
            for _ in range(50):
                await driver.press("n")
                if "no further match in this event" in driver.text():
                    break
            assert "no further match in this event" in driver.text()
            await driver.press("slash", "ctrl+t")
            await driver.quiet()
            assert finding.scopes.scope is Scope.SESSION
            assert "Scope: this session." in driver.text()
            assert "in 1 session." in driver.text()

    run(flow())


def test_the_counts_of_the_narrower_scopes_are_shown_where_there_is_room(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (200, 60)) as driver:
            await driver.indexed()
            await driver.search("rounding")
            await driver.press("enter")
            await driver.quiet()
            counts = driver.desk.finding.counts
            assert list(counts) == [Scope.SESSION, Scope.LINEAGE, Scope.PROJECT, Scope.ALL]
            assert 0 < counts[Scope.SESSION] <= counts[Scope.LINEAGE] <= counts[Scope.ALL]
            assert f"session {counts[Scope.SESSION]} · lineage" in driver.screen.query_one("#search-facts", Bar).text

    run(flow())


def test_an_index_that_another_process_still_fills_is_called_incomplete(
    demo: DemoCorpus, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palimpsest_tui.flows import living

    def waiting(engine: object, orders: object, cancel: object, tell: object) -> int:
        tell(Report("waiting"))  # type: ignore[operator]
        cancel.wait(60)  # type: ignore[attr-defined]
        return 0

    monkeypatch.setattr(living, "run_indexer", waiting)

    async def flow(index: Path) -> None:
        async with launch(demo.root, index=index) as driver:
            await driver.until(lambda: "kept by another process" in driver.text(), "it says who keeps the index")
            known = [session for session in driver.desk.listing.sessions if session.header is not None]
            assert known
            assert driver.desk.living.indexed() == (0, len(known))
            assert f"idx 0 of {len(known)}" in driver.desk.telling.index_text
            await driver.press("slash")
            await driver.type("rounding")
            await driver.until(lambda: "Nothing found yet" in driver.text(), "an empty answer is not called final")

    run(flow(Path(demo.root).parent / "kept-elsewhere.sqlite"))


def test_on_a_narrow_screen_typing_shows_the_hits_wherever_one_was(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root, (80, 24)) as driver:
            await driver.indexed()
            await driver.press("j", "enter")
            await driver.quiet()
            await driver.search("rounding")
            assert driver.desk.panes.level == "sessions"
            assert "1 Hits" in driver.text()

    run(flow())


@pytest.mark.parametrize("size", [(120, 40), (40, 10)])
def test_the_help_begins_with_the_keys_of_the_pane_and_fits(
    demo: DemoCorpus, launch: Launch, size: tuple[int, int]
) -> None:
    async def flow() -> None:
        async with launch(demo.root, size) as driver:
            await driver.indexed()
            await driver.press("2", "question_mark")
            await driver.until(lambda: isinstance(driver.app.screen, HelpScreen), "the help is open")
            await driver.quiet()
            text = driver.text()
            assert "the pane timeline" in text
            assert "…" not in text.partition("the pane timeline")[2].partition("\n ")[0]
            screen = driver.app.screen
            assert isinstance(screen, HelpScreen)
            assert all(sum(len(piece.text) for piece in line) <= size[0] - 6 + 2 for line in screen._lines())

    run(flow())


def test_a_tool_word_leaves_only_calls_and_results_of_that_tool(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()

            async def found(words: str) -> dict[str, int]:
                await driver.press("slash")
                await driver.type(f"rounding {words}".strip())
                await driver.quiet()
                wanted = driver.desk.finding
                assert wanted.hits is not None
                hits = {hit.header.id: hit.matches or 1 for hit in wanted.hits.hits}
                for hit in wanted.hits.hits:
                    log = driver.desk.engine.open_log(hit.header.id)
                    log.load()
                    index = log.index_of_seq(hit.best_match.seq)
                    assert index is not None
                    call = call_of(log.event(index))
                    assert call is not None
                    if "tool:subagent" in words:
                        assert ("subagent" in call.name) is ("-tool" not in words)
                    log.close()
                await driver.press("escape")
                return hits

            both = await found("type:tool/call")
            only = await found("type:tool/call tool:subagent")
            others = await found("type:tool/call -tool:subagent")
            assert only
            assert sum(only.values()) + sum(others.values()) == sum(both.values())
            assert await found("tool:nosuch") == {}

    run(flow())


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("needle", [1, 3]),
        ("=eedl", [1, 2, 3]),
        ("needle is:withheld", [1, 3]),
        ("needle is:current", []),
        ("needle type:user/message", [3]),
    ],
)
def test_the_open_file_without_a_header_is_searched_row_by_row(
    tmp_path: Path, launch: Launch, words: str, rows: list[int]
) -> None:
    lines = [b"no header\n", b"a needle here\n", b"two needles\n", line(prompt(5, "the Needle")), b'{"type":"row"}\n']
    write(tmp_path, b"".join(lines), session_id="headless", plain=True)
    write(tmp_path, text_of([header(0, "sound"), prompt(0, "no such word")]), session_id="sound", plain=True)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("headless")
            await driver.search(words, phrase=words.split()[0].removeprefix("="))
            await driver.until(lambda: driver.desk.finding.matches is not None, "the rows were looked through")
            log, matches = driver.desk.finding.matches or (None, [])
            assert log is not None
            assert [log.index_of_seq(number) for number in matches] == rows
            await driver.press("escape", "2")
            if rows:
                await driver.press("g", "n")
                await driver.until(lambda: driver.desk.timeline.event_index == rows[0], "n goes to the first match")

    run(flow())
