"""`palimpsest show`: the events of a session, one line each; or one event in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from palimpsest_tui.cli.columns import BADGES, cell, clock, plural
from palimpsest_tui.cli.corpus import Reference, complete_id, find_session, open_engine, parse_reference
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, SurfaceChoice, as_utf8, shared_options
from palimpsest_tui.cli.output import (
    is_terminal,
    say,
    say_progress,
    write_json,
    write_json_rows,
    write_lines,
    write_stored,
    write_text,
)

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Event, OpenLog, SecondLook

_PROGRESS_S = 0.5


@click.command("show")
@click.argument("reference", metavar="ID[#SEQ]", shell_complete=complete_id)
@click.option("--is", "surfaces", multiple=True, type=SurfaceChoice(), help="Only events in this state.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only events of this type.")
@click.option("-B", "--before", type=click.IntRange(min=0), default=0, help="With #SEQ: so many events before it.")
@click.option("-A", "--after", type=click.IntRange(min=0), default=0, help="With #SEQ: so many events after it.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Stop after so many lines (events).")
@click.option("--pieces", is_flag=True, help="Each streamed piece in a line of its own, not a run of them in one.")
@click.option("--raw", is_flag=True, help="With #SEQ: the stored line, byte for byte (controls escaped on a terminal).")
@shared_options
def command(
    settings: Settings,
    reference: str,
    surfaces: tuple[str, ...],
    types: tuple[str, ...],
    before: int,
    after: int,
    limit: int | None,
    pieces: bool,
    raw: bool,
) -> int:
    """Show a session's events, or one event.

    ID#SEQ names one event; ID#vN:SEQ one in the log of format generation N, where a folder holds several. The letter
    is the surface: C the model sees it now, S it was replaced since, L it is in the log only. A run of streamed pieces
    is one line; --json, --type and --pieces give each of them.
    """
    wanted = parse_reference(as_utf8(reference))
    if raw and wanted.seq is None:
        raise Failure(Exit.USAGE, "--raw shows one event: name it as ID#SEQ")
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        log = engine.open_log(find_session(engine, wanted.session_id), wanted.generation)
        try:
            _load(log, cancel)
            if wanted.seq is None:
                return _show_session(settings, log, _Choice(surfaces, types, limit, pieces or bool(types)))
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


class _Choice(NamedTuple):
    """Which events of a session are shown, and how."""

    surfaces: tuple[str, ...]
    types: tuple[str, ...]
    limit: int | None
    singly: bool


def _load(log: OpenLog, cancel: CancelToken) -> None:
    """Read the whole log: only its end tells what is still on the surface. Long ones show how far that is."""
    shown = monotonic()

    def on_rows(rows: int) -> None:
        nonlocal shown
        if monotonic() - shown > _PROGRESS_S:
            shown = monotonic()
            say_progress(f"reading: {rows:,} events")

    log.load(cancel, on_rows)
    say_progress("")


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
    counts = {surface.value: count for surface, count in log.table.counts().items()}
    counts["log-only"] -= log.rows_withheld  # they are rows of the table, but no events
    parts = [f"{BADGES[surface]} {count:,} {surface}" for surface, count in counts.items()]
    events = len(log) - log.rows_withheld
    rows = f" in {log.rows_shown:,} rows" if log.rows_shown < events else ""
    lines.append(f"events   {events:,}{rows} ({', '.join(parts)}), format v{log.generation}")
    if log.rows_withheld:
        lines.append(f"rows     {log.rows_shown:,} readable, W {log.rows_withheld:,} withheld behind the damage")
    lines += [f"finding  {cell(finding.message)} ({finding.code.value})" for finding in log.findings]
    return lines


def _chosen(log: OpenLog, choice: _Choice) -> Sequence[int]:
    if not choice.surfaces and not choice.types:
        return range(len(log))
    from palimpsest_core import Flag, Surface

    surfaces = {Surface(name) for name in choice.surfaces}
    types = choice.types or None
    if not surfaces:
        return log.table.select(types=types)
    # A withheld row is no event, so it is on no surface and not off it either; all of them follow the events.
    events = log.table.select(surfaces=surfaces, types=types, without=Flag.WITHHELD)
    return events + log.table.select(types=types, flags=Flag.WITHHELD) if Surface.WITHHELD in surfaces else events


def _runs(log: OpenLog, chosen: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The chosen events as (first, how many): streamed pieces that follow each other are one run."""
    from palimpsest_core import Flag

    flags, at, end = log.table.flags, 0, len(chosen)
    while at < end:
        first = at
        at += 1
        if flags[chosen[first]] & Flag.CHUNK and not flags[chosen[first]] & Flag.WITHHELD:
            while at < end and flags[chosen[at]] & Flag.CHUNK and chosen[at] == chosen[at - 1] + 1:
                at += 1
        yield chosen[first], at - first


