"""`palimpsest stats`: sessions in numbers, each event counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import cell, plural, table
from palimpsest_tui.cli.corpus import complete_id, find_session, open_engine
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_lines

if TYPE_CHECKING:
    from palimpsest_core import Counts, SessionStatistics, Tokens


@click.command("stats")
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_id)
@shared_options
def command(settings: Settings, session: str | None) -> int:
    """Count events, turns, prompts, answers, tool calls and tokens, of all sessions or of one.

    What a fork took over from its parent counts with the parent; it is told apart. Tokens are what the logs report: a
    part that nobody reported is unknown, and reasoning is part of the output. Every log is read.
    """
    from palimpsest_core import Counts, SessionQueryError, statistics_of, to_json

    found: list[SessionStatistics] = []
    skipped: dict[str, str] = {}
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        only = find_session(engine, as_utf8(session)) if session is not None else None
        rows = [row for row in engine.sessions(cancel) if only is None or row.id == only]
        for number, row in enumerate(sorted(rows, key=lambda row: row.id)):
            say_progress(f"counting {number:,} of {plural(len(rows), 'session')}")
            cancel.raise_if_set()
            try:
                one = statistics_of(row.path, engine.config, cancel) if row.header is not None else None
            except SessionQueryError as error:
                if cancel.is_set():
                    raise
                skipped[row.path] = error.message
                continue
            if one is None:
                skipped[row.path] = row.reason or "It is no session log."
            else:
                found.append(one)
    say_progress("")
    own, inherited = (sum((getattr(one, part) for one in found), Counts()) for part in ("own", "inherited"))
    if settings.json:
        content = {"sessions": to_json(found), "total": to_json(own), "inherited": to_json(inherited)}
        write_json("stats", {**content, "skipped": skipped})
    else:
        write_lines(_lines(len(found), own, inherited))
        for path, reason in skipped.items():
            say(f"not counted: {path}: {reason}")
    return Exit.FINE


def _lines(sessions: int, own: Counts, inherited: Counts) -> list[str]:
    tokens = own.tokens
    rows = [
        ("sessions", f"{sessions:,}", ""),
        ("events", f"{own.events:,}", f"and {inherited.events:,} taken over by forks" if inherited.events else ""),
        ("turns", f"{own.turns:,}", ""),
        ("messages", f"{own.messages:,}", f"{plural(own.prompts, 'prompt')}, {plural(own.answers, 'answer')}"),
        ("tool calls", f"{own.tool_calls:,}", f"{own.failed_calls:,} failed" if own.failed_calls else ""),
        ("tokens", _part(tokens, "total"), _told(own)),
        ("  input", _part(tokens, "input"), ""),
        ("  output", _part(tokens, "output"), ""),
        ("  reasoning", _part(tokens, "reasoning"), "part of the output"),
        ("  cache read", _part(tokens, "cache_read"), ""),
        ("  cache write", _part(tokens, "cache_write"), ""),
    ]
    return list(table([tuple(cell(text) for text in row) for row in rows], right=(1,)))


def _part(tokens: Tokens | None, name: str) -> str:
    count: int | None = getattr(tokens, name, None)
    return "unknown" if count is None else f"{count:,}"


def _told(own: Counts) -> str:
    if not own.silent_answers:
        return f"of {plural(own.requests, 'request')}"
    return f"of {plural(own.requests, 'request')}; {plural(own.silent_answers, 'answer')} without"
