"""Behind the damage: the refused row, its reason, and the lanes of two writers."""

from __future__ import annotations

from pathlib import Path

from logmaking import frames, header, packed, prompt, row, write

from palimpsest_core import FindingCode
from palimpsest_core.query.openlog import OpenLog
from palimpsest_core.query.secondlook import LANE_FIRST, LANE_NONE, LANE_SECOND, SecondLook, second_look


def looked(root: Path, *rows: object) -> tuple[OpenLog, SecondLook]:
    log = OpenLog.start(write(root, frames([header(), *rows])))
    log.load()
    look = second_look(log.table, log.findings)
    assert look is not None
    return log, look


def lanes(log: OpenLog, look: SecondLook) -> list[tuple[int, int]]:
    return [(log.table.seqs[index], look.lane(index)) for index in range(look.refused, look.stop)]


def test_a_sound_log_needs_no_second_look(tmp_path: Path) -> None:
    log = OpenLog.start(write(tmp_path, frames([header(), prompt(0, "a"), row(1, "turn/end")])))
    log.load()
    assert second_look(log.table, log.findings) is None


def test_the_refused_row_carries_its_reason_and_a_gap_has_no_lanes(tmp_path: Path) -> None:
    log, look = looked(tmp_path, prompt(0, "a"), row(5), row(6, "turn/end"))
    assert (look.refused, look.stop) == (1, 3)
    assert look.finding is not None
    assert look.finding.code is FindingCode.SEQUENCE_GAP
    assert not look.two_lanes
    assert lanes(log, look) == [(5, LANE_NONE), (6, LANE_NONE)]


def test_a_second_writer_is_a_second_lane_beside_the_events_it_claims_again(tmp_path: Path) -> None:
    first = [prompt(seq, f"first {seq}") for seq in range(5)]
    second = [prompt(seq, f"second {seq}") for seq in range(3, 8)]
    log, look = looked(tmp_path, *first, *second)
    assert look.finding is not None
    assert look.finding.code is FindingCode.OVERLAPPING_WRITERS
    assert look.contested == range(3, 5)
    assert [look.lane(index) for index in range(5)] == [LANE_NONE] * 3 + [LANE_FIRST] * 2
    assert lanes(log, look) == [(seq, LANE_SECOND) for seq in range(3, 8)]
    assert (look.twin(3), look.twin(5), look.twin(0), look.twin(9)) == (5, 3, None, None)


def test_writers_that_take_turns_are_told_apart_by_the_numbers_they_claim(tmp_path: Path) -> None:
    first = [prompt(seq, "first") for seq in range(5)]
    log, look = looked(tmp_path, *first, row(2), row(5), row(3), row(4), row(6), row(5, "turn/end"), row(20))
    assert lanes(log, look) == [
        (2, LANE_SECOND),
        (5, LANE_FIRST),
        (3, LANE_SECOND),
        (4, LANE_SECOND),
        (6, LANE_FIRST),
        (5, LANE_SECOND),
        (20, LANE_NONE),
    ]
    refused = look.refused
    assert look.twin(refused + 1) == refused + 5


def test_after_a_packed_row_its_writer_may_go_on_at_any_higher_number(tmp_path: Path) -> None:
    first = [prompt(seq, "first") for seq in range(5)]
    log, look = looked(tmp_path, *first, packed(3, ["a", "b", "c", "d"]), row(7), row(8, "turn/end"))
    assert [lane for _, lane in lanes(log, look)] == [LANE_SECOND] * 3


def test_overtaken_closers_are_lanes_too(tmp_path: Path) -> None:
    start = [row(0), row(1, "step/start", {"turn": 1, "step": 1})]
    closers = [
        row(2, "step/end", {"turn": 1, "step": 1}),
        row(3, "turn/end", {"turn": 1, "reason": {"kind": "interrupted"}}),
    ]
    _, look = looked(tmp_path, *start, *closers, row(2, "todo/write", {"todos": []}), row(3, "turn/end"))
    assert look.finding is not None
    assert look.finding.code is FindingCode.OVERLAPPED_REPAIR
    assert look.contested == range(2, 4)
