"""`palimpsest trace`: the family of a session as a tree, or the links of an event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import BADGES, cell, clock
from palimpsest_tui.cli.corpus import (
    Reference,
    complete_id,
    find_session,
    open_engine,
    parse_reference,
    read_for_a_moment,
)
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import write_json, write_lines
from palimpsest_tui.cli.show import event_line, index_of

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, LineageNode, SessionSummary, SessionTrace


@click.command("trace")
@click.argument("reference", metavar="ID[#SEQ]", shell_complete=complete_id)
@shared_options
def command(settings: Settings, reference: str) -> int:
    """Show a session's family as a tree, or an event's links.

    A session: its ancestors, then its forks and subagents. An event (ID#SEQ): what replaced it, what it replaced,
    what it cites and what cites it.
    """
    wanted = parse_reference(as_utf8(reference))
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        session_id = find_session(engine, wanted.session_id)
        if wanted.seq is not None:
            return _trace_event(settings, engine, wanted._replace(session_id=session_id), cancel)
        read_for_a_moment(engine, cancel)
        trace = engine.lineage(session_id, cancel)
        if settings.json:
            write_json("trace", {"trace": trace.as_json()})
        else:
            known = {row.id: row for row in engine.sessions(cancel)}
            write_lines(_tree(trace, known))
    return Exit.FINE


def _tree(trace: SessionTrace, known: dict[str, SessionSummary]) -> Iterator[str]:
    """The way down from the oldest ancestor to the session, then everything below it."""
    depth = 0
    if trace.unresolved_parent_id is not None:
        yield f"? {cell(trace.unresolved_parent_id)}  (not in this root)"
        depth = 1
    if trace.reason:
        yield f"? {cell(trace.reason)}"
        depth = 1
    for record in reversed(trace.ancestors):
        yield "  " * depth + _name(record.header.id, known)
        depth += 1
    yield "  " * depth + "* " + _name(trace.target.header.id, known)
    # Depth first without recursion: a chain of subagents may be long.
    open_nodes = [(node, depth + 1) for node in reversed(trace.descendants)]
    while open_nodes:
        node, level = open_nodes.pop()
        yield "  " * level + _node(node, known)
        open_nodes += [(child, level + 1) for child in reversed(node.descendants)]


def _name(session_id: str, known: dict[str, SessionSummary]) -> str:
    row = known.get(session_id)
    title = (row.title or row.reason or "") if row is not None else ""
    kind = f"  {row.lineage.value}" if row is not None and row.lineage is not None else ""
    return f"{cell(session_id)}{kind}  {cell(title)}".rstrip()


def _node(node: LineageNode, known: dict[str, SessionSummary]) -> str:
    return _name(node.session.header.id, known) + (f"  ({cell(node.reason)})" if node.reason else "")


def _trace_event(settings: Settings, engine: Engine, wanted: Reference, cancel: CancelToken) -> int:
    from palimpsest_core import to_json

    log = engine.open_log(wanted.session_id, wanted.generation)
    try:
        log.load(cancel)
        index = index_of(log, wanted)
        record = log.record(index)
        links = {
            "replacementChain": log.replacement_chain(record.seq),
            "replacedEventSeqs": log.replaces(record.seq),
            "sourceEventSeqs": log.sources(record.seq),
            "derivedEventSeqs": log.cited_by(record.seq, cancel),
        }
        if settings.json:
            write_json("trace", {"session": to_json(log.header), "target": to_json(record), **links})
            return Exit.FINE
        lines = [
            f"{cell(log.session_id)}#{record.seq}  {cell(record.type)}  "
            f"{BADGES[record.surface.value]} {record.surface.value}  {clock(record.time)}"
        ]
        names = ("replaced by", "replaces", "cites", "cited by")
        for name, seqs in zip(names, links.values(), strict=True):
            lines.append(f"{name}:" if seqs else f"{name}: nothing")
            for seq in seqs:
                place = log.index_of_seq(seq)
                lines.append(f"  {event_line(log, place)}" if place is not None else f"  {seq:>6}  no such event")
        write_lines(lines)
    finally:
        log.close()
    return Exit.FINE
