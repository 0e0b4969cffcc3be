"""`palimpsest search`: a literal phrase in all sessions, or in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from palimpsest_tui.cli.columns import BADGES, cell, clock, plural
from palimpsest_tui.cli.corpus import complete_id, find_session, left_to_another, open_engine
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.index import show_progress
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.moments import Moment
from palimpsest_tui.cli.options import Settings, SurfaceChoice, as_utf8, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_lines

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, EventHit, EventPage, SessionHit, SessionPage

Page = TypeVar("Page", bound="SessionPage | EventPage")


class Asked(NamedTuple):
    """What was asked for, in the engine's terms."""

    phrase: str
    session_filters: list[dict[str, Any]]
    event_filters: list[dict[str, Any]]
    limit: int
    complete: bool | None
    """Whether the index holds all that can be read; None: nobody looked."""


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--in", "within", metavar="ID", shell_complete=complete_id, help="Only in this session: every event that matches."
)
@click.option("--project", metavar="TEXT", help="Only sessions whose project folder holds TEXT.")
@click.option("--parent", metavar="ID", shell_complete=complete_id, help="Only direct children of this session.")
@click.option("--roots", is_flag=True, help="Only sessions without a parent.")
@click.option("--since", type=Moment(), help="Only events since then: 2026-01-31, or 3d.")
@click.option("--until", type=Moment(end=True), help="Only events until then.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only events of this type, such as tool/result.")
@click.option("--is", "surfaces", multiple=True, type=SurfaceChoice(), help="Only events in this state (repeatable).")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many hits.")
@click.option("--stale", is_flag=True, help="Search the index as it is; do not look for changed logs first.")
@shared_options
def command(
    settings: Settings,
    query: tuple[str, ...],
    within: str | None,
    project: str | None,
    parent: str | None,
    roots: bool,
    since: int | None,
    until: int | None,
    types: tuple[str, ...],
    surfaces: tuple[str, ...],
    limit: int,
    stale: bool,
) -> int:
    """Find QUERY, a literal phrase (several words are one phrase; operators have no meaning).

    Over all sessions: the best event of each session, the session with most matches in one event first. The letter
    before a hit is its surface: C the model sees it now, S it was replaced since, L it is in the log only.
    """
    phrase, event_filters = as_utf8(" ".join(query)), _event_filters(since, until, types, surfaces)
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        complete: bool | None = None
        if not stale:
            done = engine.refresh(cancel, show_progress)
            failed, waiting = done.failed, left_to_another(engine, done, cancel)
            complete = not waiting
            say_progress("")
            if waiting:
                say(
                    f"another process is bringing the index up to date, {plural(waiting, 'log')} not read yet: "
                    "results may be incomplete"
                )
            if failed:
                say(
                    f"{plural(len(failed), 'log')} cannot be read and {'is' if len(failed) == 1 else 'are'} left out "
                    "(palimpsest doctor says why)"
                )
        session_filters = _session_filters(engine, project, parent, roots, cancel)
        asked = Asked(phrase, session_filters, event_filters, limit, complete)
        if within is not None:
            return _in_session(settings, engine, find_session(engine, as_utf8(within)), asked, cancel)
        return _everywhere(settings, engine, asked, cancel)


def _session_filters(
    engine: Engine, project: str | None, parent: str | None, roots: bool, cancel: CancelToken
) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = []
    if project is not None:
        wanted = as_utf8(project).casefold()
        known = {row.project for row in engine.sessions(cancel, fresh=False) if row.project is not None}
        filters.append({"kind": "cwd", "values": sorted(name for name in known if wanted in name.casefold())})
    if parent is not None:
        filters.append({"kind": "parent", "values": [find_session(engine, as_utf8(parent))]})
    if roots:
        filters.append({"kind": "parent", "values": [None]})
    return filters


