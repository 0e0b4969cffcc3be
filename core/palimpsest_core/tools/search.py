"""The two search tools: pages followed inside, hits checked one by one, one cap, one deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import EventHit, EventPage, SessionHit, SessionPage
from palimpsest_core.tools.access import QueryEngine, Sight, authorize, visible
from palimpsest_core.tools.arguments import Span, check_lists, check_query, seq_span, time_span
from palimpsest_core.tools.errors import ToolError, ToolErrorCode, failed, unauthorized
from palimpsest_core.tools.times import iso
from palimpsest_core.tools.titles import Titles, read_titles
from palimpsest_core.tools.wording import OUTSIDE, hit_line, name, one_line

Page = TypeVar("Page", SessionPage, EventPage)

STALE_TRIES = 3
"""How often a search starts anew when the logs under it changed between two pages: the caller's own log grows."""


@contextmanager
def deadline(milliseconds: int, cancel: CancelToken | None) -> Iterator[CancelToken]:
    """A token that is set when `cancel` is, or when the time is up (then the block fails with `TIMED_OUT`)."""
    inner = CancelToken()
    timed_out = threading.Event()

    def expire() -> None:
        timed_out.set()
        inner.set()

    timer = threading.Timer(milliseconds / 1000, expire)
    timer.daemon = True
    timer.start()
    try:
        if cancel is None:
            yield inner
        else:
            with cancel.on_set(inner.set):
                yield inner
    except SessionQueryError as error:
        if error.code is ErrorCode.ABORTED and timed_out.is_set() and not (cancel is not None and cancel.is_set()):
            message = f"The search took longer than {milliseconds} ms; make the query more specific."
            raise ToolError(ToolErrorCode.TIMED_OUT, message) from error
        raise
    finally:
        timer.cancel()


