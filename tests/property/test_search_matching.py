"""Three ways to find a match agree: the ASCII pattern, the tokens piece by piece, and FTS5's own highlighting."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_core.search import matching
from palimpsest_core.search.indextext import safe_text
from palimpsest_core.search.literal import parse_literal
from palimpsest_core.search.matching import Matcher
from palimpsest_core.search.snippet import snippet

DB = apsw.Connection(":memory:")
MATCHERS = [Matcher("unicode61"), Matcher("unicode61-cjk")]
ASCII = st.text(st.sampled_from("aAbB1_-'\" \n.*\t\x1f"), max_size=40)
ANY = st.text(st.sampled_from("aAbé\u0301搜索 \u200b\u00a0\n😀ß_"), max_size=40) | st.text(max_size=20)


@given(query=ASCII | ANY, text=ASCII | ANY, which=st.sampled_from(MATCHERS))
def test_the_first_match_is_where_the_first_span_begins(query: str, text: str, which: Matcher) -> None:
    text = safe_text(text)
    phrase = which.phrase(query.replace("\0", ""))
    spans = which.spans(phrase, text)
    assert which.first(phrase, text) == (spans[0][0] if spans else None)


@given(
    query=st.text(st.sampled_from("aAbB .-"), min_size=1, max_size=5),
    text=st.text(st.sampled_from("aAbB .-\n"), max_size=60),
    head=st.integers(1, 25),
)
def test_the_first_match_is_the_same_wherever_the_head_of_a_long_text_ends(query: str, text: str, head: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(matching, "_HEAD", head)
        phrase = MATCHERS[0].phrase(query)
        spans = MATCHERS[0].spans(phrase, text)
        assert MATCHERS[0].first(phrase, text) == (spans[0][0] if spans else None)


@given(text=st.text(st.sampled_from("ab \n\t\v\f\r\x1c\x1e\x1f\x85\u00a0\ufeff\u2028"), max_size=20))
def test_whitespace_is_squeezed_alike_in_plain_text_and_in_any_other(text: str) -> None:
    # The mark is no whitespace, and it keeps the text from being plain.
    assert snippet(text, 0, 100) == snippet(text + "\u2026", 0, 100).removesuffix("\u2026").removesuffix(" ")


@given(query=ANY, text=ANY, which=st.sampled_from(MATCHERS))
def test_spans_are_in_order_inside_the_text_and_apart(query: str, text: str, which: Matcher) -> None:
    last = 0
    for start, end in which.spans(which.phrase(query.replace("\0", "")), text):
        assert last <= start < end <= len(text)
        last = end


@given(
    text=st.text(st.sampled_from("ab \n\t\u00a0"), min_size=1, max_size=60),
    at=st.integers(0, 59),
    limit=st.integers(1, 70),
)
def test_a_snippet_is_short_and_holds_the_match(text: str, at: int, limit: int) -> None:
    start = min(at, len(text) - 1)
    text = text[:start] + "X" + text[start + 1 :]
    shown = snippet(text.strip(), text.strip().index("X"), limit)
    assert 1 <= len(shown) <= limit
    assert limit == 1 or "X" in shown


@given(
    text=st.text(st.sampled_from("aAkK\u212asS\u017fé%_\\ \n搜ßẞ"), max_size=12),
    query=st.text(st.sampled_from("aAkK\u212asS\u017fé%_\\ \n搜ßẞ"), min_size=1, max_size=3),
)
def test_the_cheap_test_of_a_literal_never_hides_a_match(text: str, query: str) -> None:
    if not query.strip():
        return
    literal = parse_literal(query)
    found = literal.pattern.search(text) is not None
    like = literal.like is None or DB.execute("select ? like ? escape '\\'", (text, literal.like)).get
    assert like or not found
