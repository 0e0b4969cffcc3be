"""What leaves the program: harmless text in columns, and JSON that every reader takes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_tui.cli import columns, output
from palimpsest_tui.cli.corpus import Reference, parse_point, parse_reference
from palimpsest_tui.cli.moments import Moment

HOSTILE = "a\x1b]0;x\x07\x9b\u202e\u200b\ud83d[red]x[/"


def test_json_is_one_ascii_object_that_names_its_format_and_command(capfd: pytest.CaptureFixture[str]) -> None:
    output.write_json("ls", {"title": HOSTILE + "搜索", "worst": [float("inf"), float("nan")]})
    text = capfd.readouterr().out
    assert text.isascii()
    found = json.loads(text)
    assert found["format"] == 1
    assert found["command"] == "ls"
    assert found["title"] == HOSTILE + "搜索"
    assert found["worst"] == [None, None]


@pytest.mark.parametrize("rows", [[], [1], [{"a": float("inf")}, "b", None]])
def test_a_long_list_is_written_row_by_row_in_the_same_envelope(
    capfd: pytest.CaptureFixture[str], rows: list[object]
) -> None:
    output.write_json_rows("show", {"title": "x"}, "events", iter(rows))
    found = json.loads(capfd.readouterr().out)
    assert found == {
        "format": 1,
        "command": "show",
        "title": "x",
        "events": [{"a": None} if isinstance(row, dict) else row for row in rows],
    }


def test_text_is_utf_8_and_harmless(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output.write_text(HOSTILE + "\nsecond line 搜索")
    text = capfdbinary.readouterr().out.decode("utf-8")
    assert text.count("\n") == 2
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "[red]x[/" in text


@given(st.text())
def test_a_cell_is_one_harmless_line(text: str) -> None:
    shown = columns.cell(text)
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert columns.width_of(shown) >= 0


@given(st.text(alphabet="ab搜ｱé \u0301", max_size=30), st.integers(1, 20))
def test_a_cut_text_never_takes_more_room_than_it_has(text: str, width: int) -> None:
    assert columns.width_of(columns.cut(text, width)) <= width


def test_columns_line_up_with_wide_characters_too() -> None:
    lines = list(columns.table([["会话", "1", "x"], ["ab", "22", "y"]], right=(1,), head=("ID", "N", "TITLE")))
    assert lines == ["ID     N  TITLE", "会话   1  x", "ab    22  y"]


def test_without_rows_there_is_no_head() -> None:
    assert list(columns.table([], head=("ID",))) == []


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 B"), (999, "999 B"), (4100, "4.1 kB"), (17_000_000, "17 MB"), (3e15, "3000 TB")]
)
def test_sizes_are_short(count: float, shown: str) -> None:
    assert columns.size(count) == shown


@pytest.mark.parametrize("time", [None, 1e30, float("inf"), float("nan"), -1e18])
def test_a_time_beyond_the_calendar_is_a_dash(time: float | None) -> None:
    assert columns.clock(time) == "-"


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("abc", Reference("abc")),
        ("abc#12", Reference("abc", 12)),
        ("abc#v3:12", Reference("abc", 12, 3)),
        ("a#b", Reference("a#b")),
        ("a#1#2", Reference("a#1", 2)),
        ("#1", Reference("#1")),
        ("a#", Reference("a#")),
        ("a\nb#1", Reference("a\nb", 1)),
    ],
)
def test_a_reference_is_an_id_and_perhaps_an_event(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


def test_a_point_in_a_session_is_an_id_and_perhaps_an_event() -> None:
    assert parse_point("a@b@7") == Reference("a@b", 7)
    assert parse_point("a@b") == Reference("a@b")


def test_times_are_read_as_people_type_them() -> None:
    first, last = Moment(), Moment(end=True)
    midnight = int(datetime(2026, 1, 31).timestamp() * 1000)
    assert first.convert("2026-01-31", None, None) == midnight
    assert last.convert("2026-01-31", None, None) == midnight + 86_400_000 - 1
    assert first.convert("1970-01-01T00:00:01+00:00", None, None) == 1000
    ago = datetime.now().timestamp() * 1000 - first.convert("3d", None, None)
    assert timedelta(days=2, hours=22) < timedelta(milliseconds=ago) < timedelta(days=3, hours=2)
    for text in ("tomorrow", "3y", "2026-02-30", "", "9" * 7 + "w"):
        with pytest.raises(click.UsageError):
            first.convert(text, None, None)
