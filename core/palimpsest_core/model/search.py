"""Search requests, hits and pages (spec: engine contract, section 5)."""

from __future__ import annotations

from typing import Any

from palimpsest_core.model.event import Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.jsonable import Record

WITHHELD_FROM = 1 << 23
"""Hits in withheld rows, which are no events, have this plus the row's line as their number: no log has as many events
and withheld rows too (then those rows are not found)."""


class EventHit(Record, frozen=True):
    """One event that matches, with a plain-text snippet.

    `line` is told of a withheld row only: its place in the decoded text; `seq` is then `WITHHELD_FROM` plus `line`.
    """

    session_id: str
    seq: int
    type: str
    time: int
    surface: Surface
    snippet: str
    line: int | None = None

    @classmethod
    def of(cls, session_id: str, seq: int, type: str, time: Any, surface: Surface, snippet: str) -> EventHit:
        """A hit by its number in the index."""
        line = seq - WITHHELD_FROM if surface is Surface.WITHHELD else None
        return cls(session_id, seq, type, time, surface, snippet, line)


class SessionHit(Record, frozen=True):
    """One session that matches, with its strongest event.

    Only when asked for: `matches` counts its matching events; `shared_with` names the sessions (forks and their forks)
    that carry a copy of that event in their inherited prefix.
    """

    header: Header
    live: bool
    persisted: bool
    best_match: EventHit
    matches: int | None = None
    shared_with: list[str] | None = None


class SessionPage(Record, frozen=True):
    """A page of session hits; `next_cursor` is absent on the last page."""

    provider_id: str
    items: list[SessionHit]
    next_cursor: str | None = None


class EventPage(Record, frozen=True):
    """A page of event hits; it carries the session's header even when empty."""

    provider_id: str
    session: Header
    items: list[EventHit]
    next_cursor: str | None = None


Filter = dict[str, Any]
"""A filter exactly as the caller gave it: `{"kind": "id", "values": [...]}`; checked by `query.filters`."""