def _event_filters(
    since: int | None, until: int | None, types: tuple[str, ...], surfaces: tuple[str, ...]
) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = []
    bounds = {key: value for key, value in (("from", since), ("to", until)) if value is not None}
    if bounds:
        filters.append({"kind": "time", **bounds})
    if types:
        filters.append({"kind": "type", "values": [as_utf8(item) for item in types]})
    if surfaces:
        filters.append({"kind": "surface", "values": list(surfaces)})
    return filters


def _collect(fetch: Callable[[str | None], Page], limit: int) -> tuple[list[Any], bool]:
    """Up to `limit` hits over as many pages as that takes, and whether there are more."""
    hits: list[Any] = []
    cursor: str | None = None
    while len(hits) < limit:
        page = fetch(cursor)
        hits += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    return hits[:limit], cursor is not None or len(hits) > limit


def _everywhere(settings: Settings, engine: Engine, asked: Asked, cancel: CancelToken) -> int:
    from palimpsest_core import to_json

    size = min(asked.limit, engine.config.max_limit)

    def fetch(cursor: str | None) -> SessionPage:
        return engine.search_sessions(
            asked.phrase, asked.session_filters, asked.event_filters, size, cursor, cancel, fresh=False
        )

    hits, more = _collect(fetch, asked.limit)
    if settings.json:
        content = {"query": asked.phrase, "hits": to_json(hits), "more": more}
        write_json("search", {**content, "complete": asked.complete})
    else:
        titles = {row.id: row.title for row in engine.sessions(cancel, fresh=False)}
        write_lines(line for hit in hits for line in _session_lines(hit, titles.get(hit.header.id)))
        _conclude(engine, asked, len(hits), more, "session")
    return Exit.FINE if hits else Exit.NO_MATCH


def _in_session(settings: Settings, engine: Engine, session_id: str, asked: Asked, cancel: CancelToken) -> int:
    from palimpsest_core import to_json

    size = min(asked.limit, engine.config.max_limit)

    def fetch(cursor: str | None) -> EventPage:
        return engine.search_events(session_id, asked.phrase, asked.event_filters, size, cursor, cancel, fresh=False)

    hits, more = _collect(fetch, asked.limit)
    if settings.json:
        content = {"query": asked.phrase, "session": session_id, "hits": to_json(hits), "more": more}
        write_json("search", {**content, "complete": asked.complete})
    else:
        write_lines(_event_line(hit) for hit in hits)
        _conclude(engine, asked, len(hits), more, "event")
    return Exit.FINE if hits else Exit.NO_MATCH


def _session_lines(hit: SessionHit, title: str | None) -> list[str]:
    head = f"{cell(hit.header.id)}  {clock(hit.header.created_at)}  {cell(hit.header.cwd or '-')}"
    lines = [f"{head}  {cell(title)}" if title else head, f"    {_event_line(hit.best_match)}"]
    if hit.shared_with:
        # A fork carries its parent's history: the hit is listed where it was born.
        lines.append(f"      also in {cell(', '.join(hit.shared_with))}")
    return lines


def _event_line(hit: EventHit) -> str:
    badge = BADGES[hit.surface.value]
    # A withheld row is no event: its number only names it, its line tells where it stands.
    place = f"{hit.seq}" if hit.line is None else f"{hit.seq} (line {hit.line:,})"
    return f"{badge} {cell(hit.session_id)}#{place}  {cell(hit.type)}  {clock(hit.time)}  {cell(hit.snippet)}"


def _conclude(engine: Engine, asked: Asked, count: int, more: bool, what: str) -> None:
    from palimpsest_core import LABELS, Matcher

    if count == 0:
        words = Matcher(engine.config.tokenizer).phrase(asked.phrase).tokens
        named = [name for entry in asked.event_filters if entry["kind"] == "type" for name in entry["values"]]
        unknown = [cell(name) for name in named if name not in LABELS]
        if not words:
            say("nothing matches: the query holds no word, only marks")
        elif unknown:
            say(f"nothing matches: no type is known as {' or '.join(unknown)} (types are full names: tool/result)")
        else:
            say("nothing matches")
    elif more:
        say(f"the best {plural(count, what)}; there are more (-n shows more)")
