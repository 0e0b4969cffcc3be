"""`palimpsest doctor`: which logs are damaged, foreign or odd, where exactly, and what can be done."""

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
    from palimpsest_core import Finding, LogHealth

PROBLEMS = ("unreadable", "damaged", "uncertain")
"""What makes the command end with "data problem"; a newer format, another writer's events and leftovers do not."""

REMEDIES = {
    "rescue": "palimpsest rescue {id} --out DIR --write copies what can be read",
    "newer-harness": "a newer harness reads it",
    "plug-in": "the harness needs the plug-in that wrote it",
    "other-file": "the session's other file may hold more",
    "by-hand": "look at the file by hand",
}


@click.command("doctor")
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_id)
@shared_options
def command(settings: Settings, session: str | None) -> int:
    """Say which logs are damaged, foreign or odd, how, and where; of all sessions or of one.

    Reads every log that is new or changed. Ends with 3 if anything is damaged or cannot be read. Logs are never
    mended in place: `palimpsest rescue` writes a copy.
    """
    from palimpsest_core import to_json

    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        only = find_session(engine, as_utf8(session)) if session is not None else None
        engine.refresh(cancel, show_progress)
        say_progress("")
        odd = [item for item in engine.health(cancel) if only is None or item.session_id == only]
        count = 1 if only is not None else len(engine.sessions(cancel))
    problems = [item for item in odd if item.ailment.value in PROBLEMS]
    if settings.json:
        write_json("doctor", {"sessions": count, "problems": len(problems), "logs": to_json(odd)})
    else:
        write_lines(line for item in odd for line in _lines(item))
        write_lines([f"{plural(count, 'session')}: {len(problems)} with problems, {len(odd) - len(problems)} odd"])
    return Exit.DATA if problems else Exit.FINE


def _lines(item: LogHealth) -> list[str]:
    lines = [f"{item.ailment.value}  {cell(item.session_id or '-')}  {cell(item.path)}"]
    lines += [f"    {finding.code.value}: {cell(finding.message)}{_place(finding)}" for finding in item.findings]
    for remedy in item.remedies:
        if remedy.value in REMEDIES:
            lines.append(f"    {cell(REMEDIES[remedy.value].format(id=item.session_id))}")
    return [*lines, ""]


def _place(finding: Finding) -> str:
    places = [
        f"{word} {value:,}"
        for word, value in (("byte", finding.byte_offset), ("line", finding.line), ("seq", finding.seq))
        if value is not None
    ]
    return f" ({', '.join(places)})" if places else ""
