"""The search bar's language: phrases, filter words, escapes, the export command, completion, days."""

from __future__ import annotations

from datetime import datetime

import pytest

from palimpsest_tui.searching.dates import bounds
from palimpsest_tui.searching.words import complete, read_words, with_word, without_chip


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


NOW = ms("2026-11-28T15:30:00")


def test_filter_words_are_taken_out_of_the_phrase() -> None:
    search = read_words('where did project:web we -is:log fix "that" since:7d')
    assert search.phrase == 'where did we fix "that"'
    assert [chip.word for chip in search.chips] == ["project:web", "-is:log", "since:7d"]
    assert not search.literal


def test_a_value_with_spaces_stands_in_quotes() -> None:
    search = read_words('project:"two words" x')
    assert search.chips[0].value == "two words"
    assert search.chips[0].word == 'project:"two words"'
    assert search.phrase == "x"


def test_a_backslash_takes_the_meaning_of_a_word_away() -> None:
    search = read_words(r"\type: is a word, \-is:x too")
    assert search.phrase == "type: is a word, -is:x too"
    assert not search.chips


def test_unknown_words_with_a_colon_are_text() -> None:
    assert read_words("http://x foo:bar").phrase == "http://x foo:bar"


def test_a_leading_equals_sign_asks_for_a_literal_scan() -> None:
    search = read_words("project:a = [red]x[/ ")
    assert search.literal
    assert search.phrase == "[red]x[/"


def test_a_word_without_value_is_no_filter_yet() -> None:
    search = read_words("project:")
    assert not search.chips
    assert search.phrase == ""


@pytest.mark.parametrize(("text", "target"), [("/export", ""), (" /export  ", ""), ("/export ~/x y.zip", "~/x y.zip")])
def test_export_alone_is_a_command(text: str, target: str) -> None:
    assert read_words(text).export_to == target


@pytest.mark.parametrize("text", ["/exports", "see /export", "/ export", "export"])
def test_export_inside_other_text_is_text(text: str) -> None:
    search = read_words(text)
    assert search.export_to is None
    assert search.phrase == text.strip()


def test_kinds_complete_from_their_beginning() -> None:
    found = complete("x pro", 5, {})
    assert found is not None
    assert (found.start, found.end, found.candidates) == (2, 5, ["project:"])


def test_values_complete_beginnings_first_then_parts() -> None:
    found = complete("-project:we", 11, {"project": ["the web", "web", "x"]})
    assert found is not None
    assert found.candidates == ["-project:web ", '-project:"the web" ']


def test_nothing_completes_inside_plain_words() -> None:
    assert complete("hello", 5, {}) is None
    assert complete("", 0, {}) is None


def test_adding_a_word_takes_the_place_of_its_kind() -> None:
    assert with_word("a project:x b", "project", "y z") == 'a project:"y z" b'
    assert with_word("a", "is", "current") == "a is:current "


def test_a_chip_can_be_taken_out() -> None:
    text = "a project:x b"
    assert without_chip(text, read_words(text).chips[0]) == "a b"


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("2026-11-28", "2026-11-28T00:00:00", "2026-11-28T23:59:59.999"),
        ("2026-11-28T12:30", "2026-11-28T12:30:00", "2026-11-28T12:30:59.999"),
        ("2026-02", "2026-02-01T00:00:00", "2026-02-28T23:59:59.999"),
        ("2026", "2026-01-01T00:00:00", "2026-12-31T23:59:59.999"),
        ("today", "2026-11-28T00:00:00", "2026-11-28T23:59:59.999"),
        ("yesterday", "2026-11-27T00:00:00", "2026-11-27T23:59:59.999"),
        ("2h", "2026-11-28T13:30:00", "2026-11-28T13:30:00"),
    ],
)
def test_days_are_spans_of_local_time(value: str, first: str, last: str) -> None:
    assert bounds(value, NOW) == (ms(first), ms(last))


@pytest.mark.parametrize("value", ["", "tomorrowish", "2026-13-01", "7", "d", "99999999d", "²d"])
def test_what_names_no_day_is_none(value: str) -> None:
    assert bounds(value, NOW) is None