def _lines(log: OpenLog, chosen: Sequence[int], look: SecondLook | None, *, singly: bool) -> Iterator[str]:
    runs = ((index, 1) for index in chosen) if singly else _runs(log, chosen)
    for index, count in runs:
        if look is not None and index == look.refused:
            reason = look.finding.message if look.finding is not None else "the rows from here on cannot be trusted"
            yield f"    ── {cell(reason)}"
        yield event_line(log, index, _mark(look, index), count)


def _show_session(settings: Settings, log: OpenLog, choice: _Choice) -> int:
    from palimpsest_core import gist, second_look, to_json

    chosen = _chosen(log, choice)
    if settings.json:
        content = {
            "session": to_json(log.header),
            "generation": log.generation,
            "title": to_json(log.title),
            "findings": to_json(log.findings),
        }
        look = second_look(log.table, log.findings)
        rows = ({**to_json(log.record(i)), "gist": gist(log.event(i)).text, **_more(log, look, i)} for i in chosen)
        write_json_rows("show", content, "events", islice(rows, choice.limit))
        return _told_if_none(log, choice, chosen)
    write_lines([*heading(log), ""])
    lines = _lines(log, chosen, second_look(log.table, log.findings), singly=choice.singly)
    write_lines(islice(lines, choice.limit))
    if choice.limit is not None and next(lines, None) is not None:
        say(f"(only the first {plural(choice.limit, 'line')}; -n shows more)")
    return _told_if_none(log, choice, chosen)


def _told_if_none(log: OpenLog, choice: _Choice, chosen: Sequence[int]) -> Exit:
    """ "No match" and a sentence where the options leave no event; a session without events has nothing to match."""
    if len(chosen) or not len(log):
        return Exit.FINE
    absent = [name for name in choice.types if name not in log.table.types]
    if absent:
        named = " or ".join(map(cell, absent))
        say(f"no event of this session has the type {named} (types are full names: tool/result)")
    else:
        say("no event of this session is of that type and state")
    return Exit.NO_MATCH


def _more(log: OpenLog, look: SecondLook | None, index: int) -> dict[str, Any]:
    """What `--json` says more of a call without result and of a row behind the damage."""
    if log.lacks_result(index):
        return {"noResult": True}
    if look is None or not look.refused <= index < look.stop:
        return {}
    return {"withheld": True, **({"lane": look.lane(index)} if look.lane(index) else {})}


def _mark(look: SecondLook | None, index: int) -> str | None:
    """The mark of a row behind the damage: `W`, or the number of the writer it belongs to; None for all others."""
    if look is None or not look.refused <= index < look.stop:
        return None
    return str(look.lane(index) or BADGES["withheld"])


def event_line(log: OpenLog, index: int, mark: str | None = None, count: int = 1) -> str:
    """One event in one line: number, time, surface (or the `mark` of a row that is not trusted), kind and gist.

    `count` above one: so many streamed pieces, of which this is the first.
    """
    from palimpsest_core import gist

    row = log.record(index)
    shown = gist(log.event(index))
    number = str(row.seq) if row.seq >= 0 else "?"
    badge = BADGES[row.surface.value] if mark is None else mark
    if count > 1:
        return f"{number:>6}  {clock(row.time)}  {badge}  {'chunks':<7}  {count:,} pieces  {shown.text}".rstrip()
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
