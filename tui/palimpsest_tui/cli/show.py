"""`palimpsest show`: the events of a session, one line each; or one event in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from palimpsest_tui.cli.columns import BADGES, cell, clock, plural
from palimpsest_tui.cli.corpus import Reference, complete_id, find_session, open_engine, parse_reference
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import (
    is_terminal,
    say,
    write_json,
    write_json_rows,
    write_lines,
    write_stored,
    write_text,
)

if TYPE_CHECKING:
    from palimpsest_core import Event, OpenLog, SecondLook


@click.command("show")
@click.argument("reference", metavar="ID[#SEQ]", shell_complete=complete_id)
@click.option("--is", "surfaces", multiple=True, type=click.Choice(list(BADGES)), help="Only events in this state.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only events of this type.")
@click.option("-B", "--before", type=click.IntRange(min=0), default=0, help="With #SEQ: so many events before it.")
@click.option("-A", "--after", type=click.IntRange(min=0), default=0, help="With #SEQ: so many events after it.")
@click.option("--raw", is_flag=True, help="With #SEQ: the stored line, byte for byte (controls escaped on a terminal).")
@shared_options
def command(
    settings: Settings,
    reference: str,
    surfaces: tuple[str, ...],
    types: tuple[str, ...],
    before: int,
    after: int,
    raw: bool,
) -> int:
    """Show a session's events, or one event.

    ID#SEQ names one event; ID#vN:SEQ one in the log of format generation N, where a folder holds several. The letter
    is the surface: C the model sees it now, S it was replaced since, L it is in the log only.
    """
    wanted = parse_reference(as_utf8(reference))
    if raw and wanted.seq is None:
        raise Failure(Exit.USAGE, "--raw shows one event: name it as ID#SEQ")
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        log = engine.open_log(find_session(engine, wanted.session_id), wanted.generation)
        try:
            log.load(cancel)
            if wanted.seq is None:
                return _show_session(settings, log, surfaces, types)
            index = index_of(log, wanted)
            if raw:
                write_stored(log.raw(index) + b"\n")
            elif settings.json:
                _event_json(log, index, before, after)
            else:
                _show_event(log, index, before, after)
        finally:
            log.close()
    return Exit.FINE


def index_of(log: OpenLog, wanted: Reference) -> int:
    """The row of the event that was asked for; none is "no match"."""
    assert wanted.seq is not None
    index = log.index_of_seq(wanted.seq)
    if index is None:
        raise Failure(Exit.NO_MATCH, f"the session has no event {wanted.seq}; it holds {plural(len(log), 'event')}")
    return index


def heading(log: OpenLog) -> list[str]:
    """What is known of a session, in a few lines."""
    header = log.header
    lines = [f"session  {cell(log.session_id)}"]
    title = log.title.title if log.title is not None else log.first_prompt
    if title:
        lines.append(f"title    {cell(title)}")
    if header is not None:
        lines.append(f"project  {cell(header.cwd or '-')}")
        lines.append(f"created  {clock(header.created_at)}")
        if header.parent_session is not None:
            lines.append(f"parent   {cell(header.parent_session)}")
    counts = log.table.counts()
    parts = [f"{BADGES[surface.value]} {count:,} {surface.value}" for surface, count in counts.items()]
    rows = f" in {log.rows_shown:,} rows" if log.rows_shown < len(log) else ""
    lines.append(f"events   {len(log):,}{rows} ({', '.join(parts)}), format v{log.generation}")
    if log.rows_withheld:
        lines.append(f"rows     {log.rows_shown:,} readable, {log.rows_withheld:,} withheld behind the damage")
    lines += [f"finding  {cell(finding.message)} ({finding.code.value})" for finding in log.findings]
    return lines


def _chosen(log: OpenLog, surfaces: tuple[str, ...], types: tuple[str, ...]) -> Iterable[int]:
    if not surfaces and not types:
        return range(len(log))
    return (
        index
        for index in range(len(log))
        if (not surfaces or log.record(index).surface.value in surfaces)
        and (not types or log.table.type_of(index) in types)
    )


def _show_session(settings: Settings, log: OpenLog, surfaces: tuple[str, ...], types: tuple[str, ...]) -> int:
    from palimpsest_core import gist, second_look, to_json

    chosen = _chosen(log, surfaces, types)
    if settings.json:
        content = {
            "session": to_json(log.header),
            "generation": log.generation,
            "title": to_json(log.title),
            "findings": to_json(log.findings),
        }
        look = second_look(log.table, log.findings)
        rows = ({**to_json(log.record(i)), "gist": gist(log.event(i)).text, **_more(log, look, i)} for i in chosen)
        write_json_rows("show", content, "events", rows)
        return Exit.FINE
    write_lines([*heading(log), ""])
    look = second_look(log.table, log.findings)
    for index in chosen:
        if look is not None and index == look.refused:
            reason = look.finding.message if look.finding is not None else "the rows from here on cannot be trusted"
            write_lines([f"    ── {cell(reason)}"])
        write_lines([event_line(log, index, _mark(look, index))])
    return Exit.FINE


def _more(log: OpenLog, look: SecondLook | None, index: int) -> dict[str, Any]:
    """What `--json` says more of a call without result and of a row behind the damage."""
    if log.lacks_result(index):
        return {"noResult": True}
    if look is None or not look.refused <= index < look.stop:
        return {}
    return {"withheld": True, **({"lane": look.lane(index)} if look.lane(index) else {})}


def _mark(look: SecondLook | None, index: int) -> str | None:
    """The mark of a row behind the damage: `?`, or the number of the writer it belongs to; None for all others."""
    if look is None or not look.refused <= index < look.stop:
        return None
    return str(look.lane(index) or "?")


def event_line(log: OpenLog, index: int, mark: str | None = None) -> str:
    """One event in one line: number, time, surface (or the `mark` of a row that is not trusted), kind and gist."""
    from palimpsest_core import gist

    row = log.record(index)
    shown = gist(log.event(index))
    number = str(row.seq) if row.seq >= 0 else "?"
    badge = BADGES[row.surface.value] if mark is None else mark
    note = "  (no result)" if log.lacks_result(index) else ""
    return f"{number:>6}  {clock(row.time)}  {badge}  {shown.label:<7}  {shown.text}{note}".rstrip()


def text_of(event: Event) -> str:
    """What there is to read in an event; its gist where there is no text."""
    from palimpsest_core import full_text, gist

    return full_text(event) or gist(event).text


def _links(log: OpenLog, index: int) -> Iterator[str]:
    seq = log.record(index).seq
    chain = log.replacement_chain(seq)
    if chain:
        yield "replaced by  " + " -> ".join(str(item) for item in chain)
    for name, seqs in (("replaces", log.replaces(seq)), ("cites", log.sources(seq)), ("cited by", log.cited_by(seq))):
        if seqs:
            yield f"{name:<11}  " + ", ".join(_known(log, item) for item in seqs)


def _known(log: OpenLog, seq: int) -> str:
    return str(seq) if log.index_of_seq(seq) is not None else f"{seq} (no such event)"


def _show_event(log: OpenLog, index: int, before: int, after: int) -> None:
    first, last = max(index - before, 0), min(index + after, len(log) - 1)
    if first < index:
        write_lines([*(event_line(log, i) for i in range(first, index)), ""])
    row = log.record(index)
    write_lines([f"{cell(log.session_id)}#{row.seq}  {cell(row.type)}  {row.surface.value}  {clock(row.time)}"])
    if log.lacks_result(index):
        write_lines(["no result was recorded for this call"])
    write_lines(_links(log, index))
    write_lines([""])
    write_text(text_of(log.event(index)))
    if index < last:
        write_lines(["", *(event_line(log, i) for i in range(index + 1, last + 1))])
    if is_terminal():
        say("(--raw shows the stored line, --json the event as JSON)")


def _event_json(log: OpenLog, index: int, before: int, after: int) -> None:
    from palimpsest_core import event_json, to_json

    row = log.record(index)
    content: dict[str, Any] = {
        "session": to_json(log.header),
        "record": to_json(row),
        "event": event_json(log.event(index)),
        "replacementChain": log.replacement_chain(row.seq),
        "replacedEventSeqs": log.replaces(row.seq),
        "sourceEventSeqs": log.sources(row.seq),
        "derivedEventSeqs": log.cited_by(row.seq),
    }
    if before or after:
        window = range(max(index - before, 0), min(index + after, len(log) - 1) + 1)
        content["window"] = [event_json(log.event(i)) for i in window]
    write_json("show", content)
