"""Calls and their results: by citation, else by the oldest open call of the id."""

from __future__ import annotations

from palimpsest_core.log.calls import CallPairs


def test_a_result_answers_the_call_that_it_cites() -> None:
    pairs = CallPairs()
    pairs.call(2, "same")
    pairs.call(3, "same")
    assert pairs.cited([1, 3]) == 3
    assert pairs.unanswered == {2: "same"}
    assert pairs.cited([3]) is None


def test_a_result_without_citation_answers_the_oldest_open_call_of_its_id() -> None:
    pairs = CallPairs()
    for seq, name in ((1, "a"), (2, "b"), (3, "b")):
        pairs.call(seq, name)
    assert [pairs.named("b"), pairs.named("b"), pairs.named("b")] == [2, 3, None]
    assert pairs.unanswered == {1: "a"}


def test_odd_citations_answer_nothing() -> None:
    pairs = CallPairs({1: "a"})
    assert [pairs.cited(sources) for sources in (None, "1", {"1": 1}, ["1", None, [1]], [])] == [None] * 5


def test_a_copy_goes_its_own_way() -> None:
    pairs = CallPairs({1: "a"})
    other = pairs.copy()
    other.named("a")
    assert (pairs.unanswered, other.unanswered) == ({1: "a"}, {})
