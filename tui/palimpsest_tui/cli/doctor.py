"""`palimpsest doctor`: which logs are damaged, foreign or odd, where exactly, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from palimpsest_tui.cli.columns import cell, plural
from palimpsest_tui.cli.corpus import complete_id, find_session, open_engine
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.index import show_progress
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import say_progress, write_json, write_lines

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, Finding, LogHealth, RowCounts, SessionSummary

    _Told = TypeVar("_Told", LogHealth, SessionSummary)

PROBLEMS = ("unreadable", "damaged", "uncertain", "diverging")
"""What makes the command end with "data problem"; a newer format, another writer's events and leftovers do not."""

COUNTED = ("damaged", "uncertain")
"""Where it is worth reading a log through to say how many of its rows can be read."""

NOTES = ("dangling-parent", "missing-attachment", "lineage-cycle")
"""Findings about sound logs that are told all the same."""

REMEDIES = {
    "rescue": "palimpsest rescue {id} --out DIR --write copies what can be read",
    "newer-harness": "a newer harness reads it",
    "plug-in": "the harness needs the plug-in that wrote it",
    "other-file": "the session's other file may hold more",
    "by-hand": "look at the file by hand",
}


@click.command("doctor")
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_id)
@click.option("--attachments", is_flag=True, help="Read every log for images and files that are gone, too.")
@shared_options
def command(settings: Settings, session: str | None, attachments: bool) -> int:
    """Say which logs are damaged, foreign or odd, how, and where; of all sessions or of one.

    Reads every log that is new or changed. Attachments that are gone are looked for in the logs of one session, or
    with --attachments. Ends with 3 if anything is damaged or cannot be read. Logs are never mended in place:
    `palimpsest rescue` writes a copy.
    """
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        only = find_session(engine, as_utf8(session)) if session is not None else None
        engine.refresh(cancel, show_progress)
        say_progress("")
        odd = [item for item in engine.health(cancel) if only is None or item.session_id == only]
        rows = [row for row in engine.sessions(cancel) if only is None or row.id == only]
        counts = {item.path: _counts(engine, item, cancel) for item in odd if item.ailment.value in COUNTED}
        looked_into = engine.logs_of(only) if only is not None else rows if attachments else []
        gone = _gone(engine, looked_into, cancel)
    odd = [_with(item, gone.get(item.path)) for item in odd]
    problems = [item for item in odd if item.ailment.value in PROBLEMS]
    told = {item.path for item in odd}
    files = {row.path: _with(row, gone.get(row.path)) for row in (*looked_into, *rows)}
    noted = [row for path, row in files.items() if path not in told and _notes(row)]
    if settings.json:
        _write_json(len(rows), len(problems), odd, counts, noted)
    else:
        write_lines(line for item in odd for line in _lines(item, counts.get(item.path)))
        write_lines(line for row in noted for line in _note_lines(row))
        others = len(odd) - len(problems) + len(noted)
        write_lines([f"{plural(len(rows), 'session')}: {len(problems)} with problems, {others} odd"])
    return Exit.DATA if problems else Exit.FINE


def _counts(engine: Engine, item: LogHealth, cancel: CancelToken) -> RowCounts | None:
    from palimpsest_core import ErrorCode, SessionQueryError

    try:
        return engine.row_counts(item.path, cancel)
    except SessionQueryError as error:
        if error.code is ErrorCode.ABORTED:
            raise
        return None


def _gone(engine: Engine, rows: Sequence[SessionSummary], cancel: CancelToken) -> dict[str, list[Finding]]:
    """The attachments of these logs that are no longer there; a log that cannot be read has said so elsewhere."""
    from palimpsest_core import ErrorCode, SessionQueryError

    found: dict[str, list[Finding]] = {}
    for number, row in enumerate(rows):
        if len(rows) > 1:
            say_progress(f"attachments of {number + 1:,} of {plural(len(rows), 'log')}")
        try:
            found[row.path] = engine.missing_attachments(row.path, cancel)
        except SessionQueryError as error:
            if error.code is ErrorCode.ABORTED:
                raise
    say_progress("")
    return found


def _with(told: _Told, more: list[Finding] | None) -> _Told:
    """The same log with more findings."""
    from msgspec.structs import replace

    findings: list[Finding] = list(told.findings or ())
    return replace(told, findings=findings + more) if more else told


def _notes(row: SessionSummary) -> list[Finding]:
    return [finding for finding in row.findings or () if finding.code.value in NOTES]


def _write_json(
    sessions: int,
    problems: int,
    odd: list[LogHealth],
    counts: dict[str, RowCounts | None],
    noted: list[SessionSummary],
) -> None:
    from palimpsest_core import to_json

    logs = []
    for item in odd:
        log = to_json(item)
        if (rows := counts.get(item.path)) is not None:
            log["rows"] = to_json(rows)
        logs.append(log)
    notes = [{"sessionId": row.id, "path": row.path, "findings": to_json(_notes(row))} for row in noted]
    write_json("doctor", {"sessions": sessions, "problems": problems, "logs": logs, "notes": notes})


def _lines(item: LogHealth, rows: RowCounts | None) -> list[str]:
    lines = [f"{item.ailment.value}  {cell(item.session_id or '-')}  {cell(item.path)}"]
    lines += [_line(finding) for finding in item.findings]
    if rows is not None:
        lines.append(f"    {plural(rows.shown, 'row')} readable, {rows.withheld} withheld")
    for remedy in item.remedies:
        if remedy.value in REMEDIES:
            lines.append(f"    {cell(REMEDIES[remedy.value].format(id=item.session_id))}")
    return [*lines, ""]


def _note_lines(row: SessionSummary) -> list[str]:
    return [f"note  {cell(row.id)}  {cell(row.path)}", *map(_line, _notes(row)), ""]


def _line(finding: Finding) -> str:
    return f"    {finding.code.value}: {cell(finding.message)}{_place(finding)}"


def _place(finding: Finding) -> str:
    places = [
        f"{word} {value:,}"
        for word, value in (("byte", finding.byte_offset), ("line", finding.line), ("seq", finding.seq))
        if value is not None
    ]
    return f" ({', '.join(places)})" if places else ""
