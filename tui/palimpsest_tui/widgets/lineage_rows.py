"""A lineage as rows: ancestors, the session, forks and subagents, with the reason where a branch ends badly. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from palimpsest_core.model.session import Lineage, LineageNode
from palimpsest_tui.widgets import numbers

if TYPE_CHECKING:
    from palimpsest_core.model.session import SessionRecord, SessionSummary, SessionTrace


class LineageRow(NamedTuple):
    """One node. `session_id` and `seq` say where enter goes; `reason` why a node is not a readable session."""

    rail: str
    sign: str
    label: str
    note: str
    session_id: str | None = None
    seq: int | None = None
    reason: str = ""
    current: bool = False


class Compaction(NamedTuple):
    """A replacement inside the open session, shown below it."""

    seq: int
    low: int
    high: int
    events: int


_KIND = {Lineage.FORK: "fork", Lineage.SUBAGENT_FRESH: "sub", Lineage.SUBAGENT_FORKED: "fsub"}


def lineage_rows(
    family: SessionTrace,
    current_id: str,
    known: Mapping[str, SessionSummary],
    compactions: Sequence[Compaction] = (),
) -> list[LineageRow]:
    """The rows of a family, its trace taken at the topmost session that is there; `current_id` is the open one."""
    rows: list[LineageRow] = []
    lead, depth_lead = "", ""
    if family.unresolved_parent_id is not None:
        rows.append(_unresolved(family.unresolved_parent_id, family.reason, known))
        lead, depth_lead = "└ ", "  "
    elif family.reason:
        rows.append(LineageRow("", "?", "", "", reason=family.reason))
        lead, depth_lead = "└ ", "  "
    top = LineageNode(session=family.target, descendants=family.descendants)
    waiting: list[tuple[LineageNode, str, str]] = [(top, lead, depth_lead)]
    while waiting:
        node, rail, below = waiting.pop()
        is_current = node.session.header.id == current_id
        rows.append(_row(node, rail, known, is_current))
        inside = compactions if is_current else ()
        members = node.descendants
        for number, compaction in enumerate(inside):
            last = number == len(inside) - 1 and not members
            rows.append(_compaction(compaction, below + ("└ " if last else "├ "), current_id))
        for number in range(len(members) - 1, -1, -1):
            last = number == len(members) - 1
            waiting.append((members[number], below + ("└ " if last else "├ "), below + ("  " if last else "│ ")))
    return rows


def unreadable_row(session: SessionSummary) -> LineageRow:
    """The only node of a session whose log cannot be read: nothing tells of its family."""
    why = session.reason or "The log cannot be read."
    return LineageRow("", "x", session.id, "unreadable", session_id=session.id, reason=why, current=True)


def _unresolved(parent_id: str, reason: str | None, known: Mapping[str, SessionSummary]) -> LineageRow:
    """The end of the way up: a parent that is not there, cannot be read, or was passed already (a circle)."""
    parent = known.get(parent_id)
    if parent is None:
        why = reason or "The parent is not under this root."
        return LineageRow("", "?", parent_id, "parent not found", reason=why)
    sign, note = ("x", "unreadable") if parent.header is None else ("↺", "circle")
    return LineageRow("", sign, parent_id, note, session_id=parent_id, reason=reason or "")


def _row(node: LineageNode, rail: str, known: Mapping[str, SessionSummary], is_current: bool) -> LineageRow:
    record = node.session
    session_id = record.header.id
    summary = known.get(session_id)
    label = (summary.title if summary is not None else None) or session_id
    return LineageRow(
        rail,
        "●" if is_current else "○",
        label,
        f"{_note(record)}, circle" if node.reason else _note(record),
        session_id=session_id,
        seq=None,
        reason=node.reason or "",
        current=is_current,
    )


def _note(record: SessionRecord) -> str:
    kind = _KIND.get(record.lineage) if record.lineage is not None else None
    if kind is None:
        kind = "fork" if record.header.seeded else "child" if record.header.parent_session else "root"
    if not record.inherited_cut:
        return kind
    note = f"{kind} @{record.inherited_cut}"
    if record.own is None or record.inherited is None:
        return note
    return f"{note}, {numbers.count(record.own)}+{numbers.count(record.inherited)}"


def _compaction(compaction: Compaction, rail: str, session_id: str) -> LineageRow:
    what = f"{compaction.low}..{compaction.high}" if compaction.events > 1 else str(compaction.low)
    return LineageRow(
        rail, "◌", f"@{compaction.seq} compacted", f"shadows {what}", session_id=session_id, seq=compaction.seq
    )
