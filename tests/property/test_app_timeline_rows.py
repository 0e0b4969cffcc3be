"""Rows of the timeline: whatever is folded, opened, appended or cut back, every row stands for the right events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_tui.widgets.timeline_rows import (
    BOUNDARY,
    CHUNK,
    HIDDEN,
    SINGLE,
    FoldedRows,
    Singles,
    Span,
    TimelineRows,
)

CLASSES = st.lists(st.sampled_from([HIDDEN, SINGLE, SINGLE, CHUNK, CHUNK, CHUNK, BOUNDARY]), max_size=60).map(bytes)


def expected(classes: bytes, offset: int) -> list[Span]:
    rows: list[list[int]] = []
    before = None
    for place, value in enumerate(classes):
        if value != HIDDEN:
            if value > SINGLE and value == before:
                rows[-1][1] += 1
            else:
                rows.append([place + offset, 1])
        before = value
    return [Span(*row) for row in rows]


def spans(rows: FoldedRows) -> list[Span]:
    return [rows.span(row) for row in range(len(rows))]


@given(CLASSES, st.integers(0, 1000))
def test_runs_fold_and_hidden_events_have_no_row(classes: bytes, offset: int) -> None:
    assert spans(FoldedRows(classes, offset)) == expected(classes, offset)


@given(CLASSES, st.data())
def test_rows_that_grow_equal_rows_of_the_whole(classes: bytes, data: st.DataObject) -> None:
    seam = data.draw(st.integers(0, len(classes)))
    rows = FoldedRows(classes[:seam])
    rows.extend(classes[seam:])
    assert spans(rows) == expected(classes, 0)


@given(CLASSES, CLASSES, st.data())
def test_rows_cut_back_and_grown_again_equal_rows_of_the_whole(old: bytes, new: bytes, data: st.DataObject) -> None:
    seam = data.draw(st.integers(0, len(old)))
    rows = FoldedRows(old)
    rows.cut_back(seam, old[seam - 1] if seam else HIDDEN)
    rows.extend(new)
    assert spans(rows) == expected(old[:seam] + new, 0)


@given(CLASSES)
def test_every_event_is_found_on_the_row_that_holds_it(classes: bytes) -> None:
    rows = FoldedRows(classes)
    for event, value in enumerate(classes):
        row = rows.find(event)
        if value == HIDDEN:
            assert row is None
        else:
            assert row is not None
            start, count = rows.span(row)
            assert start <= event < start + count


@given(CLASSES, st.integers(0, 8), st.data())
def test_opened_folds_close_again_and_rows_keep_their_places(classes: bytes, cut: int, data: st.DataObject) -> None:
    rows = TimelineRows(FoldedRows(classes, cut), FoldedRows(bytes([SINGLE] * cut)) if cut else None, cut)
    closed = [rows.place(row).span for row in range(len(rows))]
    for _ in range(data.draw(st.integers(0, 5))):
        if not len(rows):
            break
        row = data.draw(st.integers(0, len(rows) - 1))
        place = rows.place(row)
        if rows.is_prefix(row):
            rows.open_prefix()
        elif place.span.events > 1:
            rows.open(row, Singles(range(place.span.start, sum(place.span))))
    for row in range(len(rows)):
        place = rows.place(row)
        found = rows.row_of(place.span.start, place.owner)
        assert found is not None
        assert rows.place(found).span.start == place.span.start or rows.is_prefix(found)
    while opened := [row for row in range(len(rows)) if rows.place(row).opened]:
        row = data.draw(st.sampled_from(opened))
        assert rows.close(row) == row
    assert [rows.place(row).span for row in range(len(rows))] == closed


@given(CLASSES)
def test_closing_from_inside_a_fold_comes_back_to_its_row(classes: bytes) -> None:
    rows = TimelineRows(FoldedRows(classes))
    for row in range(len(rows)):
        span = rows.place(row).span
        if span.events > 1:
            rows.open(row, Singles(range(span.start, sum(span))))
            assert rows.close(row + span.events) == row
            assert rows.close(row) is None
