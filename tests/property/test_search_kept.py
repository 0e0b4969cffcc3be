"""Kept best lists stay exact whatever happens to the corpus between two searches."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from plainprovider import PlainProvider

from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.fts5 import kept
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.provider import IndexGrowth, IndexSnapshot, SearchProvider
from palimpsest_core.search.request import session_search

CONFIG = Config()
IDS = [f"s{number}" for number in range(6)]
TEXTS = ["x", "x x", "x x x", "x y", "longer x", "y", "x x longer"]
CHANGE = st.one_of(
    st.tuples(st.just("replace"), st.sampled_from(IDS), st.lists(st.sampled_from(TEXTS), max_size=3)),
    st.tuples(st.just("append"), st.sampled_from(IDS), st.lists(st.sampled_from(TEXTS), max_size=2)),
    st.tuples(st.just("remove"), st.sampled_from(IDS), st.just([])),
    st.tuples(st.just("live"), st.sampled_from(IDS), st.lists(st.sampled_from(TEXTS), max_size=2)),
    st.tuples(st.just("dispose"), st.sampled_from(IDS), st.just([])),
    st.tuples(st.just("hide"), st.sampled_from(IDS), st.just([])),
)


def apply(provider: SearchProvider, change: tuple[str, str, list[str]], held: dict[str, int], hidden: bool) -> None:
    kind, name, texts = change
    record = SessionRecord(Header(version=0, id=name, created_at=5), live=kind == "live", persisted=True)
    start = held.get(name, 0) if kind == "append" else 0
    documents = [IndexDocument(start + at, "x", 1, "current", text) for at, text in enumerate(texts)]
    if kind == "replace":
        provider.replace_persisted(IndexSnapshot(record, "1", documents))
    elif kind == "append" and name in held:
        provider.append_persisted(IndexGrowth(record, "2", documents))
    elif kind == "remove":
        provider.remove_persisted(name)
    elif kind == "live":
        provider.replace_live(IndexSnapshot(record, "1", documents))
    elif kind == "dispose":
        provider.remove_live(name)
    elif kind == "hide":
        provider.set_persisted_active(hidden)


def answers(provider: SearchProvider, limit: int) -> list[Any]:
    out = []
    for query in ("x", "x x", "y"):
        page = provider.search_sessions(session_search(query, limit=limit, config=CONFIG))
        out.append([(hit.header.id, hit.best_match.seq, hit.live) for hit in page.items] + [page.next_cursor is None])
    return out


@settings(max_examples=120)
@given(
    changes=st.lists(st.tuples(CHANGE, st.integers(1, 4), st.booleans()), max_size=14),
    sessions=st.integers(1, 5),
    most_changed=st.integers(0, 3),
)
def test_answers_equal_those_of_the_model_after_every_change(
    changes: list[tuple[tuple[str, str, list[str]], int, bool]], sessions: int, most_changed: int
) -> None:
    provider, model = Fts5Provider(":memory:"), PlainProvider()
    before = kept.SESSIONS, kept.MOST_CHANGED
    kept.SESSIONS, kept.MOST_CHANGED = sessions, most_changed
    held: dict[str, int] = {}
    hidden = True
    try:
        for change, limit, look in changes:
            kind, name, texts = change
            hidden = hidden != (kind == "hide")
            for each in (provider, model):
                apply(each, change, held, hidden)
            if kind == "replace":
                held[name] = len(texts)
            elif kind == "append" and name in held:
                held[name] += len(texts)
            elif kind == "remove":
                held.pop(name, None)
            if look:
                assert answers(provider, limit) == answers(model, limit)
        assert answers(provider, 2) == answers(model, 2)
    finally:
        kept.SESSIONS, kept.MOST_CHANGED = before
        provider.close()
