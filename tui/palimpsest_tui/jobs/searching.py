"""Searching in a worker: pages from the index, or a literal scan; the first hits are told at once."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from palimpsest_core import SessionQueryError
from palimpsest_core.model.event import Surface
from palimpsest_core.model.search import EventHit, SessionHit

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, OpenLog
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.jobs.asking import Tell
    from palimpsest_tui.jobs.seeking import Seeker
    from palimpsest_tui.searching.resolve import ToolWord

HITS_MAX = 2_000
MATCHES_MAX = 5_000
_TELL_S = 0.15


class Ask(NamedTuple):
    """A search: the phrase, the sessions that may answer (None: all) and the filters of events."""

    phrase: str
    literal: bool
    session_ids: list[str] | None
    event_filters: list[dict[str, Any]]
    tools: tuple[ToolWord, ...] = ()
    """Tools that a matching event must be a call or a result of, or must not be."""

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


def search_index(seeker: Seeker, ask: Ask, sessions: int, skipped: int, cancel: CancelToken, tell: Tell[Hits]) -> Hits:
    """Ask the index, page by page. It knows nothing of the `skipped` logs, which cannot be read."""
    hits: list[SessionHit] = []
    cursor: str | None = None
    while True:
        page = seeker.sessions(ask.phrase, ask.session_filters, ask.event_filters, cursor, cancel)
        found = [_narrowed(seeker, ask, hit, cancel) for hit in page.items] if ask.tools else page.items
        hits += [hit for hit in found if hit is not None]
        cursor = page.next_cursor
        done = cursor is None or len(hits) >= HITS_MAX
        told = Hits(list(hits), page.provider_id, sessions, sessions, skipped, done, cursor is not None)
        if done:
            return told
        tell(told)


def _narrowed(seeker: Seeker, ask: Ask, hit: SessionHit, cancel: CancelToken) -> SessionHit | None:
    """A session's hit among the events of the tools that are asked for; the index knows no names of tools."""
    passes = _tool_test(seeker, ask, hit.header.id, cancel)
    found = [event for event in _events(seeker, hit.header.id, ask, cancel) if passes(event.seq)]
    if not found:
        return None
    best = hit.best_match if passes(hit.best_match.seq) else found[0]
    return msgspec.structs.replace(hit, best_match=best, matches=len(found), shared_with=None)


def _tool_test(seeker: Seeker, ask: Ask, session_id: str, cancel: CancelToken) -> Callable[[int], bool]:
    """Tells of an event's number whether the tools that are asked for let it pass."""
    sets = [(seeker.events_of_tool(session_id, word.name, cancel), word.negated) for word in ask.tools]
    return lambda seq: all((seq in seqs) is not negated for seqs, negated in sets)


def _events(seeker: Seeker, session_id: str, ask: Ask, cancel: CancelToken) -> Iterator[EventHit]:
    """The hits of one session, the best first, as far as they are counted."""
    cursor: str | None = None
    while True:
        page = seeker.events(session_id, ask.phrase, ask.event_filters, cursor, cancel)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


class _Gathered:
    """The hits of a scan, one line a session with its latest match."""

    def __init__(self, known: Mapping[str, SessionSummary], sessions: int) -> None:
        self._known = known
        self._sessions = sessions
        self._hits: dict[str, SessionHit] = {}
        self._scanned = 0
        self._told_at = clock.monotonic()

    def add(self, found: list[EventHit], scanned: int) -> bool:
        """Take some hits. Whether it is time to tell."""
        self._scanned = min(scanned, self._sessions)
        for hit in found:
            session = self._known.get(hit.session_id)
            if session is None or session.header is None:
                continue
            before = self._hits.get(hit.session_id)
            matches = 1 + (before.matches or 0 if before is not None else 0)
            self._hits[hit.session_id] = SessionHit(session.header, session.live, not session.live, hit, matches)
        now = clock.monotonic()
        due = now - self._told_at > _TELL_S
        if due:
            self._told_at = now
        return due

    def hits(self, *, done: bool) -> Hits:
        """What there is so far."""
        return Hits(
            list(self._hits.values()), "scan", self._sessions if done else self._scanned, self._sessions, 0, done
        )


def scan_logs(
    seeker: Seeker, ask: Ask, known: Mapping[str, SessionSummary], sessions: int, cancel: CancelToken, tell: Tell[Hits]
) -> Hits:
    """Look for the characters themselves in everything that is indexed."""
    gathered = _Gathered(known, sessions)
    tests: dict[str, Callable[[int], bool]] = {}

    def passes(hit: EventHit) -> bool:
        if hit.session_id not in tests:
            tests[hit.session_id] = _tool_test(seeker, ask, hit.session_id, cancel)
        return tests[hit.session_id](hit.seq)

    def on_hits(found: list[EventHit], scanned: int, total: int) -> None:
        del total
        if ask.tools:
            found = [hit for hit in found if passes(hit)]
        if gathered.add(found, scanned):
            try:
                tell(gathered.hits(done=False))
            except SessionQueryError:
                return  # taken back meanwhile; the scan itself ends by its token

    seeker.scan(ask.phrase, ask.session_filters, ask.event_filters, on_hits, cancel)
    return gathered.hits(done=True)


def matches_in(seeker: Seeker, session_id: str, ask: Ask, cancel: CancelToken) -> list[int]:
    """The seqs of all matching events of one session, ascending."""
    seqs: list[int] = []
    if ask.literal:
        only = [{"kind": "id", "values": [session_id]}]
        seeker.scan(
            ask.phrase, only, ask.event_filters, lambda found, *_: seqs.extend(hit.seq for hit in found), cancel
        )
    else:
        seqs += [hit.seq for hit in islice(_events(seeker, session_id, ask, cancel), MATCHES_MAX)]
    if ask.tools:
        seqs = list(filter(_tool_test(seeker, ask, session_id, cancel), seqs))
    return sorted(set(seqs))


def matches_without_header(log: OpenLog, ask: Ask, tokenizer: str, cancel: CancelToken) -> list[int]:
    """The numbers of the matching rows of an open log without header, ascending.

    Such a file is no session, so the index holds nothing of it: its rows, all withheld, are looked through here.
    """
    if any(not word.negated for word in ask.tools):
        return []
    from palimpsest_core import Matcher, literal_pattern

    pattern, matcher = literal_pattern(ask.phrase), Matcher(tokenizer)
    phrase = matcher.phrase(ask.phrase)
    found: list[int] = []
    for index in range(len(log)):
        cancel.raise_if_set()
        row = log.row(index)
        if not all(_passes(each, row.type, row.time) for each in ask.event_filters):
            continue
        text = log.withheld_text(index)
        if pattern is not None and pattern.search(text) if ask.literal else matcher.first(phrase, text) is not None:
            found.append(log.number_at(index))
    return found


def _passes(event_filter: dict[str, Any], kind: str, time: int) -> bool:
    """Whether a withheld row passes an event filter; it has no number that a filter could mean."""
    match event_filter["kind"]:
        case "type":
            return kind in event_filter["values"]
        case "surface":
            return Surface.WITHHELD in event_filter["values"]
        case "time":
            return bool(event_filter.get("from", time) <= time <= event_filter.get("to", time))
    return False
