"""The built-in provider gives, page for page, what a slow model written from the contract gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plainprovider import PlainProvider

from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.jsonable import to_json
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.fts5 import ranking, searcher, spans
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.provider import IndexGrowth, IndexSnapshot, SearchProvider
from palimpsest_core.search.request import ABSENT, event_search, session_search

WORDS = ["aa", "bb", "AA", "é", "E", "x1", "搜索", "_", '"', "*", "NEAR", "\0", "\ufdd0", "\ud800", "😀", "aa aa"]
GAPS = [" ", "  ", "\n", "-", "\u00a0", ".", "\ufeff"]
TEXT = st.lists(st.sampled_from(["aa", "bb"]) | st.sampled_from(WORDS), min_size=1, max_size=9).flatmap(
    lambda words: st.lists(st.sampled_from(GAPS), min_size=len(words), max_size=len(words)).map(
        lambda gaps: "".join(word + gap for word, gap in zip(words, gaps)).strip()
    )
)
TYPES = ["user/message", "tool/call", "x"]
SURFACES = ["current", "shadowed", "log-only"]
DOCUMENT = st.tuples(st.sampled_from(TYPES), st.integers(0, 3), st.sampled_from(SURFACES), TEXT)
SESSION = st.tuples(
    st.sampled_from(["/p", "/q", None]), st.integers(0, 2), st.lists(DOCUMENT, max_size=5), st.booleans(), st.booleans()
)
QUERY = st.one_of(
    st.sampled_from(["aa", "Aa", "bb", "aa aa", "aa bb", "e"]),
    st.lists(st.sampled_from([word for word in WORDS if word not in ("\0", "\ufdd0")]), min_size=1, max_size=3).map(
        " ".join
    ),
)
BOUND = st.sampled_from([None, 0, 1, 1.5, 2])


def ranged(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    def build(low: Any, high: Any) -> dict[str, Any]:
        if low is not None and high is not None and low > high:
            low, high = high, low
        given_bounds = {"from": low, "to": high}
        return {"kind": kind, **{key: value for key, value in given_bounds.items() if value is not None}}

    return st.builds(build, BOUND, BOUND)


def valued(kind: str, values: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(st.sampled_from(values), max_size=3).map(lambda chosen: {"kind": kind, "values": chosen})


SESSION_FILTERS = st.lists(
    st.one_of(
        valued("cwd", ["/p", "/q", None]),
        valued("id", ["s0", "s1", "s3"]),
        valued("parent", ["s0", None]),
        valued("availability", ["live", "persisted"]),
        ranged("created-at"),
    ),
    max_size=2,
)
EVENT_FILTERS = st.lists(
    st.one_of(valued("type", TYPES), valued("surface", SURFACES), ranged("seq"), ranged("time")), max_size=2
)


def documents(drawn: list[tuple[str, int, str, str]]) -> list[IndexDocument]:
    return [
        IndexDocument(seq, kind, time, surface, text) for seq, (kind, time, surface, text) in enumerate(drawn) if text
    ]


def fill(provider: SearchProvider, sessions: list[tuple[Any, ...]]) -> None:
    """Store the sessions; some live, some grown by their last document, some with a stored log below the live one."""
    for number, (cwd, created, drawn, is_live, in_steps) in enumerate(sessions):
        parent = "s0" if number % 3 == 2 else None
        header = Header(version=0, id=f"s{number}", created_at=created, cwd=cwd, parent_session=parent)
        docs = documents(drawn)
        first = docs[:-1] if in_steps else docs
        stored = SessionRecord(header, live=False, persisted=True)
        provider.replace_persisted(IndexSnapshot(stored, "1", first))
        if in_steps:
            shadowed = {document.seq: "shadowed" for document in first[:1]}
            provider.append_persisted(IndexGrowth(stored, "2", docs[-1:], shadowed))
        if is_live:
            provider.replace_live(IndexSnapshot(SessionRecord(header, live=True, persisted=in_steps), "1", docs[1:]))


def walked(provider: SearchProvider, make: Any) -> list[Any]:
    """All pages of a request as plain values."""
    pages, cursor = [], ABSENT
    while True:
        page = make(cursor)
        value = to_json(page)
        value.pop("providerId")
        cursor = value.pop("nextCursor", None)
        pages.append(value)
        if cursor is None:
            return pages


@settings(max_examples=150)
@given(
    sessions=st.lists(SESSION, min_size=1, max_size=6),
    query=QUERY,
    session_filters=SESSION_FILTERS,
    event_filters=EVENT_FILTERS,
    limit=st.integers(1, 3),
    chars=st.sampled_from([1, 2, 3, 5, 11, 240]),
    few=st.booleans(),
)
@example(
    sessions=[("/p", 0, [("x", 0, "current", "aa aa aa"), ("x", 0, "current", "aa aa")], False, True)],
    query="aa aa",
    session_filters=[],
    event_filters=[],
    limit=1,
    chars=5,
    few=True,
)
def test_pages_equal_those_of_the_model(
    sessions: list[tuple[Any, ...]],
    query: str,
    session_filters: list[Any],
    event_filters: list[Any],
    limit: int,
    chars: int,
    few: bool,
) -> None:
    config = Config(snippet_chars=chars)
    provider, model = Fts5Provider(":memory:", config=config), PlainProvider(chars)
    with pytest.MonkeyPatch.context() as patch:
        if few:  # as if there were too many matches to keep: the ways to look again are taken
            for module, name, value in (
                (ranking, "LEAST_KEPT", 1),
                (ranking, "KEPT_PER_HIT", 0),
                (ranking, "FIRST_FETCH", 1),
                (spans, "FIRST_PIECE", 1),
                (spans, "LEAST_SEEN", 1),
                (searcher, "FEW_RANGES", 0),
            ):
                patch.setattr(module, name, value)
        for each in (provider, model):
            fill(each, sessions)
        answers = [
            walked(
                each,
                lambda cursor, each=each: each.search_sessions(
                    session_search(query, session_filters, event_filters, limit, cursor, config=config)
                ),
            )
            for each in (provider, model)
        ]
        assert answers[0] == answers[1]
        events = [
            walked(
                each,
                lambda cursor, each=each: each.search_events(
                    event_search("s0", query, event_filters, limit, cursor, config=config)
                ),
            )
            for each in (provider, model)
        ]
        assert events[0] == events[1]
    provider.close()
