"""Several formats of one session, who speaks, where a session comes from, and what stands behind the damage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from appdriving import Driver, Launch
from logmaking import frames, header, prompt, row, text_of, write

from palimpsest_tui.widgets.inspector import Tab
from palimpsest_tui.widgets.timeline_views import View


def run(flow: object) -> None:
    asyncio.run(flow)  # type: ignore[arg-type]


def said(seq: int, text: str, **source: Any) -> dict[str, Any]:
    """A message to the model from the source that is told."""
    made = prompt(seq, text)
    return {**made, "data": {**made["data"], "source": source}}


def answer(seq: int, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    message = {"id": f"a{seq}", "role": "assistant", "source": {"kind": "model"}, "content": content}
    return row(seq, "assistant/message", {"turn": 1, "step": 1, "message": message}, surfaceOp="append")


def store(root: Path, session_id: str, rows: Sequence[Any], version: int = 0, **head: Any) -> Path:
    made = [header(version, session_id, **head), *rows]
    return Path(write(root, frames(made), version=version, session_id=session_id).path)


def labels(driver: Driver) -> list[str]:
    """The labels of the rows that the timeline shows."""
    timeline = driver.desk.timeline
    found = []
    for number in range(timeline.row_count()):
        text = "".join(segment.text for segment in timeline.draw_row(number, 100)[0])
        found.append(text.split()[3] if text.split()[3] not in ("1·", "·2", "??") else text.split()[4])
    return found


def edge(driver: Driver) -> str:
    return str(driver.desk.timeline.border_subtitle)


def title(driver: Driver) -> str:
    return str(driver.desk.timeline.border_title)


# Choosing a generation ------------------------------------------------------------------------------------------------


def two_formats(root: Path, *, old_ends: int = 1500) -> None:
    """One session in two formats; the older one has one message more and other numbers."""
    old = [prompt(0, "first words"), answer(1, "an answer"), {**prompt(2, "went on"), "time": old_ends}]
    new = [row(0, "turn/start"), prompt(1, "first words"), {**answer(2, "an answer"), "time": 1400}]
    store(root, "both", old)
    store(root, "both", new, version=3)


def test_the_title_names_the_generation_and_v_goes_to_the_other_one(tmp_path: Path, launch: Launch) -> None:
    two_formats(tmp_path, old_ends=1300)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.until(lambda: "v3, beside it v0" in driver.text(), "the list tells the formats of the session")
            await driver.open("both")
            await driver.until(lambda: "v3 of v0 v3" in title(driver), "the title names the generations")
            assert "!" not in title(driver)
            await driver.press("V")
            await driver.until(lambda: "v0 of v0 v3" in title(driver), "the other generation is open")
            await driver.quiet()
            assert driver.desk.opening.log is not None
            assert driver.desk.opening.log.generation == 0
            assert len(driver.desk.opening.log) == 3
            await driver.press("less_than_sign")
            await driver.until(lambda: "v3 of v0 v3" in title(driver), "back leads to the first file")

    run(flow())


def test_a_lower_generation_that_goes_on_answers_and_the_divergence_is_flagged(tmp_path: Path, launch: Launch) -> None:
    two_formats(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("both")
            await driver.until(lambda: "v0 of v0 v3!" in title(driver), "the title flags the divergence")
            assert "generations diverge" in edge(driver)
            assert "?" in driver.text().splitlines()[3]

    run(flow())


def test_the_other_generation_opens_at_the_same_moment_not_at_the_same_number(tmp_path: Path, launch: Launch) -> None:
    moment = 5000
    store(tmp_path, "both", [prompt(0, "a"), prompt(1, "b"), {**answer(2, "here"), "time": moment}])
    late = [row(0), row(1), prompt(2, "a"), prompt(3, "b"), {**answer(4, "here"), "time": moment}]
    store(tmp_path, "both", late, version=3)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("both")
            await driver.until(lambda: driver.desk.generations.several, "the files are known")
            driver.desk.opening.go_seq(4)
            await driver.press("V")
            await driver.until(lambda: "v0 of" in title(driver), "the other generation is open")
            await driver.quiet()
            assert driver.desk.timeline.event_index == 2

    run(flow())


def test_a_copied_reference_carries_the_generation_where_there_are_several(tmp_path: Path, launch: Launch) -> None:
    two_formats(tmp_path)
    store(tmp_path, "alone", [prompt(0, "by itself")])

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            copied: list[str] = []
            driver.desk.copying.put = lambda text, what, **_: copied.append(text)  # type: ignore[method-assign]
            await driver.open("both")
            await driver.press("2", "j", "Y")
            await driver.open("alone")
            await driver.press("Y")
            assert copied == ["both#v0:1", "alone#0"]

    run(flow())


def test_twins_and_ids_in_two_folders_open_by_their_own_file(tmp_path: Path, launch: Launch) -> None:
    rows = [header(2, "twin"), prompt(0, "compressed"), row(1, "turn/end")]
    write(tmp_path, frames(rows), version=2, session_id="twin")
    write(tmp_path, text_of([rows[0], prompt(0, "plain text")]), version=2, session_id="twin", plain=True)
    here = store(tmp_path, "moved", [prompt(0, "here")])
    there = tmp_path / "--elsewhere--" / "moved"
    there.mkdir(parents=True)
    (there / "session.jsonl.zstd").write_bytes(frames([header(0, "moved"), prompt(0, "there"), row(1, "turn/end")]))

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("twin")
            await driver.until(lambda: "v2 of v2 v2" in title(driver), "both files are named")
            await driver.press("V")
            await driver.until(lambda: "plain text" in driver.text(), "the other twin is open")
            opened = set()
            for session in driver.desk.listing.sessions:
                if session.id == "moved":
                    driver.desk.opening.open("moved", None, path=session.path)
                    await driver.opened("moved")
                    assert driver.desk.opening.log is not None
                    opened.add(driver.desk.opening.log.file.path)
            assert opened == {str(here), str(there / "session.jsonl.zstd")}

    run(flow())


def test_a_newer_format_is_best_effort_and_never_damaged(tmp_path: Path, launch: Launch) -> None:
    store(tmp_path, "new", [prompt(0, "from the future"), row(1, "acme/thing")], version=7)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("new")
            text = driver.text()
            assert "v7 best effort" in title(driver)
            assert "newer format" in text
            assert "damaged" not in text
            assert "plug-in" not in edge(driver)

    run(flow())


# Who speaks -----------------------------------------------------------------------------------------------------------


def test_only_prompts_of_a_person_count_as_prompts(tmp_path: Path, launch: Launch) -> None:
    rows = [
        prompt(0, "a person asks"),
        said(1, "rules", kind="agent-instructions", form="instructions"),
        said(2, "a child reports", kind="subagent-report", form="relay", senderSessionId="kid"),
        said(3, "a child is done", kind="subagent-settled", form="notice", summary="done"),
        said(4, "a robot speaks", kind="robot"),
        said(5, "what was", kind="plugin", plugin="compact"),
        answer(6, "an answer"),
        prompt(7, "a person again"),
    ]
    store(tmp_path, "many", rows)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("many")
            spoken = ["user", "inject", "report", "notice", "robot", "summary", "asst", "user"]
            assert labels(driver) == spoken
            driver.desk.opening.set_view(View.CONVERSATION)
            await driver.quiet()
            assert labels(driver) == spoken
            assert "2 prompts · 1 answer" in title(driver)
            await driver.press("2", "J")
            assert driver.desk.timeline.event_index == 7
            await driver.press("K")
            assert driver.desk.timeline.event_index == 0

    run(flow())


# Lineage --------------------------------------------------------------------------------------------------------------


def family(root: Path) -> None:
    """A parent with a fork, a fresh and a forked subagent; an orphan; two sessions that are each other's parent."""
    part = [prompt(0, "shared words"), row(1, "turn/end")]
    own = [row(2, "session/end-seed", {}), prompt(3, "own words"), row(4, "turn/end")]
    catalog = row(2, "subagent/catalog", {"version": 1, "childId": "fresh", "mode": "one-shot", "label": "lint"})
    report = said(3, "done", kind="subagent-report", form="relay", senderSessionId="lost")
    store(root, "parent", [*part, catalog, report])
    child: dict[str, Any] = {"parentSession": "parent", "delegationDepth": 1, "origin": "subagent"}
    store(root, "branch", [*part, *own], parentSession="parent", seedLength=2)
    store(root, "fresh", part, **child)
    store(root, "forked", [*part, *own], **child, seedLength=2)
    store(root, "orphan", part, parentSession="gone", delegationDepth=1, origin="subagent")
    store(root, "left", part, parentSession="right")
    store(root, "right", part, parentSession="left")


