"""Lineage: who came from whom, and where the way up ends."""

from __future__ import annotations

import pytest

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import LineageNode, SessionRecord
from palimpsest_core.query.traces import trace_session, trace_tolerantly


def record(session_id: str, parent: str | None = None, created_at: int = 0) -> SessionRecord:
    return SessionRecord(Header(version=0, id=session_id, created_at=created_at, parent_session=parent), False, True)


def tree(nodes: list[LineageNode]) -> list[object]:
    return [(node.session.header.id, tree(node.descendants)) for node in nodes]


def refused(records: list[SessionRecord], session_id: str) -> SessionQueryError:
    with pytest.raises(SessionQueryError) as caught:
        trace_session(records, session_id)
    return caught.value


def test_a_lineage_names_ancestors_nearest_first_and_descendants_as_a_forest() -> None:
    records = [
        record("leaf", "mid"),
        record("mid", "root"),
        record("root"),
        record("twig", "leaf"),
        record("other", "root"),
    ]
    trace = trace_session(records, "mid")
    assert [item.header.id for item in trace.ancestors] == ["root"]
    assert tree(trace.descendants) == [("leaf", [("twig", [])])]
    assert trace.complete
    assert trace.root == record("root")


def test_a_session_without_parent_is_its_own_root() -> None:
    assert trace_session([record("a")], "a").root == record("a")


def test_children_stand_by_creation_then_by_id() -> None:
    records = [record("r"), record("B", "r", 1), record("a", "r", 1), record("z", "r", 0)]
    assert tree(trace_session(records, "r").descendants) == [("z", []), ("a", []), ("B", [])]


def test_an_absent_parent_is_named() -> None:
    trace = trace_session([record("a", "gone"), record("b", "a")], "b")
    assert not trace.complete
    assert trace.unresolved_parent_id == "gone"
    assert trace.root is None


def test_a_circle_on_the_way_up_is_refused_by_the_id_where_it_closes() -> None:
    records = [record("a", "b"), record("b", "c"), record("c", "b"), record("free")]
    error = refused(records, "a")
    assert error.code is ErrorCode.INVALID_LINEAGE
    assert '"b"' in error.message
    assert refused(records, "c").code is ErrorCode.INVALID_LINEAGE
    assert trace_session(records, "free").complete


def test_an_absent_session_is_not_found() -> None:
    assert refused([], "a").code is ErrorCode.SESSION_NOT_FOUND


def test_people_get_a_reason_where_the_strict_trace_refuses() -> None:
    records = [record("a", "b"), record("b", "a"), record("c", "bad"), record("d", "gone")]
    circle = trace_tolerantly(records, "a", {})
    assert [item.header.id for item in circle.ancestors] == ["b"]
    assert circle.unresolved_parent_id == "a"
    assert circle.reason is not None
    assert "circle" in circle.reason
    assert tree(circle.descendants) == [("b", [])]
    assert circle.descendants[0].reason is not None
    unreadable = trace_tolerantly(records, "c", {"bad": "its header is torn"})
    assert unreadable.reason == "The parent's log cannot be read: its header is torn"
    assert trace_tolerantly(records, "d", {}).reason is not None


def test_a_chain_of_fifty_thousand_sessions_is_traced_and_printed() -> None:
    count = 50_000
    records = [record(str(n), str(n - 1) if n else None, n) for n in range(count)]
    assert len(trace_session(records, str(count - 1)).ancestors) == count - 1
    shown = trace_session(records, "0").as_json()
    depth = 0
    while shown["descendants"]:
        shown = shown["descendants"][0]
        depth += 1
    assert depth == count - 1


def test_a_cancelled_trace_stops() -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(SessionQueryError) as caught:
        trace_session([record("a", "b"), record("b")], "a", cancel)
    assert caught.value.code is ErrorCode.ABORTED
