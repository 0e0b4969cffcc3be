"""Filters against the plainest model of what they mean."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_core.model.event import Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.query.filters import (
    event_matcher,
    parse_event_filters,
    parse_session_filters,
    session_matcher,
    text_patterns,
)

names = st.sampled_from(["a", "b", "/p", "", "é"])
bounds = st.one_of(st.integers(-3, 8), st.floats(-3, 8, allow_nan=False))


def ranges(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    def build(low: float | None, high: float | None) -> dict[str, Any]:
        if low is not None and high is not None and low > high:
            low, high = high, low
        return {"kind": kind, **({} if low is None else {"from": low}), **({} if high is None else {"to": high})}

    return st.builds(build, st.none() | bounds, st.none() | bounds)


def values(kind: str, options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda chosen: {"kind": kind, "values": chosen}, st.lists(options, max_size=3))


session_filters = st.one_of(
    values("id", names),
    values("cwd", names | st.none()),
    values("parent", names | st.none()),
    values("availability", st.sampled_from(["live", "persisted"])),
    ranges("created-at"),
)
event_filters = st.one_of(
    values("type", st.sampled_from(["user/message", "tool/call"])),
    values("surface", st.sampled_from([surface.value for surface in Surface if surface is not Surface.WITHHELD])),
    ranges("seq"),
    ranges("time"),
)
records = st.builds(
    lambda session_id, cwd, parent, created, live, persisted: SessionRecord(
        Header(version=0, id=session_id, created_at=created, cwd=cwd, parent_session=parent), live, persisted
    ),
    names,
    names | st.none(),
    names | st.none(),
    st.integers(-2, 7),
    st.booleans(),
    st.booleans(),
)


def in_range(spec: dict[str, Any], number: float) -> bool:
    return ("from" not in spec or number >= spec["from"]) and ("to" not in spec or number <= spec["to"])


def session_passes(spec: dict[str, Any], record: SessionRecord) -> bool:
    header = record.header
    match spec["kind"]:
        case "id":
            return header.id in spec["values"]
        case "cwd":
            return header.cwd in spec["values"]
        case "parent":
            return header.parent_session in spec["values"]
        case "availability":
            return ("live" in spec["values"] and record.live) or ("persisted" in spec["values"] and record.persisted)
        case _:
            return in_range(spec, header.created_at)


def event_passes(spec: dict[str, Any], seq: int, kind: str, time: int, surface: str) -> bool:
    match spec["kind"]:
        case "type":
            return kind in spec["values"]
        case "surface":
            return surface in spec["values"]
        case "seq":
            return in_range(spec, seq)
        case _:
            return in_range(spec, time)


@given(st.lists(session_filters, max_size=4), records)
def test_session_filters_mean_what_the_model_says(filters: list[dict[str, Any]], record: SessionRecord) -> None:
    got = session_matcher(parse_session_filters(filters))(record)
    assert got == all(session_passes(spec, record) for spec in filters)


@given(
    st.lists(event_filters, max_size=4),
    st.integers(0, 7),
    st.sampled_from(["user/message", "tool/call", "x"]),
    st.integers(-2, 7),
    st.sampled_from([surface.value for surface in Surface if surface is not Surface.WITHHELD]),
)
def test_event_filters_mean_what_the_model_says(
    filters: list[dict[str, Any]], seq: int, kind: str, time: int, surface: str
) -> None:
    got = event_matcher(parse_event_filters(filters))(seq, kind, time, surface)
    assert got == all(event_passes(spec, seq, kind, time, surface) for spec in filters)


def plain_find(needle: str, text: str) -> bool:
    """ASCII only: squeeze whitespace runs of both to one space and compare in lower case."""
    return " ".join(needle.split()).lower() in " ".join(f"|{text}|".split()).lower()


@given(st.text("aAbB.*[ \t", min_size=1), st.text("aAbB.*[ \t\n"))
def test_a_text_clause_finds_what_a_plain_scan_finds(needle: str, text: str) -> None:
    if needle.strip():
        patterns = text_patterns(parse_event_filters([{"kind": "text", "text": needle}]))
        assert all(pattern.search(text) for pattern in patterns) == plain_find(needle, text)