def _pages(fetch: Callable[[str | None], Page]) -> Iterator[Page]:
    """Every page of a search; a cursor that comes a second time is an error, not an endless loop."""
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        page = fetch(cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            raise RuntimeError("the search gave the same cursor twice")
        seen.add(cursor)


def _fresh(collect: Callable[[], Any]) -> Any:
    """Collect over one state of the logs: start again when they changed between two pages."""
    tries = STALE_TRIES
    while True:
        tries -= 1
        try:
            return collect()
        except SessionQueryError as error:
            if error.code is ErrorCode.CORRUPT_SESSION:
                # A stored log never ends a search like this, only a live event without the text that its type promises.
                raise failed() from error
            if error.code is not ErrorCode.STALE_CURSOR or not tries:
                raise


def _values(kind: str, values: list[str] | None) -> list[dict[str, Any]]:
    return [] if values is None else [{"kind": kind, "values": values}]


def search_sessions(
    engine: QueryEngine, sight: Sight, arguments: dict[str, Any], most: int, cancel: CancelToken
) -> str:
    """`session_search`: the strongest event of each other session of the workspace that holds the phrase."""
    if sight.cwd is None:
        raise unauthorized()
    query = check_query(arguments)
    check_lists(arguments)
    seq = seq_span(arguments, "event_seq_from", "event_seq_to")
    created = time_span(arguments, "created_at_from", "created_at_to")
    time = time_span(arguments, "event_time_from", "event_time_to")
    parents = _parent_filter(engine, sight, arguments, cancel)
    if parents is None or seq.empty or created.empty or time.empty:
        return _session_answer([], False, {}, Titles({}, {}), sight)
    session_filters = [
        {"kind": "cwd", "values": [sight.cwd]},
        *_values("id", arguments.get("session_ids")),
        *created.filters("created-at"),
        *parents,
        *_values("availability", arguments.get("availability")),
    ]
    event_filters = [
        *seq.filters("seq"),
        *time.filters("time"),
        *_values("type", arguments.get("event_types")),
        *_values("surface", arguments.get("event_surfaces")),
    ]
    limit = min(engine.config.max_limit, most + 2)

    def collect() -> tuple[list[SessionHit], bool]:
        hits: list[SessionHit] = []

        def fetch(cursor: str | None) -> SessionPage:
            return engine.search_sessions(query, session_filters, event_filters, limit, cursor, cancel)

        for page in _pages(fetch):
            for hit in page.items:
                if hit.header.id == sight.session_id or not sight.allows(hit.header):
                    continue
                if len(hits) == most:
                    return hits, True
                hits.append(hit)
        return hits, False

    hits, capped = _fresh(collect)
    parent_ids = [hit.header.parent_session for hit in hits if hit.header.parent_session is not None]
    known = visible(engine, sight, parent_ids, cancel)
    titles = read_titles(engine, sight, [hit.header.id for hit in hits], cancel)
    return _session_answer(hits, capped, known, titles, sight)


def _parent_filter(
    engine: QueryEngine, sight: Sight, arguments: dict[str, Any], cancel: CancelToken
) -> list[dict[str, Any]] | None:
    """The filter for the parents asked for, authorised first; None when none is left that may be asked for."""
    roots = arguments.get("include_root_sessions", False)
    asked: list[str] | None = arguments.get("parent_session_ids")
    if asked is None:
        return [{"kind": "parent", "values": [None]}] if roots else []
    allowed: list[str | None] = [*visible(engine, sight, asked, cancel)]
    if roots:
        allowed.append(None)
    return [{"kind": "parent", "values": allowed}] if allowed else None


def _session_answer(
    hits: list[SessionHit], capped: bool, known: dict[str, Header], titles: Titles, sight: Sight
) -> str:
    if not hits:
        return "No other session of the workspace matches."
    lines = [f"{len(hits)} {'session matches' if len(hits) == 1 else 'sessions match'}, the best first."]
    for number, hit in enumerate(hits, 1):
        header = hit.header
        parent = "none"
        if header.parent_session is not None:
            shown = header.parent_session in known or header.parent_session == sight.session_id
            parent = name(header.parent_session) if shown else OUTSIDE
        where = [word for word, there in (("live", hit.live), ("persisted", hit.persisted)) if there]
        lines += [
            "",
            f"{number}. session {name(header.id)}",
            f"   {titles.line(header.id)}",
            f"   created: {iso(header.created_at)}",
            f"   parent: {parent}",
            f"   availability: {', '.join(where) or 'none'}",
            f"   best match: {hit_line(hit.best_match)}",
            f"   snippet: {one_line(hit.best_match.snippet)}",
        ]
    if capped:
        lines += ["", _cap(len(hits), "sessions")]
    return "\n".join(lines)


def _cap(count: int, what: str) -> str:
    return f"Cap reached: these are the {count} best {what}; there are more. Narrow the query to see others."


def search_events(
    engine: QueryEngine, sight: Sight, session_id: str, arguments: dict[str, Any], most: int, cancel: CancelToken
) -> str:
    """`session_event_search`: the events of one session that hold the phrase.

    In the caller's own session the search ends before the step that calls (its last `step/start`), so that the call
    cannot find itself.
    """
    authorize(engine, sight, session_id, cancel)
    query = check_query(arguments)
    seq = seq_span(arguments, "seq_from", "seq_to")
    if session_id == sight.session_id:
        end = _before_current_step(engine, session_id, cancel)
        seq = Span(seq.low, end if seq.high is None else min(seq.high, end))
    check_lists(arguments)
    time = time_span(arguments, "time_from", "time_to")
    titles = read_titles(engine, sight, [session_id], cancel)
    if seq.empty or time.empty or (seq.high is not None and seq.high < 0):
        return _event_answer(session_id, [], False, titles)
    filters = [
        *seq.filters("seq"),
        *time.filters("time"),
        *_values("type", arguments.get("event_types")),
        *_values("surface", arguments.get("surfaces")),
    ]
    limit = min(engine.config.max_limit, most + 1)

    def collect() -> tuple[list[EventHit], bool]:
        hits: list[EventHit] = []

        def fetch(cursor: str | None) -> EventPage:
            return engine.search_events(session_id, query, filters, limit, cursor, cancel)

        for page in _pages(fetch):
            sight.require(page.session)
            for hit in page.items:
                if len(hits) == most:
                    return hits, True
                hits.append(hit)
        return hits, False

    hits, capped = _fresh(collect)
    return _event_answer(session_id, hits, capped, titles)


def _before_current_step(engine: QueryEngine, session_id: str, cancel: CancelToken) -> int:
    """The last sequence number before the caller's last step, whether or not that step was closed since."""
    starts = [record.seq for record in engine.list_events(session_id, cancel) if record.type == "step/start"]
    if not starts:
        message = "The caller's session has no step yet, so nothing lies before the current one."
        raise ToolError(ToolErrorCode.NO_CURRENT_STEP, message)
    return starts[-1] - 1


def _event_answer(session_id: str, hits: list[EventHit], capped: bool, titles: Titles) -> str:
    lines = [f"session {name(session_id)}", titles.line(session_id)]
    if not hits:
        return "\n".join([*lines, "", "No event matches."])
    lines += ["", f"{len(hits)} {'event matches' if len(hits) == 1 else 'events match'}, the best first."]
    for number, hit in enumerate(hits, 1):
        lines += ["", f"{number}. {hit_line(hit)}", f"   snippet: {one_line(hit.snippet)}"]
    if capped:
        lines += ["", _cap(len(hits), "events")]
    return "\n".join(lines)
