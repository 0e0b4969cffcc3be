"""`palimpsest doctor`: which logs are damaged, foreign or odd, what exactly, where, and how much can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import cell, plural
from palimpsest_tui.cli.corpus import complete_id, find_session, open_engine
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.index import show_progress
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import say_progress, write_json, write_lines

if TYPE_CHECKING:
    from palimpsest_core import Finding, SessionSummary

NOTES = {"open-turn", "dangling-parent", "left-temporary-file", "generation-divergence", "twin-encoding"}
"""Findings that tell something and are no damage: they do not make the command end with "data problem"."""


@click.command("doctor")
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_id)
@shared_options
def command(settings: Settings, session: str | None) -> int:
    """Say which logs are damaged, foreign or odd, how, and where; of all sessions or of one.

    Reads every log that is new or changed. Ends with 3 if anything is damaged or cannot be read.
    """
    from palimpsest_core import to_json

    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        only = find_session(engine, as_utf8(session)) if session is not None else None
        engine.refresh(cancel, show_progress)
        say_progress("")
        rows = [row for row in engine.sessions(cancel) if only is None or row.id == only]
    odd = [row for row in rows if row.findings or row.reason]
    damaged = [row for row in odd if row.reason or any(item.code.value not in NOTES for item in row.findings or ())]
    if settings.json:
        write_json("doctor", {"sessions": len(rows), "damaged": len(damaged), "findings": to_json(odd)})
    else:
        write_lines(line for row in odd for line in _lines(row))
        write_lines([f"{plural(len(rows), 'session')}: {len(damaged)} damaged, {len(odd) - len(damaged)} odd"])
    return Exit.DATA if damaged else Exit.FINE


def _lines(row: SessionSummary) -> list[str]:
    lines = [f"{cell(row.id)}  {row.state.value}  {cell(row.path)}"]
    if row.reason:
        lines.append(f"    {cell(row.reason)}")
    lines += [f"    {finding.code.value}: {cell(finding.message)}{_place(finding)}" for finding in row.findings or ()]
    return [*lines, ""]


def _place(finding: Finding) -> str:
    places = [
        f"{word} {value:,}"
        for word, value in (("byte", finding.byte_offset), ("line", finding.line), ("seq", finding.seq))
        if value is not None
    ]
    return f" ({', '.join(places)})" if places else ""