def test_kinds_of_descent_are_told_apart_in_list_and_lineage(tmp_path: Path, launch: Launch) -> None:
    family(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path, (200, 60)) as driver:
            await driver.indexed()
            await driver.open("parent")
            await driver.until(lambda: driver.desk.lineage_tree.row_count() == 4, "the family is told")
            tree = driver.desk.lineage_tree
            notes = {node.session_id: node.note for number in range(4) if (node := tree.row_at(number)) is not None}
            assert notes == {"parent": "root", "branch": "fork @2, 3+2", "fresh": "sub", "forked": "fsub @2, 3+2"}
            text = driver.text()
            assert "fork: own words" in text or "fork: shared words" in text
            for word in ("fsub: ", "sub: ", "3+2"):
                assert word in text

    run(flow())


def test_the_inherited_prefix_is_one_row_that_opens_and_both_counts_are_told(tmp_path: Path, launch: Launch) -> None:
    family(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("branch")
            timeline = driver.desk.timeline
            assert "own 3, with inherited 5" in edge(driver)
            assert "2 events inherited from parent" in driver.text()
            rows = timeline.row_count()
            timeline.go(0)
            await driver.press("2", "enter")
            await driver.until(lambda: timeline.row_count() == rows + 2, "the prefix is open")

    run(flow())


@pytest.mark.parametrize(
    ("session_id", "sign", "note", "reason"),
    [("orphan", "?", "parent not found", "not under this root"), ("left", "↺", "circle", "circle")],
)
def test_lost_parents_and_circles_are_nodes_with_a_reason(
    tmp_path: Path, launch: Launch, session_id: str, sign: str, note: str, reason: str
) -> None:
    family(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open(session_id)
            tree = driver.desk.lineage_tree
            await driver.until(lambda: tree.row_count() >= 2, "the lineage is told")
            node = tree.row_at(0)
            assert node is not None
            assert (node.sign, node.note) == (sign, note)
            await driver.press("4", "g")
            assert reason in driver.desk.telling._said.text if driver.desk.telling._said else False

    run(flow())


def test_a_log_that_cannot_be_read_is_a_node_with_its_reason(tmp_path: Path, launch: Launch) -> None:
    write(tmp_path, b"", session_id="parent")
    store(tmp_path, "child", [prompt(0, "hello")], parentSession="parent", delegationDepth=1, origin="subagent")

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("child")
            tree = driver.desk.lineage_tree
            await driver.until(lambda: tree.row_count() == 2, "the lineage is told")
            node = tree.row_at(0)
            assert node is not None
            assert (node.sign, node.note, node.session_id) == ("x", "unreadable", "parent")
            assert "empty" in node.reason
            await driver.press("4", "g", "enter")
            await driver.until(lambda: tree.row_count() == 1, "the unreadable session stands alone")

    run(flow())


def test_sessions_that_an_event_names_are_jumps_where_they_exist(tmp_path: Path, launch: Launch) -> None:
    family(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path, (200, 60)) as driver:
            await driver.indexed()
            await driver.open("parent")
            driver.desk.opening.go_seq(3)
            driver.desk.inspecting.tab = Tab.TRACE
            driver.desk.inspecting.show()
            await driver.until(lambda: "sent by lost" in driver.text(), "the sender is named")
            assert "not in this root" in driver.text()
            driver.desk.opening.go_seq(2)
            driver.desk.inspecting.show()
            await driver.until(lambda: "child, says the parent fresh" in driver.text(), "the child is named")
            inspector = driver.desk.inspector
            line = next(at for at, link in inspector.document.links.items() if link.session_id == "fresh")
            inspector.go(line)
            await driver.press("3", "enter")
            await driver.opened("fresh")

    run(flow())


# Behind the damage ----------------------------------------------------------------------------------------------------


def two_writers(root: Path) -> None:
    first = [prompt(seq, f"first {seq}") for seq in range(5)]
    second = [prompt(seq, f"second {seq}") for seq in range(3, 8)]
    store(root, "two", [*first, *second, row(8, "turn/end")])


def test_two_writers_are_two_lanes_and_percent_goes_between_them(tmp_path: Path, launch: Launch) -> None:
    two_writers(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("two")
            text = driver.text()
            assert "5 + 6 withheld = 11 rows · two writers overlap" in edge(driver)
            assert "W 6" in title(driver)
            assert "1· user    first 3" in text
            assert "·2 refused two writers overlap, line 7" in text
            assert "·2 user    second 4" in text
            driver.desk.beyond.go()
            assert driver.desk.timeline.event_index == 5
            await driver.press("2", "percent_sign")
            assert driver.desk.timeline.event_index == 3
            await driver.press("percent_sign")
            assert driver.desk.timeline.event_index == 5

    run(flow())


def test_the_refused_row_and_those_behind_it_are_there_as_they_are_stored(tmp_path: Path, launch: Launch) -> None:
    two_writers(tmp_path)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("two")
            driver.desk.beyond.go()
            inspecting = driver.desk.inspecting
            await driver.until(lambda: "lane 2 of 2" in driver.text(), "the lane is told")
            assert "expected sequence number 5, found 3" in driver.text()
            inspecting.tab = Tab.RAW
            inspecting.show()
            document = driver.desk.inspector
            await driver.until(lambda: '"second 3"' in document.document.copy_text, "the stored line is shown")
            driver.desk.timeline.go(7)
            inspecting.tab = Tab.TEXT
            inspecting.show()
            await driver.until(lambda: "claims the number 5" in driver.text(), "the row says what it claims")

    run(flow())


def test_a_withheld_row_is_put_into_no_turn(tmp_path: Path, launch: Launch) -> None:
    write(tmp_path, frames([header(0, "gap"), row(0), prompt(1, "hi"), row(9, "todo/write", {})]), session_id="gap")

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("gap")
            driver.desk.timeline.go(1)
            await driver.until(lambda: "user/message" in status(driver), "the event is told")
            assert "turn 1" in status(driver)
            driver.desk.beyond.go()
            await driver.until(lambda: "W withheld" in status(driver), "the row is told")
            assert "turn" not in status(driver)

    def status(driver: Driver) -> str:
        return driver.text().splitlines()[-2]

    run(flow())


def test_a_plug_in_event_and_a_missing_citation_are_named_where_they_stand(tmp_path: Path, launch: Launch) -> None:
    cites = row(3, "todo/write", {"todos": []}, sourceEventSeqs=[77])
    rows = [prompt(0, "hi"), row(1, "acme/route"), row(2, "acme/hint", ignorable=True), cites]
    told = {1: "not marked as skippable", 2: "marked as skippable", 3: "does not exist in this log: 77"}
    store(tmp_path, "plug", rows)

    async def flow() -> None:
        async with launch(tmp_path) as driver:
            await driver.indexed()
            await driver.open("plug")
            assert "plug-in event acme/route at 1" in edge(driver)
            for seq, words in told.items():
                driver.desk.opening.go_seq(seq)
                driver.desk.inspecting.show()
                await driver.until(lambda words=words: words in driver.text(), f"event {seq} says {words}")  # type: ignore[misc]

    run(flow())
