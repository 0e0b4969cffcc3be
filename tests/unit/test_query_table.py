"""Columns of a log: what stays readable while a loader appends."""

from __future__ import annotations

import pytest

from palimpsest_core.model.event import Surface
from palimpsest_core.query.table import Columns, EventTable, Flag, Mark


def columns(table: EventTable, *rows: tuple[int, str, int, int]) -> Columns:
    """Rows given as seq, type, mark, flags."""
    return Columns(
        [seq * 10 for seq, *_ in rows],
        [10] * len(rows),
        [0] * len(rows),
        [table.intern_type(kind) for _, kind, *_ in rows],
        [seq for seq, *_ in rows],
        [seq + 1000 for seq, *_ in rows],
        [mark for *_, mark, _ in rows],
        [flags for *_, flags in rows],
    )


@pytest.fixture
def table() -> EventTable:
    table = EventTable()
    table.append(
        columns(
            table,
            (0, "turn/start", Mark.LOG_ONLY, Flag.TURN),
            (1, "user/message", Mark.SHADOWED, Flag.PROMPT),
            (2, "tool/result", Mark.CURRENT, Flag.ERROR),
            (3, "user/message", Mark.CURRENT, Flag.REPLACES),
        )
    )
    return table


def test_a_row_tells_what_a_timeline_line_shows(table: EventTable) -> None:
    row = table.row(1)
    assert (row.index, row.seq, row.time, row.type) == (1, 1, 1001, "user/message")
    assert row.surface is Surface.SHADOWED
    assert row.flags == Flag.PROMPT
    with pytest.raises(IndexError):
        table.row(4)
    with pytest.raises(IndexError):
        table.row(-1)


def test_selections_combine_types_surfaces_and_flags(table: EventTable) -> None:
    assert list(table.select()) == [0, 1, 2, 3]
    assert list(table.select(types=["user/message"])) == [1, 3]
    assert list(table.select(types=["never/seen"])) == []
    assert list(table.select(types=["user/message"], surfaces=[Surface.CURRENT])) == [3]
    assert list(table.select(flags=Flag.ERROR | Flag.PROMPT)) == [1, 2]
    assert list(table.select(flags=Flag.ERROR, surfaces=[Surface.CURRENT], start=1)) == [2]
    assert list(table.select(without=Flag.TURN, stop=2)) == [1]


def test_the_nearest_flagged_row_is_found_both_ways(table: EventTable) -> None:
    assert table.find_flag(Flag.PROMPT | Flag.REPLACES, 2) == 3
    assert table.find_flag(Flag.PROMPT | Flag.REPLACES, 2, -1) == 1
    assert table.find_flag(Flag.PROMPT, 1) == 1
    assert table.find_flag(Flag.PROMPT, 1, -1) == 1
    assert table.find_flag(Flag.PROMPT, 2) is None
    assert table.find_flag(Flag.ERROR, 1, -1) is None
    assert table.find_flag(Flag.TURN, 99, -1) == 0


def test_flags_are_found_across_the_searched_pieces() -> None:
    table = EventTable()
    count = 200_000
    kind = table.intern_type("x")
    zeros = [0] * count
    flags = bytearray(count)
    flags[70_000] = flags[150_000] = Flag.ERROR
    table.append(Columns(zeros, zeros, zeros, [kind] * count, list(range(count)), zeros, zeros, list(flags)))
    assert table.find_flag(Flag.ERROR, 0) == 70_000
    assert table.find_flag(Flag.ERROR, 70_001) == 150_000
    assert table.find_flag(Flag.ERROR, 149_999, -1) == 70_000


def test_counts_are_by_surface(table: EventTable) -> None:
    assert table.counts() == {Surface.LOG_ONLY: 1, Surface.CURRENT: 2, Surface.SHADOWED: 1}


def test_what_a_reader_saw_stays_in_place_when_the_tail_is_rewritten(table: EventTable) -> None:
    table.truncate(2)
    assert len(table) == 2
    assert table.seqs[3] == 3
    table.append(columns(table, (7, "step/end", Mark.LOG_ONLY, 0)))
    assert len(table) == 3
    assert table.row(2).seq == 7
    table.append(columns(table, (8, "turn/end", 0, 0), (9, "turn/start", 0, Flag.TURN)))
    assert [table.row(index).seq for index in range(len(table))] == [0, 1, 7, 8, 9]
    assert table.row(4).type == "turn/start"
