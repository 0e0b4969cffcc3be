"""Instants at full precision: what is a time, what is not, and which milliseconds lie inside two of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_core.base.errors import ErrorCode
from palimpsest_core.tools.arguments import Span, time_span
from palimpsest_core.tools.errors import ToolError
from palimpsest_core.tools.times import Instant, iso, parse_instant

REFUSED = [
    *("2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00z", "2026-01-01t00:00Z"),
    *("2026-01-01T00:00:00+0800", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00Z"),
    *("2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z"),
    *("2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60"),
    *("yesterday", "", " 2026-01-01T00:00Z", "2026-01-01T00:00Z ", "+02026-01-01T00:00Z", "2026-01-01T00:00:00.Z"),
    "٢٠٢٦-01-01T00:00Z",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_time_of_the_calendar_is_an_invalid_filter(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_instant(text, "time_from")
    assert caught.value.code is ErrorCode.INVALID_FILTER
    assert "time_from" in caught.value.message


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00Z", Instant(0)),
        ("1970-01-01T00:00:00.000Z", Instant(0)),
        ("1970-01-01T08:00:00+08:00", Instant(0)),
        ("1969-12-31T23:59:59.5Z", Instant(-500)),
        ("2000-02-29T23:59:59.5-23:59", Instant(951_955_139_500)),
        ("1970-01-01T00:00:00.0010000001Z", Instant(1, "0000001")),
        ("0000-01-01T00:00:00Z", Instant(-62_167_219_200_000)),
        ("1970-01-01T00:00:00." + "9" * 9000 + "Z", Instant(999, "9" * 8997)),
    ],
)
def test_a_time_is_read_at_its_full_precision(text: str, instant: Instant) -> None:
    assert parse_instant(text, "x") == instant


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_every_millisecond_reads_back_as_printed(milliseconds: int) -> None:
    printed = iso(milliseconds)
    assert parse_instant(printed, "x") == Instant(milliseconds)
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert printed == expected.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_time_beyond_the_calendar_is_printed_as_a_number() -> None:
    assert iso(8.64e15) == "+275760-09-13T00:00:00.000Z"
    assert iso(9e15) == "9000000000000000.0 ms since 1970"
    assert iso(float("inf")) == "inf ms since 1970"


@pytest.mark.parametrize(
    ("low", "high", "span"),
    [
        ("1970-01-01T00:00:00.021Z", "1970-01-01T00:00:00.021Z", Span(21, 21)),
        ("1970-01-01T00:00:00.0210000001Z", None, Span(22, None)),
        (None, "1970-01-01T00:00:00.0219999Z", Span(None, 21)),
        (None, "1970-01-01T00:00:00.0209999Z", Span(None, 20)),
        ("1970-01-01T00:00:00.021001Z", "1970-01-01T00:00:00.021999Z", Span(22, 21)),
        ("1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.0000010Z", Span(1, 0)),
    ],
)
def test_a_bound_finer_than_a_millisecond_neither_gains_nor_loses_an_event(
    low: str | None, high: str | None, span: Span
) -> None:
    given_bounds = {name: text for name, text in (("a", low), ("b", high)) if text is not None}
    assert time_span(given_bounds, "a", "b") == span


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("1970-01-01T00:00:00.001Z", "1970-01-01T00:00Z"),
        ("1970-01-01T00:00:00.000002Z", "1970-01-01T00:00:00.000001Z"),
        ("1970-01-01T00:00:00.00012Z", "1970-01-01T00:00:00.0001Z"),
    ],
)
def test_reversed_times_are_refused_at_full_precision(low: str, high: str) -> None:
    with pytest.raises(ToolError) as caught:
        time_span({"a": low, "b": high}, "a", "b")
    assert caught.value.code is ErrorCode.INVALID_FILTER
