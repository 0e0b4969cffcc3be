"""The words of the health screen, the lanes of the timeline, and how the list tells kinds of descent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palimpsest_core import Event, Finding, FindingCode, LogHealth, Remedy, RowCounts
from palimpsest_core.model.header import Header
from palimpsest_core.model.health import Ailment
from palimpsest_core.model.session import Lineage, SessionRecord, SessionState, SessionSummary, SessionTrace
from palimpsest_tui.flows.telling import session_facts
from palimpsest_tui.jobs.health import beside, unfit_root
from palimpsest_tui.widgets.badges import mark_of
from palimpsest_tui.widgets.health_rows import chief, health_rows, name_of, place, report, rows_told, what
from palimpsest_tui.widgets.lanes import raw_gist
from palimpsest_tui.widgets.lineage_rows import lineage_rows, unreadable_row
from palimpsest_tui.widgets.session_list import counted, kind_of

GAP = Finding(FindingCode.SEQUENCE_GAP, "Five are missing.", "/r/log", line=52, seq=50)
OPEN = Finding(FindingCode.OPEN_TURN, "It ends inside a turn.", "/r/log")
NEWER = Finding(FindingCode.UNSUPPORTED_VERSION, "Newer.", "/r/new", line=1)


def health(*findings: Finding, ailment: Ailment = Ailment.DAMAGED, path: str = "/r/log", **more: Any) -> LogHealth:
    return LogHealth(path, ailment, list(findings), [Remedy.RESCUE], **more)


def session(**more: Any) -> SessionSummary:
    values: dict[str, Any] = {"id": "s", "path": "/r/s", "state": SessionState.COMPLETE, **more}
    return SessionSummary(**values)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"generation": 3, "generations": [3]}, "s  v3"),
        ({"generation": 2, "generations": [2, 10]}, "s  v2, beside it v10"),
        ({"generation": None, "generations": [0]}, "s"),
        ({"generation": 0, "findings": [GAP, OPEN, GAP]}, "s  v0  sequence gap  open turn"),
        (
            {"id": "\x1b[1m", "parent": "gone\x07", "findings": [Finding(FindingCode.DANGLING_PARENT, "")]},
            "␛[1m  parent not found: gone␇",
        ),
    ],
)
def test_what_a_line_of_the_list_has_no_room_for_is_told_of_the_session_under_the_cursor(
    more: dict[str, Any], told: str
) -> None:
    assert "".join(part for part, _ in session_facts(session(**more))) == told


def test_logs_stand_under_a_heading_for_each_kind_the_worst_first() -> None:
    newer = health(NEWER, ailment=Ailment.NEWER, path="/r/new")
    damaged = health(GAP)
    rows = health_rows([newer, damaged])
    assert [(row.health, row.logs) for row in rows] == [(None, 1), (damaged, 0), (None, 1), (newer, 0)]
    assert rows[0].heading.startswith("damaged")
    assert "damaged" not in rows[2].heading


def test_what_where_and_how_much_are_told_in_words() -> None:
    told = health(OPEN, GAP, session_id="s", title="A \x1b[31mtitle")
    assert chief(told) is GAP
    assert what(told) == "sequence gap"
    assert place(GAP) == "line 52 · seq 50"
    assert "\x1b" not in name_of(told)
    assert rows_told(RowCounts(50, 10)) == "50 shown + 10 withheld = 60 rows in the file"
    assert rows_told(RowCounts(50, 10), short=True) == "50 + 10"
    assert rows_told(None) == "…"


def test_a_report_holds_path_findings_rows_and_what_can_be_done() -> None:
    text = report(health(GAP, session_id="s"), {"/r/log": RowCounts(50, 10)})
    for part in ("/r/log", "sequence-gap (line 52 · seq 50): Five are missing.", "60 rows", "new root"):
        assert part in text


def test_a_rescued_log_never_goes_into_the_root_it_came_from(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "file").write_bytes(b"")
    link = tmp_path / "link"
    for inside in (root, root / "below", link, link / "x", tmp_path / "file", Path("relative")):
        assert unfit_root(root, inside)
    assert unfit_root(root, beside(root)) == ""
    assert beside(root).parent == tmp_path


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({}, " "),
        ({"findings": [OPEN]}, " "),
        ({"findings": [Finding(FindingCode.UNKNOWN_REQUIRED_EVENT, "acme/route")]}, "?"),
        ({"generations": [2, 10]}, "?"),
        ({"generations": [0, 3]}, " "),
        ({"state": SessionState.NEWER, "findings": [NEWER]}, "^"),
        ({"state": SessionState.DAMAGED, "findings": [GAP]}, "!"),
    ],
)
def test_the_list_marks_what_is_odd_and_leaves_notes_alone(changes: dict[str, Any], mark: str) -> None:
    assert mark_of(session(**changes)) == mark


@pytest.mark.parametrize(
    ("own", "inherited", "shown"),
    [(15, 90, "15+90"), (106, None, "106"), (1500, 900, "1.5k+"), (0, 6, "0+6"), (None, None, "106")],
)
def test_the_list_counts_own_events_and_inherited_ones_apart(own: int, inherited: int, shown: str) -> None:
    assert counted(session(events=106, own=own, inherited=inherited)) == shown


@pytest.mark.parametrize(
    ("lineage", "word"),
    [
        (Lineage.ORDINARY, ""),
        (Lineage.FORK, "fork: "),
        (Lineage.SUBAGENT_FRESH, "sub: "),
        (Lineage.SUBAGENT_FORKED, "fsub: "),
        (None, ""),
    ],
)
def test_a_session_is_named_by_how_it_came_to_be(lineage: Lineage | None, word: str) -> None:
    assert kind_of(session(lineage=lineage)) == word


def test_a_parent_that_cannot_be_read_can_be_gone_to_and_one_that_is_not_there_cannot() -> None:
    record = SessionRecord(Header(version=0, id="a", created_at=1, parent_session="up"), False, True)
    trace = SessionTrace(record, [], [], False, unresolved_parent_id="up", reason="why")
    lost, _ = lineage_rows(trace, "a", {})
    assert (lost.sign, lost.note, lost.session_id, lost.reason) == ("?", "parent not found", None, "why")
    unreadable = session(id="up", state=SessionState.UNREADABLE, reason="It is empty.")
    there, _ = lineage_rows(trace, "a", {"up": unreadable})
    assert (there.sign, there.note, there.session_id) == ("x", "unreadable", "up")
    assert unreadable_row(unreadable).reason == "It is empty."


def test_a_packed_raw_row_tells_which_numbers_it_claims() -> None:
    packed = Event("text-chunks", 95, 0, {"texts": ["a", "b\x1b", "c"]})
    label, text = raw_gist(packed)
    assert label == "chunks"
    assert text.startswith("claims 95 to 97: ab")
    assert "\x1b" not in text
    assert raw_gist(Event("turn/start", 3, 0, {"turn": 1})).text == "turn 1 starts"
    assert raw_gist(Event("text-chunks", 3, 0, "nonsense")).label == "other"
