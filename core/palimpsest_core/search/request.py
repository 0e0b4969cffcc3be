"""Search requests: checked in the documented order and brought to one form (engine contract, section 5).

The order of checks is: session id, session filters, event filters, the cursor's type, query, limit. What needs the
corpus (an absent session, the cursor's content, the predicate budget of strict mode) is checked later.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jstext import squeeze, well_formed
from palimpsest_core.model.config import Config
from palimpsest_core.query.filters import Clause, Range, Values, parse_event_filters, parse_session_filters
from palimpsest_core.search.cursor import invalid_cursor
from palimpsest_core.search.literal import Literal, parse_literal

ABSENT = msgspec.UNSET
"""An argument that was not given at all; a `cursor` of None is a wrong one, not an absent one."""

_STRICT_PREDICATES = 14
_STRICT_VALUES = 32_750


class SearchRequest(msgspec.Struct, frozen=True):
    """A checked request. `session_id` None searches the corpus, one hit a session; else the events of that session.

    `query` is squeezed and encodable; `limit` is in range; `cursor` is text or None. `digest` names the request: equal
    for requests that a cursor may travel between (reordered filters or values, an explicit default limit).
    """

    query: str
    session_filters: tuple[Clause, ...]
    event_filters: tuple[Clause, ...]
    limit: int
    cursor: str | None
    digest: bytes
    session_id: str | None = None


class ScanRequest(msgspec.Struct, frozen=True):
    """A checked literal scan over the corpus."""

    literal: Literal
    session_filters: tuple[Clause, ...] = ()
    event_filters: tuple[Clause, ...] = ()


def literal_scan(text: Any, session_filters: Any = None, event_filters: Any = None, *, config: Config) -> ScanRequest:
    """A checked literal scan: `text` anywhere, in any letter case. Raises `INVALID_FILTER` or `INVALID_QUERY`."""
    sessions = parse_session_filters(_given(session_filters), optional=True)
    events = parse_event_filters(_given(event_filters), optional=True, text=False, withheld=config.mode != "strict")
    return ScanRequest(parse_literal(text), tuple(sessions), tuple(events))


def session_search(
    query: Any,
    session_filters: Any = None,
    event_filters: Any = None,
    limit: Any = None,
    cursor: Any = ABSENT,
    *,
    config: Config,
) -> SearchRequest:
    """A checked corpus search. Raises `INVALID_FILTER`, `INVALID_CURSOR`, `INVALID_QUERY` or `INVALID_LIMIT`."""
    sessions = parse_session_filters(_given(session_filters), optional=True)
    events = parse_event_filters(_given(event_filters), optional=True, text=False, withheld=config.mode != "strict")
    return _request(None, query, sessions, events, limit, cursor, config)


def event_search(
    session_id: Any, query: Any, filters: Any = None, limit: Any = None, cursor: Any = ABSENT, *, config: Config
) -> SearchRequest:
    """A checked search in one session. Raises as `session_search`; a session id that is no text is `INVALID_FILTER`."""
    if not isinstance(session_id, str):
        raise SessionQueryError(ErrorCode.INVALID_FILTER, "The session id must be text.")
    events = parse_event_filters(_given(filters), optional=True, text=False, withheld=config.mode != "strict")
    return _request(session_id, query, [], events, limit, cursor, config)


def _given(value: Any) -> Any:
    return None if value is ABSENT else value


def _request(
    session_id: str | None,
    raw_query: Any,
    sessions: list[Clause],
    events: list[Clause],
    raw_limit: Any,
    cursor: Any,
    config: Config,
) -> SearchRequest:
    if cursor is ABSENT:
        cursor = None
    elif not isinstance(cursor, str):
        raise invalid_cursor()
    query = normal_query(raw_query)
    limit = _limit(raw_limit, config)
    digest = _digest(session_id, query, sessions, events, limit)
    return SearchRequest(query, tuple(sessions), tuple(events), limit, cursor, digest, session_id)


def normal_query(raw: Any) -> str:
    """The query trimmed and squeezed, lone surrogates as U+FFFD. Raises `INVALID_QUERY`."""
    if not isinstance(raw, str):
        raise SessionQueryError(ErrorCode.INVALID_QUERY, "The query must be text.")
    query = squeeze(raw)
    if not query:
        raise SessionQueryError(ErrorCode.INVALID_QUERY, "The query must hold more than whitespace.")
    if "\0" in query:
        raise SessionQueryError(ErrorCode.INVALID_QUERY, "The query must not hold a NUL character.")
    return well_formed(query)


def _limit(raw: Any, config: Config) -> int:
    value = _given(raw)
    if value is None:
        return config.default_limit
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= config.max_limit:
        raise SessionQueryError(
            ErrorCode.INVALID_LIMIT, f"The limit must be an integer between 1 and {config.max_limit}."
        )
    return value


def _digest(session_id: str | None, query: str, sessions: list[Clause], events: list[Clause], limit: int) -> bytes:
    canonical = [session_id, query, limit, *([_canonical(clauses) for clauses in (sessions, events)])]
    return hashlib.blake2b(json.dumps(canonical).encode("ascii"), digest_size=16).digest()


def _canonical(clauses: list[Clause]) -> list[str]:
    """Clauses as text in an order of their own: neither their order nor that of their values matters."""
    out = []
    for clause in clauses:
        if isinstance(clause, Values):
            body: list[Any] = sorted(clause.values, key=lambda value: (value is not None, value or ""))
        elif isinstance(clause, Range):
            body = [clause.low, clause.high]
        else:
            body = [clause.text]
        out.append(json.dumps([clause.kind, body]))
    return sorted(out)


def check_strict_budget(request: SearchRequest) -> None:
    """The reference's bound on a search's size, kept in strict mode only. Raises `INVALID_FILTER`.

    A list counts one predicate, each bound of a range one, both availabilities together none, and the session of a
    search within one session one.
    """
    predicates = 0 if request.session_id is None else 1
    values = 0
    for clause in (*request.session_filters, *request.event_filters):
        if isinstance(clause, Range):
            predicates += (clause.low is not None) + (clause.high is not None)
        elif isinstance(clause, Values) and not (clause.kind == "availability" and len(set(clause.values)) == 2):
            predicates += 1
            values += len(clause.values)
    if predicates > _STRICT_PREDICATES or values > _STRICT_VALUES:
        raise SessionQueryError(ErrorCode.INVALID_FILTER, "The filters are too many for one search.")
