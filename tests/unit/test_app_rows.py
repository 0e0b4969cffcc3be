"""Rows of the session list and of the lineage: order, groups, trees, circles."""

from __future__ import annotations

from palimpsest_core.model.header import Header
from palimpsest_core.model.session import LineageNode, SessionRecord, SessionState, SessionSummary, SessionTrace
from palimpsest_tui.widgets.lineage_rows import Compaction, lineage_rows
from palimpsest_tui.widgets.session_rows import Grouping, Sort, arrange


def session(session_id: str, last: int = 0, parent: str | None = None, **fields: object) -> SessionSummary:
    return SessionSummary(
        id=session_id, path=f"/r/{session_id}", state=SessionState.COMPLETE, last_time=last, parent=parent, **fields
    )  # type: ignore[arg-type]


def drawn(sessions: list[SessionSummary], sort: Sort = Sort.ACTIVITY, grouping: Grouping = Grouping.TREE) -> list[str]:
    rows = arrange(sessions, sort, grouping)
    return [f"{row.rail}{row.session.id}" if row.session else f"# {row.heading} {row.sessions}" for row in rows]


def test_a_flat_list_is_sorted_newest_first() -> None:
    assert drawn([session("a", 1), session("b", 3), session("c", 2)], grouping=Grouping.FLAT) == ["b", "c", "a"]


def test_sorting_by_size_and_title() -> None:
    some = [session("a", size=1, title="zeta"), session("b", size=9), session("c", size=5, title="Alpha")]
    assert drawn(some, Sort.SIZE, Grouping.FLAT) == ["b", "c", "a"]
    assert drawn(some, Sort.TITLE, Grouping.FLAT) == ["c", "a", "b"]


def test_projects_have_headings() -> None:
    some = [session("a", 1, project="x"), session("b", 2, project="y"), session("c", 3, project="x")]
    assert drawn(some, grouping=Grouping.PROJECT) == ["# x 2", "c", "a", "# y 1", "b"]


def test_a_tree_stands_where_its_newest_member_would_stand() -> None:
    some = [session("lone", 5), session("root", 1), session("child", 9, "root"), session("grand", 2, "child")]
    assert drawn(some) == ["root", "└ child", "  └ grand", "lone"]


def test_siblings_have_rails() -> None:
    some = [session("root", 1), session("a", 3, "root"), session("b", 2, "root"), session("c", 1, "a")]
    assert drawn(some) == ["root", "├ a", "│ └ c", "└ b"]


def test_a_missing_parent_makes_no_one_vanish() -> None:
    assert drawn([session("a", 1, "gone")]) == ["a"]


def test_sessions_in_a_circle_of_parents_are_listed() -> None:
    some = [session("a", 1, "b"), session("b", 2, "a"), session("c", 3, "c")]
    assert sorted(row.strip("└├│ ") for row in drawn(some)) == ["a", "b", "c"]


def test_two_sessions_of_one_id_are_both_listed() -> None:
    twin = SessionSummary(id="a", path="/other/a", state=SessionState.COMPLETE)
    assert len(drawn([session("a", 1), twin, session("child", 0, "a")])) == 3


def test_a_chain_of_ten_thousand_sessions_is_no_trouble() -> None:
    chain = [session(f"s{number}", number, f"s{number - 1}" if number else None) for number in range(10_000)]
    assert len(drawn(chain)) == 10_000


def record(session_id: str, parent: str | None = None, cut: int | None = None) -> SessionRecord:
    header = Header(version=0, id=session_id, created_at=1, parent_session=parent, seed_length=cut)
    return SessionRecord(header, False, True, inherited_cut=cut)


def node(session_id: str, *children: LineageNode, reason: str | None = None, cut: int | None = None) -> LineageNode:
    return LineageNode(record(session_id, "p", cut), list(children), reason)


def test_a_lineage_shows_branches_cuts_and_compactions() -> None:
    family = SessionTrace(record("root"), [], [node("fork", node("sub"), cut=412), node("other")], True)
    rows = lineage_rows(family, "fork", {}, [Compaction(690, 12, 689, 678)])
    assert [(row.rail, row.sign, row.label, row.note) for row in rows] == [
        ("", "○", "root", "root"),
        ("├ ", "●", "fork", "fork @412"),
        ("│ ├ ", "◌", "@690 compacted", "shadows 12..689"),
        ("│ └ ", "○", "sub", "child"),
        ("└ ", "○", "other", "child"),
    ]


def test_an_unresolved_parent_is_a_node_with_a_reason() -> None:
    family = SessionTrace(record("a", "gone"), [], [], False, unresolved_parent_id="gone")
    first, second = lineage_rows(family, "a", {})
    assert (first.label, first.session_id) == ("gone", None)
    assert first.reason
    assert second.current
