"""The two trace tools and the event reader: one session or one event, and what belongs to it."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.log.text import registry_for, semantic_text
from palimpsest_core.model.event import UNSET, Event
from palimpsest_core.model.session import LineageNode, SessionTrace
from palimpsest_core.tools.access import QueryEngine, Sight, authorize
from palimpsest_core.tools.times import iso
from palimpsest_core.tools.titles import Titles, read_titles
from palimpsest_core.tools.wording import OUTSIDE, event_line, full_json, name, numbers, quoted, record_line


def trace_session(engine: QueryEngine, sight: Sight, session_id: str, cancel: CancelToken | None) -> str:
    """`session_trace`: the target, its ancestors up to the boundary, its descendants without hidden subtrees."""
    authorize(engine, sight, session_id, cancel)
    trace = engine.trace_session(session_id, cancel)
    sight.require(trace.target.header)
    ancestors, complete = _shown_ancestors(trace, sight)
    rows = list(_shown_descendants(trace.descendants, sight))
    shown = [trace.target.header.id, *ancestors, *(row.session_id for row in rows if row.session_id is not None)]
    titles = read_titles(engine, sight, shown, cancel)
    created = {record.header.id: record.header.created_at for record in trace.ancestors}
    lines = [
        f"session {name(session_id)}",
        titles.line(session_id),
        f"created: {iso(trace.target.header.created_at)}",
        "",
    ]
    lines.append("Ancestors, the nearest first:" if ancestors or not complete else "Ancestors: none")
    lines += [f"- {_described(item, titles, created[item])}" for item in ancestors]
    if not complete:
        lines.append(f"- {OUTSIDE}")
    lines += ["", "Descendants:" if rows else "Descendants: none"]
    for row in rows:
        text = OUTSIDE if row.session_id is None else _described(row.session_id, titles, row.created_at)
        lines.append(f"{'  ' * row.depth}- {text}")
    return "\n".join(lines)


def _described(session_id: str, titles: Titles, created_at: int) -> str:
    return f"{name(session_id)} · {titles.line(session_id)} · created: {iso(created_at)}"


def _shown_ancestors(trace: SessionTrace, sight: Sight) -> tuple[list[str], bool]:
    """Ids from the parent upwards as far as they may be seen, and whether that is all of them."""
    shown: list[str] = []
    for record in trace.ancestors:
        if not sight.allows(record.header):
            return shown, False
        shown.append(record.header.id)
    return shown, trace.complete


class _Row(msgspec.Struct, frozen=True):
    """A line of the tree of descendants; `session_id` is None for a hidden subtree."""

    depth: int
    session_id: str | None = None
    created_at: int = 0


def _shown_descendants(nodes: list[LineageNode], sight: Sight) -> list[_Row]:
    """The forest depth first, one marker for each hidden subtree; iterative, a lineage may be deep."""
    rows: list[_Row] = []
    open_nodes = [(node, 0) for node in reversed(nodes)]
    while open_nodes:
        node, depth = open_nodes.pop()
        header = node.session.header
        if not sight.allows(header):
            rows.append(_Row(depth))
            continue
        rows.append(_Row(depth, header.id, header.created_at))
        open_nodes += [(child, depth + 1) for child in reversed(node.descendants)]
    return rows


def trace_event(engine: QueryEngine, sight: Sight, session_id: str, seq: int, cancel: CancelToken | None) -> str:
    """`session_event_trace`: what replaced an event, what it replaced, what it cites and what cites it."""
    authorize(engine, sight, session_id, cancel)
    trace = engine.trace_event(session_id, seq, cancel)
    sight.require(trace.session)
    titles = read_titles(engine, sight, [session_id], cancel)
    chain = " -> ".join(str(item) for item in trace.replacement_chain)
    return "\n".join(
        [
            f"session {name(session_id)}",
            titles.line(session_id),
            "",
            f"event: {record_line(trace.target)}",
            f"replaced by: {trace.replaced_by if trace.replaced_by is not None else 'nothing'}",
            f"replacement chain: {chain or 'none'}",
            f"replaces: {numbers(trace.replaced_event_seqs)}",
            f"sources it cites: {numbers(trace.source_event_seqs)}",
            f"later events that cite it: {numbers(trace.derived_event_seqs)}",
        ]
    )


def read_event(
    engine: QueryEngine, sight: Sight, session_id: str, arguments: dict[str, Any], cancel: CancelToken | None
) -> str:
    """`session_event_read`: one event as it was logged, and its neighbours in short."""
    authorize(engine, sight, session_id, cancel)
    before, after = arguments.get("before", 0), arguments.get("after", 0)
    window = engine.read_event(session_id, arguments["seq"], before, after, cancel)
    sight.require(window.session)
    titles = read_titles(engine, sight, [session_id], cancel)
    target = window.target["seq"]
    lines = [f"session {name(session_id)}", titles.line(session_id), ""]
    lines += _neighbours(engine, "Before:", [event for event in window.events if event["seq"] < target])
    lines += [f"Event {event_line(window.target)}", full_json(window.target), ""]
    lines += _neighbours(engine, "After:", [event for event in window.events if event["seq"] > target])
    return "\n".join(lines).rstrip("\n")


def _neighbours(engine: QueryEngine, heading: str, events: list[dict[str, Any]]) -> list[str]:
    if not events:
        return []
    registry = registry_for(engine.config.extractors)
    lines = [heading]
    for event in events:
        lines.append(f"- {event_line(event)}")
        text = semantic_text(_event(event), registry)
        if text:
            lines.append(quoted(text, "  "))
    return [*lines, ""]


def _event(raw: dict[str, Any]) -> Event:
    """The event record behind a raw event that the engine gave out."""
    return Event(
        type=raw["type"],
        seq=raw["seq"],
        time=raw["time"],
        data=raw.get("data"),
        surface_op=raw.get("surfaceOp", UNSET),
        source_event_seqs=raw.get("sourceEventSeqs", UNSET),
    )
