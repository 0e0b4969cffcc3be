"""The small parts of searching: requests, cursors, snippets, matching, CJK."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.search.cursor import CursorSeal, Place
from palimpsest_core.search.indextext import safe_text, spaced, unspaced_offset
from palimpsest_core.search.matching import Matcher
from palimpsest_core.search.request import check_strict_budget, event_search, session_search
from palimpsest_core.search.snippet import snippet

CONFIG = Config()


def refused(**given: Any) -> ErrorCode:
    search = event_search if "session_id" in given else session_search
    with pytest.raises(SessionQueryError) as caught:
        search(**given, config=CONFIG)
    return caught.value.code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"query": ""}, ErrorCode.INVALID_QUERY),
        ({"query": "\ufeff \t\u3000"}, ErrorCode.INVALID_QUERY),
        ({"query": "a\0b"}, ErrorCode.INVALID_QUERY),
        ({"query": 5}, ErrorCode.INVALID_QUERY),
        ({"query": "x", "limit": 0}, ErrorCode.INVALID_LIMIT),
        ({"query": "x", "limit": 101}, ErrorCode.INVALID_LIMIT),
        ({"query": "x", "limit": 1.5}, ErrorCode.INVALID_LIMIT),
        ({"query": "x", "limit": True}, ErrorCode.INVALID_LIMIT),
        ({"query": "x", "limit": "2"}, ErrorCode.INVALID_LIMIT),
        ({"query": "x", "cursor": None}, ErrorCode.INVALID_CURSOR),
        ({"query": "", "cursor": ""}, ErrorCode.INVALID_QUERY),
        ({"query": "x", "cursor": "", "limit": 0}, ErrorCode.INVALID_LIMIT),
        ({"query": "x", "cursor": 5}, ErrorCode.INVALID_CURSOR),
        ({"query": "x", "event_filters": [{"kind": "text", "text": "x"}]}, ErrorCode.INVALID_FILTER),
        ({"session_id": 5, "query": "x"}, ErrorCode.INVALID_FILTER),
    ],
)
def test_a_request_is_refused_for(given: dict[str, Any], code: ErrorCode) -> None:
    assert refused(**given) is code


def test_faults_are_found_in_the_documented_order() -> None:
    everything = {"session_filters": 1, "event_filters": 1, "cursor": 5, "query": "", "limit": 0}
    expected = [ErrorCode.INVALID_FILTER] * 2 + [
        ErrorCode.INVALID_CURSOR,
        ErrorCode.INVALID_QUERY,
        ErrorCode.INVALID_LIMIT,
    ]
    fixes: dict[str, Any] = {"session_filters": None, "event_filters": [], "cursor": "x", "query": "x", "limit": 1}
    for code, (key, good) in zip(expected, fixes.items()):
        assert refused(**everything) is code
        everything[key] = good


def test_whole_floats_and_null_are_fine_as_limits() -> None:
    assert session_search("x", limit=2.0, config=CONFIG).limit == 2
    assert session_search("x", limit=None, config=CONFIG).limit == CONFIG.default_limit


def test_the_digest_ignores_order_and_spelling_but_not_repetition() -> None:
    one = {"kind": "id", "values": ["a", "b"]}
    two = {"kind": "parent", "values": [None, "x"]}
    base = session_search("a  b", [one, two], None, 20, config=CONFIG).digest
    same = session_search("a b", [{**two, "values": ["x", None]}, {**one, "values": ["b", "a"]}], [], config=CONFIG)
    repeated = session_search("a b", [one, two, two], config=CONFIG)
    assert base == same.digest
    assert base != repeated.digest
    assert base != session_search("A b", [one, two], config=CONFIG).digest


def test_strict_mode_keeps_the_budget() -> None:
    fourteen = [{"kind": "seq", "from": 0, "to": 9}] * 7
    check_strict_budget(session_search("x", None, fourteen, config=CONFIG))
    both = [{"kind": "availability", "values": ["live", "persisted"]}]
    check_strict_budget(session_search("x", both, fourteen, config=CONFIG))
    for request in (
        session_search("x", [{"kind": "id", "values": []}], fourteen, config=CONFIG),
        event_search("s", "x", fourteen, config=CONFIG),
        session_search("x", [{"kind": "id", "values": ["a"] * 33_000}], config=CONFIG),
    ):
        with pytest.raises(SessionQueryError) as caught:
            check_strict_budget(request)
        assert caught.value.code is ErrorCode.INVALID_FILTER


def test_a_cursor_opens_only_where_it_was_made_and_unchanged() -> None:
    seal = CursorSeal()
    cursor = seal.seal(b"request", Place("7 0 0", 40))
    assert seal.open(b"request", cursor) == Place("7 0 0", 40)
    forged = [
        cursor[::-1],
        cursor[:-1],
        ("B" if cursor[0] == "A" else "A") + cursor[1:],
        "bnVsbA",
        "e30",
        "not a cursor",
        "\u00e9",
        "\ud800",
    ]
    for text, opener, digest in [(bad, seal, b"request") for bad in forged] + [
        (cursor, CursorSeal(), b"request"),
        (cursor, seal, b"other"),
    ]:
        with pytest.raises(SessionQueryError) as caught:
            opener.open(digest, text)
        assert caught.value.code is ErrorCode.INVALID_CURSOR


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("ppp rho qqqqqqqqq", 1, "…"),
        ("ppp rho qqqqqqqqq", 2, "…r"),
        ("rho qqqqqqqqqqqq", 2, "r…"),
        ("ppp rho qqqqqqqqq", 3, "…r…"),
        ("rho", 3, "rho"),
        ("rho qqqqqqqqqqqq", 3, "rh…"),
        ("ppppppppp rho qqq", 4, "… r…"),
        ("ppppppppppppp rho", 7, "…pp rho"),
        ("ppp rho qqqqqqqqq", 7, "…p rho…"),
        ("pp rho qqqqqqqqqq", 7, "…p rho…"),
        ("p rho qqqqqqqqqqq", 7, "p rho …"),
        (". rho .", 7, ". rho ."),
        ("omega\u00adrho\u00ad\u00adchi", 13, "…ega\u00adrho\u00ad\u00adch…"),
        ("a \n\t b   rho\u00a0\u00a0c", 240, "a b rho c"),
    ],
)
def test_a_snippet_is_cut_as_recorded(text: str, limit: int, shown: str) -> None:
    assert snippet(text, text.index("rho"), limit) == shown


def test_a_snippet_of_a_huge_text_looks_only_at_its_neighbourhood() -> None:
    text = "x" * 3_000_000 + " " * 3_000_000 + "rho" + " " * 3_000_000 + "y" * 3_000_000
    assert snippet(text, text.index("rho"), 13) == "…xxx rho yyy…"


def test_matches_are_judged_by_tokens() -> None:
    matcher = Matcher()
    for query, text, expected in [
        ("AI", "BRAID AI", [(6, 8)]),
        ("cafe", "a CAFÉ", [(2, 6)]),
        ("aa aa", "aa aa aa aa", [(0, 11)]),
        ("aa bb", "aa-bb aa_bb", [(0, 5), (6, 11)]),
        ("x", "x² x", [(3, 4)]),
        ("...", "a ... b", []),
    ]:
        phrase = matcher.phrase(query)
        assert matcher.spans(phrase, text) == expected
        assert matcher.first(phrase, text) == (expected[0][0] if expected else None)


def test_a_first_match_far_inside_a_long_text_is_found() -> None:
    matcher = Matcher()
    phrase = matcher.phrase("needle tau")
    for filler in ("hay ", "h\u00e9y ", "h\u00e9y\u2028"):
        text = filler * 30_000 + "needle\ntau"
        assert matcher.first(phrase, text) == len(filler) * 30_000


def test_phrases_that_can_overlap_themselves_are_known_by_their_tokens() -> None:
    matcher = Matcher()
    assert [matcher.phrase(query).overlaps for query in ("aa", "aa bb", "aa AA", "aa bb aa", "aa-b\u00e9 aa")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_every_cjk_character_is_a_token_of_its_own_when_asked() -> None:
    text = "x 会话搜索功能 ひらカナ 한국어 abc搜索"
    plain, cjk = Matcher("unicode61"), Matcher("unicode61-cjk")
    assert plain.spans(plain.phrase("搜索"), text) == []
    spans = cjk.spans(cjk.phrase("搜索"), text)
    assert [text[start:end] for start, end in spans] == ["搜索", "搜索"]
    assert cjk.first(cjk.phrase("ラカ".replace("ラ", "ら")), text) == text.index("らカ")
    assert cjk.first(cjk.phrase("국어"), text) == text.index("국어")
    assert cjk.first(cjk.phrase("abc"), text) == text.index("abc")


def test_offsets_survive_the_spacing_of_cjk_characters() -> None:
    text = "a会\u200b话b 搜"
    wide = spaced(text)
    assert [unspaced_offset(wide, wide.index(char)) for char in "a会话b搜"] == [text.index(char) for char in "a会话b搜"]


def test_unsafe_characters_are_replaced_one_for_one() -> None:
    text = "a\0\ufdd0\ufdd1\ud800\udfffb"
    assert safe_text(text) == "a" + "\ufffd" * 5 + "b"
    assert safe_text("plain") == "plain"
