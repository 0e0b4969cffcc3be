"""`palimpsest ls`: the sessions of a root, unreadable and newer ones included with their reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import cell, clock, cut, plural, size, table
from palimpsest_tui.cli.corpus import activity, first_words, open_engine, read_for_a_moment, waiting_logs
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.index import show_progress
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.moments import Moment
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_lines

if TYPE_CHECKING:
    from palimpsest_core import SessionSummary

ORDERS = {
    "activity": activity,
    "created": lambda row: (row.created_at or 0, row.id),
    "size": lambda row: (row.size, row.id),
    "title": lambda row: (title_of(row).casefold(), row.id),
}


SAYS_IT = ("damaged", "unreadable", "newer")
"""States that say by themselves that something is to be said."""

UNREAD = "(not read yet)"
"""Stands where the title of a log is not known; what its beginning tells follows."""

UNREMARKABLE = ("open-turn",)
"""Findings that the state tells already."""


def title_of(row: SessionSummary) -> str:
    """What a row is called: its title, or why it has none."""
    if row.title:
        return row.title
    if row.reason:
        return f"({row.reason})"
    return "(untitled)" if row.indexed else UNREAD


@click.command("ls")
@click.option("--project", metavar="TEXT", help="Only sessions whose project folder holds TEXT.")
@click.option("--since", type=Moment(), help="Only sessions active since then: 2026-01-31, or 3d.")
@click.option("--until", type=Moment(end=True), help="Only sessions created until then.")
@click.option("--roots", is_flag=True, help="Only sessions without a parent.")
@click.option("--sort", type=click.Choice(list(ORDERS)), default="activity", show_default=True)
@click.option("-n", "--limit", type=click.IntRange(min=1), help="At most so many.")
@click.option("--stale", is_flag=True, help="Read no log, not even a new one.")
@shared_options
def command(
    settings: Settings,
    project: str | None,
    since: int | None,
    until: int | None,
    roots: bool,
    sort: str,
    limit: int | None,
    stale: bool,
) -> int:
    """List sessions, the most recently active first.

    New logs are read for two seconds at most (with --json: all of them). Those that were not read yet say so; of a log
    that grew since it was read, the title and the count (`1234…`) are those of then. `palimpsest index` reads them all.
    Exit status 1: the filters leave no session; a root without any is no error.
    """
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        elsewhere = False
        if not stale:
            if settings.json:
                # A program cannot ask again for what is missing.
                elsewhere = engine.refresh(cancel, show_progress).elsewhere
                say_progress("")
            else:
                elsewhere = read_for_a_moment(engine, cancel)
        every = engine.sessions(cancel)
        closed = [] if stale else engine.closed_folders(cancel)
        wanted = as_utf8(project).casefold() if project else None
        rows = [
            row
            for row in every
            if (wanted is None or wanted in (row.project or "").casefold())
            and (since is None or activity(row)[0] >= since)
            and (until is None or (row.created_at or 0) <= until)
            and not (roots and row.parent is not None)
        ]
        rows.sort(key=ORDERS[sort], reverse=sort != "title")
        rows = rows[:limit]
        unread = [] if stale or settings.json else [row for row in rows if title_of(row) == UNREAD]
        words = first_words(engine, unread, cancel)
    waiting = waiting_logs(every)
    if waiting and elsewhere:
        say(f"{plural(waiting, 'log')} not read yet; another process is bringing the index up to date")
    if settings.json:
        from palimpsest_core import to_json

        content = {"sessions": to_json(rows), "complete": not waiting}
        write_json("ls", {**content, **({"closedFolders": to_json(closed)} if closed else {})})
    else:
        write_lines(
            table(
                [_cells(row, words.get(row.path, "")) for row in rows],
                right=(4, 5),
                head=("ID", "STATE", "ACTIVE", "PROJECT", "EVENTS", "SIZE", "TITLE"),
            )
        )
        if any(_state(row).endswith("*") for row in rows):
            say("* something is to be said about it: palimpsest doctor")
        if waiting and not (stale or elsewhere):
            say(f"{plural(waiting, 'log')} not read yet; palimpsest index reads them all")
        if closed:
            say(f"{plural(len(closed), 'folder')} cannot be looked into: palimpsest doctor")
        if not rows:
            say(f"no session matches ({plural(len(every), 'session')} in all)" if every else "no sessions here")
    filtered = roots or not (project is None and since is None and until is None)
    return Exit.NO_MATCH if filtered and not rows else Exit.FINE


def _state(row: SessionSummary) -> str:
    """The state, the format where it is not the oldest, formats that lie beside it, and a star for what is odd."""
    unread = not row.indexed and row.events is None and row.state.value == "complete"
    words = ["unread" if unread else row.state.value]
    if row.generation:
        words.append(f"v{row.generation}")
    if row.generation is not None:  # else no file of it can be read, and none lies beside another
        words += [f"+v{other}" for other in row.generations or () if other != row.generation]
    told = row.state.value in SAYS_IT or all(finding.code.value in UNREMARKABLE for finding in row.findings or ())
    return " ".join(words) + ("" if told else " *")


def _events(row: SessionSummary) -> str:
    """How many events there are; a fork's own and those it took over apart, `16+90`; `…` where it grew since."""
    if row.events is None:
        return "-"
    told = f"{row.own}+{row.inherited}" if row.inherited else str(row.events)
    return told if row.indexed else f"{told}…"


def _cells(row: SessionSummary, words: str) -> tuple[str, ...]:
    return (
        cell(row.id),
        _state(row),
        clock(row.last_time if row.last_time is not None else row.created_at),
        cut(cell(row.project or "-"), 40),
        _events(row),
        size(row.size),
        cell(f"{title_of(row)} {words}" if words else title_of(row)),
    )
