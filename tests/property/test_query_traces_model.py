"""Lineage over random forests, with lost parents and circles among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import LineageNode, SessionRecord
from palimpsest_core.query.traces import trace_session, trace_tolerantly

# Each session names a parent by number; a number without a session is a lost parent.
families = st.lists(st.tuples(st.none() | st.integers(0, 14), st.integers(0, 3)), min_size=1, max_size=12)


def build(family: list[tuple[int | None, int]]) -> list[SessionRecord]:
    return [
        SessionRecord(
            Header(version=0, id=f"s{n}", created_at=time, parent_session=None if parent is None else f"s{parent}"),
            live=False,
            persisted=True,
        )
        for n, (parent, time) in enumerate(family)
    ]


def way_up(records: dict[str, SessionRecord], start: str) -> tuple[list[str], str | None, bool]:
    """Ids passed, the lost parent if any, and whether the way runs in a circle."""
    passed: list[str] = []
    here = start
    while True:
        parent = records[here].header.parent_session
        if parent is None:
            return passed, None, False
        if parent not in records:
            return passed, parent, False
        if parent == start or parent in passed:
            return passed, None, True
        passed.append(parent)
        here = parent


def walk(nodes: list[LineageNode], parent: str) -> list[str]:
    met: list[str] = []
    keys = [(node.session.header.created_at, node.session.header.id) for node in nodes]
    assert [created for created, _ in keys] == sorted(created for created, _ in keys)
    for node in nodes:
        assert node.session.header.parent_session == parent
        met += [node.session.header.id, *walk(node.descendants, node.session.header.id)]
    return met


@given(families, st.data())
def test_a_trace_is_the_way_up_and_everything_below(family: list[tuple[int | None, int]], data: st.DataObject) -> None:
    records = build(family)
    by_id = {record.header.id: record for record in records}
    target = data.draw(st.sampled_from(sorted(by_id)))
    up, lost, circle = way_up(by_id, target)
    tolerant = trace_tolerantly(records, target, {})
    assert [record.header.id for record in tolerant.ancestors] == up
    below = walk(tolerant.descendants, target)
    assert len(below) == len(set(below))
    assert target not in below
    if circle:
        with pytest.raises(SessionQueryError) as caught:
            trace_session(records, target)
        assert caught.value.code is ErrorCode.INVALID_LINEAGE
        return
    trace = trace_session(records, target)
    assert trace.unresolved_parent_id == lost
    assert trace.complete is (lost is None)
    assert [record.header.id for record in trace.ancestors] == up
    expected = {sid for sid in by_id if sid != target and target in way_up(by_id, sid)[0]}
    assert set(walk(trace.descendants, target)) == expected
