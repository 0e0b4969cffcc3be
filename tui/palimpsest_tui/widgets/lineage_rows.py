"""A lineage as rows: ancestors, the session, forks and subagents, with the reason where a branch ends badly. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from palimpsest_core.model.session import Lineage, LineageNode, SessionRecord, SessionSummary, SessionTrace


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


_KIND = {Lineage.FORK: "fork", Lineage.SUBAGENT_FRESH: "sub", Lineage.SUBAGENT_FORKED: "sub"}


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
        reason = family.reason or "the parent is not in this root"
        rows.append(LineageRow("", "?", family.unresolved_parent_id, "", reason=reason))
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


def _row(node: LineageNode, rail: str, known: Mapping[str, SessionSummary], is_current: bool) -> LineageRow:
    record = node.session
    session_id = record.header.id
    summary = known.get(session_id)
    label = (summary.title if summary is not None else None) or session_id
    return LineageRow(
        rail,
        "●" if is_current else "○",
        label,
        _note(record),
        session_id=session_id,
        seq=None,
        reason=node.reason or "",
        current=is_current,
    )


def _note(record: SessionRecord) -> str:
    kind = _KIND.get(record.lineage) if record.lineage is not None else None
    if kind is None:
        kind = "fork" if record.header.seeded else "sub" if record.header.parent_session else "root"
    if record.inherited_cut:
        return f"{kind} @{record.inherited_cut}"
    return kind


def _compaction(compaction: Compaction, rail: str, session_id: str) -> LineageRow:
    what = f"{compaction.low}..{compaction.high}" if compaction.events > 1 else str(compaction.low)
    return LineageRow(
        rail, "◌", f"compacted @{compaction.seq}", f"shadows {what}", session_id=session_id, seq=compaction.seq
    )
