"""What a person does with the keyboard, from the list to the export."""

from __future__ import annotations

import asyncio
import shutil
import zipfile
from pathlib import Path

import pytest
from appdriving import Driver, Launch

from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui.jobs.exporting import Stage
from palimpsest_tui.screens.export import ExportScreen
from palimpsest_tui.screens.help import HelpScreen
from palimpsest_tui.widgets.search_bar import SearchInput
from palimpsest_tui.widgets.timeline_views import View


def run(flow: object) -> None:
    asyncio.run(flow)  # type: ignore[arg-type]


def cursor_seq(driver: Driver) -> int:
    log, index = driver.desk.opening.log, driver.desk.timeline.event_index
    assert log is not None
    assert index is not None
    return log.table.seqs[index]


def test_the_list_shows_every_session_and_enter_opens_one(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            assert len(driver.desk.listing.sessions) == len(demo.ids)
            await driver.press("j", "j", "enter")
            await driver.until(lambda: driver.desk.timeline.has_focus, "the timeline has the focus")
            session = driver.desk.session_list.session_at(2)
            assert session is not None
            await driver.opened(session.id)
            assert driver.desk.timeline.row_count() > 0

    run(flow())


def test_typing_searches_and_enter_opens_at_the_matching_event(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.search("rounding")
            finding = driver.desk.finding
            assert driver.desk.session_list.showing_hits
            assert finding.hits is not None
            first = finding.hits.hits[0]
            await driver.press("enter")
            await driver.opened(first.header.id)
            await driver.until(lambda: cursor_seq(driver) == first.best_match.seq, "the cursor is on the match")
            assert "rounding" in driver.text().casefold()
            await driver.until(lambda: bool(finding.matches_in(driver.desk.opening.log)), "the matches are known")  # type: ignore[arg-type]

    run(flow())


def test_n_goes_through_the_session_and_on_into_the_next_one(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.search("rounding")
            finding, desk = driver.desk.finding, driver.desk
            assert finding.hits is not None
            ids = [hit.header.id for hit in finding.hits.hits]
            assert len(ids) > 1
            await driver.press("enter")
            await driver.opened(ids[0])
            seen = {ids[0]}
            for _ in range(60):
                await driver.press("n")
                await driver.quiet()
                assert desk.opening.log is not None
                seen.add(desk.opening.log.session_id)
                if len(seen) > 1:
                    break
            assert ids[1] in seen

    run(flow())


def test_percent_goes_between_a_replacement_and_what_it_replaced(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.open(demo.large_id)
            log = driver.desk.opening.log
            assert log is not None
            replacing = next(index for index in range(len(log)) if log.replaces(log.table.seqs[index]))
            seq = log.table.seqs[replacing]
            driver.desk.opening.go_seq(seq)
            await driver.press("percent_sign")
            first = cursor_seq(driver)
            assert first == min(log.replaces(seq))
            await driver.press("percent_sign")
            assert cursor_seq(driver) == seq
            await driver.press("less_than_sign")
            assert cursor_seq(driver) == first

    run(flow())


def test_a_replacement_opens_to_what_it_replaced_and_closes_again(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.open(demo.large_id)
            await driver.press("right_square_bracket")
            timeline, log = driver.desk.timeline, driver.desk.opening.log
            assert log is not None
            seq = cursor_seq(driver)
            replaced = log.replaces(seq)
            assert replaced
            rows = timeline.row_count()
            await driver.press("l")
            assert timeline.row_count() == rows + len(replaced)
            await driver.press("j")
            assert cursor_seq(driver) == min(replaced)
            await driver.press("h")
            assert timeline.row_count() == rows
            assert cursor_seq(driver) == seq

    run(flow())


def test_the_lineage_of_three_levels_is_walked_with_arrows_and_enter(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            by_id, sessions = driver.desk.listing.by_id, driver.desk.listing.sessions

            def chain(session_id: str) -> list[str]:
                found = [session_id]
                while (parent := by_id[found[-1]].parent) in by_id:
                    found.append(str(parent))
                return found

            deepest = max((chain(session.id) for session in sessions), key=len)
            assert len(deepest) >= 4
            await driver.open(deepest[-1])
            await driver.press("4")
            tree = driver.desk.lineage_tree
            await driver.until(lambda: tree.row_count() >= 4, "the lineage is told")
            for wanted in reversed(deepest[:-1]):
                while (row := tree.row_at(tree.cursor)) is None or row.session_id != wanted:
                    before = tree.cursor
                    await driver.press("down")
                    assert tree.cursor != before, "the session is not below in the tree"
                await driver.press("enter")
                await driver.opened(wanted)
                await driver.press("4")
            for wanted in deepest[1:]:
                await driver.press("less_than_sign")
                await driver.opened(wanted)

    run(flow())


def test_one_key_exports_the_session_with_its_descendants(demo: DemoCorpus, launch: Launch, tmp_path: Path) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            parent = next(s.id for s in driver.desk.listing.sessions if s.parent is None and _children(driver, s.id))
            await driver.open(parent)
            await driver.press("e")
            await driver.until(lambda: isinstance(driver.app.screen, ExportScreen), "the window is shown")
            run_ = driver.desk.exporting._runs[parent]
            await driver.until(lambda: not run_.busy, "the export is over")
            assert run_.stage is Stage.DONE, run_.error
            assert run_.result is not None
            with zipfile.ZipFile(run_.result.path) as archive:
                assert archive.testzip() is None
                assert len([name for name in archive.namelist() if name.startswith("subagents/")]) >= 1
            assert Path(run_.result.path).is_relative_to(tmp_path / "home")
            await driver.press("escape")
            await driver.until(lambda: driver.app.screen is driver.screen, "the window is hidden")
            await driver.press("e")
            await driver.until(lambda: not run_.busy and run_.result is not None, "the second export is over")
            assert run_.result.path.endswith("-2.zip")

    run(flow())


def _children(driver: Driver, session_id: str) -> list[str]:
    return [session.id for session in driver.desk.listing.sessions if session.parent == session_id]


def test_export_with_a_path_in_the_search_bar_writes_there(demo: DemoCorpus, launch: Launch, tmp_path: Path) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.open(demo.ids[0])
            driver.desk.search_bar.set_text(f"/export {tmp_path / 'here.zip'}")
            await driver.press("slash")
            await driver.press("enter")
            await driver.until(lambda: (tmp_path / "here.zip").exists(), "the archive is written")
            await driver.quiet()
            with zipfile.ZipFile(tmp_path / "here.zip") as archive:
                assert archive.testzip() is None
                assert "session.jsonl" in archive.namelist()

    run(flow())


def test_a_log_that_grows_gains_rows_and_replaced_events_become_shadowed(
    demo: DemoCorpus, launch: Launch, tmp_path: Path
) -> None:
    source = _file_of(demo, demo.large_id)
    root = tmp_path / "grown" / "sessions"
    target = root / source.parent.parent.name / source.parent.name / source.name
    target.parent.mkdir(parents=True)
    whole = source.read_bytes()
    frames = _frames(whole)
    cut = frames[len(frames) // 3]
    target.write_bytes(whole[:cut])

    async def flow() -> None:
        async with launch(root) as driver:
            await driver.open(demo.large_id)
            log = driver.desk.opening.log
            assert log is not None
            before = len(log)
            assert not log.table.surfaces.count(2, 0, len(log))
            with target.open("ab") as file:
                file.write(whole[cut:])
            await driver.until(lambda: len(log) > before and not driver.desk.jobs.running("grow"), "the log grew")
            await driver.until(lambda: log.table.surfaces.count(2, 0, len(log)) > 0, "events became shadowed")
            assert driver.desk.timeline.rows is not None
            last = driver.desk.timeline.rows.place(driver.desk.timeline.row_count() - 1).span
            assert sum(last) == len(log)

    run(flow())


def _file_of(demo: DemoCorpus, session_id: str) -> Path:
    return next(path for path in demo.root.glob("*/*/session*") if path.parent.name == session_id)


def _frames(data: bytes) -> list[int]:
    """Where each Zstandard frame starts."""
    magic, found, at = b"\x28\xb5\x2f\xfd", [], 0
    while (at := data.find(magic, at)) >= 0:
        found.append(at)
        at += 1
    return found


def test_a_removed_log_says_so_and_keeps_what_is_shown(demo: DemoCorpus, launch: Launch, tmp_path: Path) -> None:
    root = tmp_path / "gone" / "sessions"
    shutil.copytree(demo.root, root)
    source = next(path for path in root.glob("*/*/session*") if path.parent.name == demo.large_id)

    async def flow() -> None:
        async with launch(root) as driver:
            await driver.open(demo.large_id)
            rows = driver.desk.timeline.row_count()
            source.unlink()
            await driver.until(lambda: driver.desk.living.gone, "the removal is seen")
            assert driver.desk.timeline.row_count() == rows
            assert "removed" in driver.text()

    run(flow())


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
def test_a_narrow_screen_shows_one_pane_at_a_time(demo: DemoCorpus, launch: Launch, size: tuple[int, int]) -> None:
    async def flow() -> None:
        async with launch(demo.root, size) as driver:
            await driver.indexed()
            panes = driver.desk.panes

            def shown() -> list[str]:
                return [name for name in ("sessions", "timeline", "inspector", "lineage") if panes._on_screen(name)]

            assert shown() == ["sessions"]
            await driver.press("enter")
            await driver.until(lambda: shown() == ["timeline"], "the timeline is shown")
            await driver.quiet()
            await driver.press("enter")
            await driver.until(lambda: shown() == ["inspector"], "the inspector is shown")
            await driver.until(lambda: driver.desk.inspector.row_count() > 0, "the event is shown")
            await driver.press("escape", "escape")
            await driver.until(lambda: shown() == ["sessions"], "the list is shown again")
            await driver.press("escape", "escape")
            assert driver.app.is_running

    run(flow())


def test_plain_letters_do_nothing_but_type_while_the_search_bar_has_the_focus(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("slash")
            await driver.type("qeEjkxrvfsnNFRmo")
            assert isinstance(driver.app.focused, SearchInput)
            assert driver.desk.search_bar.text == "qeEjkxrvfsnNFRmo"
            assert driver.app.screen is driver.screen
            assert driver.app.is_running

    run(flow())


def test_help_shows_the_keys_and_escape_closes_it(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.press("question_mark")
            await driver.until(lambda: isinstance(driver.app.screen, HelpScreen), "the help is shown")
            await driver.pilot.pause()
            assert "turn.next" in driver.text() or "list.down" in driver.text()
            await driver.press("escape")
            await driver.until(lambda: driver.app.screen is driver.screen, "the help is closed")

    run(flow())


def test_views_show_what_they_say_and_keep_the_place(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.open(demo.large_id)
            log = driver.desk.opening.log
            assert log is not None
            for view in (View.CURRENT, View.SHADOWED, View.LOG_ONLY, View.CONVERSATION, View.ERRORS, View.ALL):
                await driver.press("v")
                await driver.quiet()
                assert driver.desk.opening.view is view
                rows = driver.desk.timeline.rows
                assert rows is not None
                if view is View.CURRENT:
                    marks = {log.table.surfaces[rows.place(row).span.start] for row in range(len(rows))}
                    assert marks == {1}

    run(flow())


def test_filter_words_narrow_the_list_and_invalid_ones_say_why(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("slash")
            await driver.type("is:root since:soon ")
            await driver.quiet()
            await driver.until(lambda: driver.desk.session_list.row_count() < len(demo.ids), "the list is narrowed")
            assert "no such day" in driver.text()
            for words in ("-tool:bash", "is:withheld", "type:turn/end is:root"):
                await driver.press("ctrl+l")
                await driver.type(words)
                await driver.until(
                    lambda: "now words to look for in such events" in driver.text(), "what to add is said"
                )
            await driver.press("ctrl+l")
            await driver.until(lambda: driver.desk.session_list.row_count() == len(demo.ids), "all sessions are back")

    run(flow())


def test_tab_completes_filter_words(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("slash")
            await driver.type("proj")
            await driver.press("tab")
            assert driver.desk.search_bar.text == "project:"
            await driver.press("tab")
            assert driver.desk.search_bar.text.startswith("project:")
            assert len(driver.desk.search_bar.text) > len("project: ")

    run(flow())


def test_a_literal_scan_finds_the_characters_themselves(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.indexed()
            await driver.press("slash")
            driver.desk.search_bar.set_text("=[red]x[/")
            finding = driver.desk.finding
            await driver.until(lambda: finding.hits is not None and finding.hits.done, "the scan is over")
            assert finding.hits is not None
            assert finding.hits.engine == "scan"
            assert len(finding.hits.hits) == 1

    run(flow())


def test_marks_are_kept_and_lead_back(demo: DemoCorpus, launch: Launch) -> None:
    async def flow() -> None:
        async with launch(demo.root) as driver:
            await driver.open(demo.large_id)
            await driver.press("j", "j", "m")
            seq = cursor_seq(driver)
            assert driver.app.state.marks == {demo.large_id: [seq]}
            await driver.press("G", "apostrophe")
            await driver.pilot.pause()
            await driver.press("enter")
            await driver.until(lambda: cursor_seq(driver) == seq, "the cursor is on the mark")

    run(flow())


def test_what_is_copied_is_said(demo: DemoCorpus, launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    copied: list[str] = []

    async def flow() -> None:
        async with launch(demo.root) as driver:
            monkeypatch.setattr(driver.app, "copy_to_clipboard", copied.append)
            await driver.open(demo.large_id)
            await driver.press("Y")
            await driver.until(lambda: bool(copied), "the reference is copied")
            assert copied == [f"{demo.large_id}#{cursor_seq(driver)}"]
            assert "OSC 52" in driver.text()

    run(flow())
