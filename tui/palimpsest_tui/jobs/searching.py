"""Searching in a worker: pages from the index, or a literal scan over the logs; the first hits are told at once."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import Any, NamedTuple

from palimpsest_core import CancelToken, Engine, ErrorCode, SessionQueryError
from palimpsest_core.model.event import EventDocument
from palimpsest_core.model.search import EventHit, SessionHit
from palimpsest_core.model.session import SessionSummary
from palimpsest_tui.jobs.asking import Tell

PAGE = 100
HITS_MAX = 2_000
MATCHES_MAX = 5_000
_TELL_S = 0.15
_SNIPPET_CHARS = 240


class Ask(NamedTuple):
    """A search: the phrase, the sessions that may answer (None: all) and the filters of events."""

    phrase: str
    literal: bool
    session_ids: list[str] | None
    event_filters: list[dict[str, Any]]

    @property
    def session_filters(self) -> list[dict[str, Any]]:
        """The engine's filters of sessions."""
        return [] if self.session_ids is None else [{"kind": "id", "values": self.session_ids}]


class Hits(NamedTuple):
    """Hits so far. `scanned` of `sessions` are done, `skipped` could not be read, `more` were not asked for."""

    hits: list[SessionHit]
    engine: str
    scanned: int
    sessions: int
    skipped: int
    done: bool
    more: bool = False


def search_index(engine: Engine, ask: Ask, sessions: int, cancel: CancelToken, tell: Tell[Hits]) -> Hits:
    """Ask the index as it is (another process keeps it up to date), page by page."""
    hits: list[SessionHit] = []
    cursor: str | None = None
    provider = "index"
    while True:
        page = engine.search_sessions(
            ask.phrase, ask.session_filters, ask.event_filters, PAGE, cursor, cancel, fresh=False
        )
        hits += page.items
        cursor, provider = page.next_cursor, page.provider_id
        done = cursor is None or len(hits) >= HITS_MAX
        told = Hits(list(hits), provider, sessions, sessions, 0, done, cursor is not None)
        if done:
            return told
        tell(told)


def scan_logs(
    engine: Engine, ask: Ask, sessions: Sequence[SessionSummary], cancel: CancelToken, tell: Tell[Hits]
) -> Hits:
    """Read every log, newest first, and look for the characters themselves."""
    hits: list[SessionHit] = []
    skipped = 0
    told_at = clock.monotonic()
    filters = [*ask.event_filters, {"kind": "text", "text": ask.phrase}]
    for number, session in enumerate(sessions):
        cancel.raise_if_set()
        try:
            found = engine.filter_events(session.id, filters, cancel)
        except SessionQueryError as error:
            if error.code is ErrorCode.ABORTED:
                raise
            skipped += 1
            continue
        if found and session.header is not None:
            best = to_hit(found[-1], ask.phrase)
            hits.append(SessionHit(session.header, session.live, not session.live, best, matches=len(found)))
        if clock.monotonic() - told_at > _TELL_S:
            told_at = clock.monotonic()
            tell(Hits(list(hits), "scan", number + 1, len(sessions), skipped, False))
    return Hits(hits, "scan", len(sessions), len(sessions), skipped, True)


def to_hit(document: EventDocument, phrase: str) -> EventHit:
    """A document of a literal scan as a hit: the text around the first match as its snippet."""
    text = " ".join(document.text.split())
    wanted = " ".join(phrase.split())
    at = max(0, text.casefold().find(wanted.casefold()))
    start = max(0, at - _SNIPPET_CHARS // 3)
    snippet = ("…" if start else "") + text[start : start + _SNIPPET_CHARS]
    return EventHit(document.session_id, document.seq, document.type, document.time, document.surface, snippet)


def matches_in(engine: Engine, session_id: str, ask: Ask, cancel: CancelToken) -> list[int]:
    """The seqs of all matching events of one session, ascending."""
    if ask.literal:
        filters = [*ask.event_filters, {"kind": "text", "text": ask.phrase}]
        return [document.seq for document in engine.filter_events(session_id, filters, cancel)]
    seqs: list[int] = []
    cursor: str | None = None
    while len(seqs) < MATCHES_MAX:
        page = engine.search_events(session_id, ask.phrase, ask.event_filters, PAGE, cursor, cancel, fresh=False)
        seqs += [hit.seq for hit in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    return sorted(set(seqs))
