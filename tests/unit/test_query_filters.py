"""Filters: what is refused, what is accepted, and what then matches."""

from __future__ import annotations

import math
from typing import Any

import pytest

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.query.filters import (
    Range,
    Values,
    event_matcher,
    parse_event_filters,
    parse_session_filters,
    session_matcher,
    text_patterns,
)


def record(session_id: str = "a", *, live: bool = False, persisted: bool = True, **header: Any) -> SessionRecord:
    return SessionRecord(
        Header(version=0, id=session_id, created_at=header.pop("created_at", 5), **header), live, persisted
    )


def accepts(filters: list[dict[str, Any]], candidate: SessionRecord) -> bool:
    return session_matcher(parse_session_filters(filters))(candidate)


def refused(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(SessionQueryError) as caught:
        call(*args, **kwargs)
    assert caught.value.code is ErrorCode.INVALID_FILTER
    return caught.value.message


@pytest.mark.parametrize(
    "filters",
    [
        None,
        "abc",
        5,
        {"kind": "id", "values": ["a"]},
        [None],
        ["x"],
        [[]],
        [{}],
        [{"kind": 5}],
        [{"kind": "title", "values": ["x"]}],
        [{"kind": "seq", "from": 0}],
        [{"kind": "id"}],
        [{"kind": "id", "values": "a"}],
        [{"kind": "id", "values": [None]}],
        [{"kind": "id", "values": [1]}],
        [{"kind": "cwd", "values": [0]}],
        [{"kind": "parent", "values": None}],
        [{"kind": "availability", "values": ["archived"]}],
        [{"kind": "availability", "values": [None]}],
        [{"kind": "created-at", "from": 2, "to": 1}],
        [{"kind": "created-at", "from": None}],
        [{"kind": "created-at", "from": "1"}],
        [{"kind": "created-at", "from": True}],
        [{"kind": "created-at", "to": math.inf}],
        [{"kind": "created-at", "to": math.nan}],
        [{"kind": "created-at", "to": 10**400}],
    ],
)
def test_a_malformed_session_filter_is_refused(filters: Any) -> None:
    refused(parse_session_filters, filters)


@pytest.mark.parametrize(
    "filters",
    [
        None,
        {"kind": "seq"},
        [{"kind": "cwd", "values": ["x"]}],
        [{"kind": "type", "values": [None]}],
        [{"kind": "type", "values": {"0": "a"}}],
        [{"kind": "surface", "values": ["hidden"]}],
        [{"kind": "seq", "to": "3"}],
        [{"kind": "text"}],
        [{"kind": "text", "text": 5}],
        [{"kind": "text", "text": ["a"]}],
    ],
)
def test_a_malformed_event_filter_is_refused(filters: Any) -> None:
    refused(parse_event_filters, filters)


def test_a_search_refuses_a_text_clause_and_takes_an_absent_list_for_an_empty_one() -> None:
    assert "not allowed" in refused(parse_event_filters, [{"kind": "text", "text": "a"}], text=False)
    assert parse_event_filters(None, optional=True, text=False) == []
    assert parse_session_filters(None, optional=True) == []


def test_a_blank_text_is_refused_only_when_its_pattern_is_asked_for() -> None:
    for blank in ("", " ", "\t\n", "\ufeff", "\u3000\xa0"):
        clauses = parse_event_filters([{"kind": "text", "text": blank}])
        refused(text_patterns, clauses)


def test_filters_are_copied_and_unknown_keys_dropped() -> None:
    values = ["a"]
    raw = [{"kind": "id", "values": values, "note": "x"}, {"kind": "created-at", "from": 1.0, "extra": 1}]
    clauses = parse_session_filters(raw)
    values.append("b")
    assert clauses == [Values("id", ("a",)), Range("created-at", 1, None)]


def test_filters_are_anded_and_their_values_ored() -> None:
    assert accepts([], record())
    assert accepts([{"kind": "id", "values": ["b", "a"]}, {"kind": "created-at", "from": 5, "to": 5}], record())
    assert not accepts([{"kind": "id", "values": ["a"]}, {"kind": "created-at", "from": 5.5}], record())
    assert not accepts([{"kind": "id", "values": []}], record())
    assert accepts([{"kind": "created-at"}], record())


def test_null_among_the_values_stands_for_an_absent_directory_or_parent() -> None:
    nowhere, placed = record(), record(cwd="/p", parent_session="r")
    assert accepts([{"kind": "cwd", "values": [None]}], nowhere)
    assert not accepts([{"kind": "cwd", "values": [None]}], placed)
    assert accepts([{"kind": "parent", "values": ["r", None]}], placed)
    assert accepts([{"kind": "parent", "values": ["r", None]}], nowhere)


def test_a_session_passes_availability_if_any_chosen_source_has_it() -> None:
    both, stored = record(live=True), record()
    live_only = record(live=True, persisted=False)
    assert accepts([{"kind": "availability", "values": ["live"]}], both)
    assert not accepts([{"kind": "availability", "values": ["live"]}], stored)
    assert accepts([{"kind": "availability", "values": ["live", "persisted"]}], stored)
    assert not accepts([{"kind": "availability", "values": ["persisted"]}], live_only)


def test_event_filters_look_at_seq_time_type_and_surface() -> None:
    test = event_matcher(
        parse_event_filters(
            [
                {"kind": "seq", "from": 0.5, "to": 9},
                {"kind": "time", "from": 100},
                {"kind": "type", "values": ["user/message"]},
                {"kind": "surface", "values": ["current", "shadowed"]},
            ]
        )
    )
    assert test(1, "user/message", 100, "current")
    assert not test(0, "user/message", 100, "current")
    assert not test(1, "user/message", 99, "current")
    assert not test(1, "tool/call", 100, "current")
    assert not test(1, "user/message", 100, "log-only")


def found(needle: str, text: str) -> bool:
    patterns = text_patterns(parse_event_filters([{"kind": "text", "text": needle}]))
    return all(pattern.search(text) for pattern in patterns)


@pytest.mark.parametrize(
    ("needle", "text", "expected"),
    [
        ("a.c", "xA.Cx", True),
        ("a.c", "abc", False),
        ("  a   b ", "A\n\u3000b", True),
        ("a b", "a\u200bb", False),
        ("a b", "a\x85b", False),
        ("a b", "a\ufeffb", True),
        ("\x85", "x\x85y", True),
        ("ß", "\u1e9e", True),
        ("ß", "ss", False),
        ("fi", "\ufb01", False),
        ("s", "\u017f", True),
        ("\u212a", "k", True),
        ("\u212b", "å", True),
        ("σ", "ς", True),
        ("Σ", "ς", True),
        ("ǆ", "ǅ", True),
        ("i", "İ", False),
        ("ı", "I", False),
        ("\uab70", "\u13a0", True),
        ("\u10d0", "\u1c90", True),
        ("\U00010400", "\U00010428", True),
        ("é", "e\u0301", False),
        ("\ud83d", "\U0001f600", False),
        ("\ud83d", "x\ud83d", True),
        ("\ua7dc", "\u019b", True),
        ("[a-z]+\\", "x[A-Z]+\\", True),
    ],
)
def test_a_text_clause_is_a_literal_scan_by_simple_case_folding(needle: str, text: str, expected: bool) -> None:
    assert found(needle, text) is expected
