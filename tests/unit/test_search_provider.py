"""What every search provider does: the built-in one and the plain one of the tests pass the same suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from plainprovider import PlainProvider

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.provider import IndexGrowth, IndexSnapshot, SearchProvider
from palimpsest_core.search.request import ABSENT, event_search, session_search

CONFIG = Config()


@pytest.fixture(params=[lambda: Fts5Provider(":memory:"), PlainProvider], ids=["fts5", "plain"])
def provider(request: pytest.FixtureRequest) -> Iterator[SearchProvider]:
    make: Callable[[], SearchProvider] = request.param
    made = make()
    yield made
    made.close()


def record(session_id: str, *, live: bool = False, persisted: bool = True, **header: Any) -> SessionRecord:
    return SessionRecord(Header(version=0, id=session_id, created_at=5, **header), live, persisted)


def document(seq: int, text: str, *, time: int | None = None, surface: str = "current") -> IndexDocument:
    return IndexDocument(seq, "user/message", 1000 + seq if time is None else time, surface, text)


def snapshot(session_id: str, *texts: str, fingerprint: str = "1", **more: Any) -> IndexSnapshot:
    documents = [document(seq, text) for seq, text in enumerate(texts)]
    return IndexSnapshot(record(session_id, **more), fingerprint, documents)


def found(provider: SearchProvider, query: str, cursor: Any = ABSENT, **more: Any) -> list[tuple[str, int]]:
    page = provider.search_sessions(session_search(query, cursor=cursor, config=CONFIG, **more))
    return [(hit.header.id, hit.best_match.seq) for hit in page.items]


def found_events(provider: SearchProvider, session_id: str, query: str, **more: Any) -> list[int]:
    page = provider.search_events(event_search(session_id, query, config=CONFIG, **more))
    return [hit.seq for hit in page.items]


def code_of(action: Callable[[], Any]) -> ErrorCode:
    with pytest.raises(SessionQueryError) as caught:
        action()
    return caught.value.code


def test_a_session_is_found_by_its_best_event(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle in hay", "needle needle", "hay"))
    provider.replace_persisted(snapshot("b", "one needle"))
    assert found(provider, "needle") == [("a", 1), ("b", 0)]
    assert found_events(provider, "a", "needle") == [1, 0]


def test_ties_go_by_length_then_newer_then_id_then_later_seq(provider: SearchProvider) -> None:
    provider.replace_persisted(
        IndexSnapshot(record("b"), "1", [document(0, "x abc", time=7), document(1, "x abc", time=7)])
    )
    provider.replace_persisted(IndexSnapshot(record("a"), "1", [document(3, "x abc", time=7)]))
    provider.replace_persisted(IndexSnapshot(record("c"), "1", [document(0, "x abc", time=9)]))
    provider.replace_persisted(IndexSnapshot(record("d"), "1", [document(0, "x ab", time=1)]))
    assert found(provider, "x") == [("d", 0), ("c", 0), ("a", 3), ("b", 1)]


def test_overlapping_matches_count_once_and_adjacent_ones_twice(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("overlap", "aa aa aa aa"))
    provider.replace_persisted(snapshot("adjacent", "aa bb aa bb aa aa"))
    assert found(provider, "aa aa") == [("overlap", 0), ("adjacent", 0)]
    assert found(provider, "aa bb") == [("adjacent", 0)]


def test_the_same_session_replaced_holds_only_the_new_documents(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "old words", "old again"))
    provider.replace_persisted(snapshot("a", "new words"))
    assert found(provider, "old") == []
    assert found(provider, "words") == [("a", 0)]


def test_growth_adds_documents_and_marks_what_it_shadows(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle one", "needle two"))
    provider.append_persisted(
        IndexGrowth(record("a"), "2", [document(2, "needle needle")], {0: "shadowed", 9: "shadowed"})
    )
    assert found_events(provider, "a", "needle") == [2, 1, 0]
    assert found_events(provider, "a", "needle", filters=[{"kind": "surface", "values": ["shadowed"]}]) == [0]
    assert [(entry.session_id, entry.fingerprint) for entry in provider.persisted_inventory()] == [("a", "2")]


def test_removed_sessions_are_gone_and_unknown_ones_do_no_harm(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle"))
    provider.remove_persisted("a")
    provider.remove_persisted("never")
    assert found(provider, "needle") == []
    assert provider.persisted_inventory() == []
    assert code_of(lambda: found_events(provider, "a", "needle")) is ErrorCode.SESSION_NOT_FOUND


def test_a_live_session_hides_the_stored_one_until_it_is_gone(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "stored needle", "stored more"))
    provider.replace_live(snapshot("a", "live needle", live=True))
    page = provider.search_sessions(session_search("needle", config=CONFIG))
    assert [(hit.live, hit.persisted, hit.best_match.snippet) for hit in page.items] == [(True, True, "live needle")]
    assert found(provider, "stored") == []
    provider.append_live(IndexGrowth(record("a", live=True), "2", [document(1, "appended")]))
    assert found_events(provider, "a", "appended") == [1]
    provider.remove_live("a")
    assert found(provider, "stored") == [("a", 1)]


def test_live_and_stored_sessions_rank_on_one_scale(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("stored-2", "x x"))
    provider.replace_persisted(snapshot("stored-3", "x x x"))
    provider.replace_live(snapshot("live-1", "x", live=True, persisted=False))
    provider.replace_live(snapshot("live-3", "x x x x", live=True, persisted=False))
    assert [name for name, _ in found(provider, "x")] == ["live-3", "stored-3", "stored-2", "live-1"]
    live_only = [{"kind": "availability", "values": ["live"]}]
    assert [name for name, _ in found(provider, "x", session_filters=live_only)] == ["live-3", "live-1"]


def test_hidden_stored_sessions_come_back(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle"))
    provider.set_persisted_active(False)
    assert found(provider, "needle") == []
    assert code_of(lambda: found_events(provider, "a", "needle")) is ErrorCode.SESSION_NOT_FOUND
    provider.set_persisted_active(True)
    assert found(provider, "needle") == [("a", 0)]


def test_filters_come_before_ranking(provider: SearchProvider) -> None:
    provider.replace_persisted(IndexSnapshot(record("a", cwd="/x"), "1", [document(0, "n n n"), document(1, "n n")]))
    provider.replace_persisted(IndexSnapshot(record("b", cwd=None, parent_session="a"), "1", [document(0, "n")]))
    assert found(provider, "n", session_filters=[{"kind": "cwd", "values": [None]}]) == [("b", 0)]
    assert found(provider, "n", session_filters=[{"kind": "parent", "values": ["a"]}]) == [("b", 0)]
    assert found(provider, "n", session_filters=[{"kind": "id", "values": []}]) == []
    assert found(provider, "n", event_filters=[{"kind": "seq", "from": 0.5}]) == [("a", 1)]
    assert found(provider, "n", event_filters=[{"kind": "time", "to": 1000}]) == [("a", 0), ("b", 0)]
    assert found(provider, "n", event_filters=[{"kind": "type", "values": ["tool/call"]}]) == []


def test_pages_join_to_the_whole_and_a_cursor_works_again(provider: SearchProvider) -> None:
    for number in range(7):
        provider.replace_persisted(snapshot(f"s{number}", "needle " * (number + 1)))
    whole = found(provider, "needle")
    walked: list[tuple[str, int]] = []
    cursor: Any = ABSENT
    for _ in range(9):
        page = provider.search_sessions(session_search("needle", limit=2, cursor=cursor, config=CONFIG))
        assert found(provider, "needle", cursor=cursor, limit=2) == [
            (hit.header.id, hit.best_match.seq) for hit in page.items
        ]
        walked += [(hit.header.id, hit.best_match.seq) for hit in page.items]
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert walked == whole
    assert len(whole) == 7


def test_a_cursor_belongs_to_its_request(provider: SearchProvider) -> None:
    for number in range(3):
        provider.replace_persisted(snapshot(f"s{number}", "needle"))
    request = session_search("needle", limit=1, config=CONFIG)
    cursor = provider.search_sessions(request).next_cursor
    assert cursor is not None
    assert found(provider, "  needle\n", cursor=cursor, limit=1.0) == [("s1", 0)]
    assert code_of(lambda: found(provider, "Needle", cursor=cursor, limit=1)) is ErrorCode.INVALID_CURSOR
    assert code_of(lambda: found(provider, "needle", cursor=cursor, limit=2)) is ErrorCode.INVALID_CURSOR
    assert code_of(lambda: found(provider, "needle", cursor=cursor[::-1], limit=1)) is ErrorCode.INVALID_CURSOR


def test_any_change_ages_a_corpus_cursor(provider: SearchProvider) -> None:
    changes: list[Callable[[], None]] = [
        lambda: provider.replace_persisted(snapshot("new", "other")),
        lambda: provider.append_persisted(IndexGrowth(record("new"), "2")),
        lambda: provider.remove_persisted("new"),
        lambda: provider.replace_live(snapshot("live", live=True)),
        lambda: provider.append_live(IndexGrowth(record("live", live=True), "2")),
        lambda: provider.remove_live("live"),
        lambda: (provider.set_persisted_active(False), provider.set_persisted_active(True))[1],
    ]
    for number in range(2):
        provider.replace_persisted(snapshot(f"s{number}", "needle"))
    for change in changes:
        cursor = provider.search_sessions(session_search("needle", limit=1, config=CONFIG)).next_cursor
        change()
        assert code_of(lambda c=cursor: found(provider, "needle", cursor=c, limit=1)) is ErrorCode.STALE_CURSOR


def test_a_session_cursor_survives_changes_to_others(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle", "needle"))
    request = event_search("a", "needle", limit=1, config=CONFIG)
    cursor = provider.search_events(request).next_cursor
    provider.replace_persisted(snapshot("b", "needle"))
    provider.replace_live(snapshot("c", "needle", live=True))
    assert found_events(provider, "a", "needle", limit=1, cursor=cursor) == [0]
    provider.append_persisted(IndexGrowth(record("a"), "2"))
    assert code_of(lambda: found_events(provider, "a", "needle", limit=1, cursor=cursor)) is ErrorCode.STALE_CURSOR


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ('say "hello"', ["quotes"]),
        ("NEAR(a b)", ["near"]),
        ("a* b", ["star", "near"]),
        ("OR", ["or"]),
        ("text : x -y ^z", ["operators"]),
        ("(", []),
        ("\ufffd", []),
        ("' ; drop table doc", ["sql"]),
    ],
)
def test_operators_in_a_query_are_data(provider: SearchProvider, query: str, hits: list[str]) -> None:
    texts = {
        "quotes": 'they say "hello" there',
        "near": "NEAR(a b) is no operator",
        "star": "a* b literal",
        "or": "this OR that",
        "operators": "text : x -y ^z",
        "sql": "' ; drop table doc",
    }
    for name, text in texts.items():
        provider.replace_persisted(snapshot(name, text))
    assert [name for name, _ in found(provider, query)] == hits


def test_hostile_characters_come_back_as_replacement_characters(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "x\0y \ufdd0needle\ufdd1 \ud800"))
    page = provider.search_sessions(session_search("needle", config=CONFIG))
    assert page.items[0].best_match.snippet == "x\ufffdy \ufffdneedle\ufffd \ufffd"
    assert found(provider, "\ud83d needle") == [("a", 0)]


def test_hits_show_the_header_without_its_origin(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle", cwd="/x", origin="subagent", delegation_depth=1))
    header = provider.search_sessions(session_search("needle", config=CONFIG)).items[0].header
    assert (header.cwd, header.delegation_depth, header.origin) == ("/x", 1, None)
    assert provider.search_events(event_search("a", "nothing", config=CONFIG)).session == header


def test_a_cancelled_token_stops_a_search(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle"))
    cancel = CancelToken()
    cancel.set()
    request = session_search("needle", config=CONFIG)
    assert code_of(lambda: provider.search_sessions(request, cancel)) is ErrorCode.ABORTED
    assert found(provider, "needle") == [("a", 0)]


def test_a_failed_batch_leaves_everything_as_it_was(provider: SearchProvider) -> None:
    provider.replace_persisted(snapshot("a", "needle"))

    def change_and_fail() -> None:
        with provider.batch():
            provider.replace_persisted(snapshot("a", "other"))
            provider.replace_persisted(snapshot("b", "needle"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change_and_fail()
    assert found(provider, "needle") == [("a", 0)]
