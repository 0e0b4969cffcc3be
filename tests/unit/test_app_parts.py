"""Small parts of the app: keys, settings, history, cutting text to cells, ages and sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from palimpsest_tui.commands import COMMANDS
from palimpsest_tui.flows.history import JumpHistory, Spot
from palimpsest_tui.jobs.exporting import free_name
from palimpsest_tui.keys import BY_ID, FORBIDDEN, HINTS, KEYS, Where, check_keymap, hint_keys, spelled
from palimpsest_tui.settings import Settings, State, load_settings, load_state, save_state
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.cells import Matcher, around_match, clip, fit, fit_right, width_of


def test_every_key_of_the_main_screen_has_a_command() -> None:
    wanted = {key.id for key in KEYS if key.where is Where.MAIN}
    assert wanted <= set(COMMANDS)


def test_no_two_commands_of_one_place_share_a_key() -> None:
    for where in Where:
        keys = [part for key in KEYS if key.where is where for part in spelled(key.keys)]
        assert len(keys) == len(set(keys)), where


def test_nothing_sits_on_a_key_that_a_terminal_cannot_tell_apart() -> None:
    assert not FORBIDDEN & {part for key in KEYS for part in spelled(key.keys)}


def test_every_key_has_a_tooltip_and_every_hint_works_where_it_is_shown() -> None:
    assert all(key.tooltip and key.title for key in KEYS)
    for place, hints in HINTS.items():
        there = {Where.SEARCH} if place == "search" else {Where.LIST, Where.MAIN}
        assert all(BY_ID[key_id].where in there and word for key_id, word in hints), place


def test_a_pair_of_keys_is_written_together_and_apart_where_one_is_a_letter() -> None:
    assert hint_keys("turn.previous", {}) == "{}"
    assert hint_keys("turn.previous", {"turn.next": "t"}) == "{ t"
    assert hint_keys("hit.next", {}) == "n/N"
    assert hint_keys("list.choose", {}) == "enter"


def test_keys_can_be_moved() -> None:
    report = check_keymap({"turn.next": "t, ctrl+n"})
    assert report.keymap == {"turn.next": "t,ctrl+n"}
    assert not report.problems


def test_a_clash_is_reported_and_keeps_the_default() -> None:
    report = check_keymap({"turn.next": "j"})
    assert report.keymap == {}
    assert "list.down" in report.problems[0]


def test_two_keys_can_change_places() -> None:
    report = check_keymap({"turn.next": "{", "turn.previous": "}"})
    assert not report.problems
    assert len(report.keymap) == 2


@pytest.mark.parametrize("keys", ["ctrl+i", "ctrl+m", ""])
def test_impossible_keys_are_reported(keys: str) -> None:
    assert check_keymap({"turn.next": keys}).problems


def test_an_unknown_command_is_reported() -> None:
    assert "nonsense" in check_keymap({"nonsense": "x"}).problems[0]


def test_settings_take_what_is_right_and_tell_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('theme = "palimpsest-light"\nascii_borders = "yes"\nnonsense = 1\n[keys]\n"turn.next" = "t"\n')
    loaded = load_settings(path)
    assert loaded.settings.theme == "palimpsest-light"
    assert loaded.settings.keys == {"turn.next": "t"}
    assert not loaded.settings.ascii_borders
    assert len(loaded.problems) == 2


def test_a_broken_settings_file_is_told_and_the_defaults_used(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("theme = ")
    loaded = load_settings(path)
    assert loaded.settings == Settings()
    assert loaded.problems
    assert not load_settings(tmp_path / "absent.toml").problems


def test_state_is_kept_and_a_broken_one_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state.json"
    save_state(State(sort="size", marks={"a": [1]}), path)
    assert load_state(path).marks == {"a": [1]}
    path.write_text("{")
    assert load_state(path) == State()


def test_history_goes_back_to_the_very_place_and_forward_again() -> None:
    history = JumpHistory()
    first, second = Spot("a", None, 1), Spot("b", None, 2)
    history.leave(first)
    assert history.back(second) == first
    assert history.forward(first) == second
    assert history.forward(second) is None


def test_a_new_jump_forgets_what_was_ahead() -> None:
    history = JumpHistory()
    history.leave(Spot("a", None, 1))
    history.back(Spot("b", None, 2))
    history.leave(Spot("a", None, 1))
    assert history.forward(Spot("c", None, 3)) is None


@pytest.mark.parametrize("text", ["", "abc", "abcdef", "搜索功能", "a搜b索c", "e\u0301e\u0301e\u0301e\u0301e\u0301"])
@pytest.mark.parametrize("width", range(8))
def test_fitted_text_has_exactly_its_width(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) == width
    assert cell_len(fit_right(text, width)) == width
    assert cell_len(clip(text, width)) <= width


def test_what_fits_is_not_cut() -> None:
    assert clip("搜索", 4) == "搜索"
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "ab…"


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("cafe", "the CAFÉ is", ["CAFÉ"]),
        ("ai", "braid AI", ["AI"]),
        ("export flag", "the export_flag and Export  FLAG", ["export_flag", "Export  FLAG"]),
        ("搜索", "会话搜索功能", ["搜索"]),
        ("--", "a -- b", []),
        ("a*b", "a b and a*b", ["a b", "a*b"]),
    ],
)
def test_matches_are_marked_as_the_search_finds_them(phrase: str, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in Matcher(phrase).spans(text)] == found


def test_literal_matches_are_the_characters_themselves() -> None:
    matcher = Matcher("[red]x[/", literal=True)
    assert matcher.spans("a [RED]x[/ b") == [(2, 10)]


def test_a_free_name_is_found(tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    assert free_name(target) == target
    target.touch()
    (tmp_path / "a-2.zip").touch()
    assert free_name(target) == tmp_path / "a-3.zip"


@pytest.mark.parametrize(
    ("number", "short"), [(0, "0"), (999, "999"), (1000, "1.0k"), (1340, "1.3k"), (41_000, "41k"), (1_200_000, "1.2M")]
)
def test_counts_are_short(number: int, short: str) -> None:
    assert numbers.count(number) == short


@pytest.mark.parametrize(
    ("number", "short"), [(12, "12 B"), (4100, "4.1 KB"), (7_200_000, "7.2 MB"), (999_999, "1.0 MB")]
)
def test_sizes_are_short(number: int, short: str) -> None:
    assert numbers.size(number) == short


def test_times_that_no_calendar_knows_do_no_harm() -> None:
    for time_ms in (-(10**18), 10**18, 0, -1):
        assert len(numbers.clock_time(time_ms)) == 5
        assert len(numbers.day(time_ms)) == 5
        assert numbers.full_time(time_ms)
        numbers.age(time_ms, 1_790_000_000_000)


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(KEYS)


@pytest.mark.parametrize("before", [0, 5, 30, 79, 300])
@pytest.mark.parametrize("letter", ["a", "会"])
def test_a_narrow_row_begins_late_enough_to_show_the_match(before: int, letter: str) -> None:
    text = letter * before + " needle " + "z" * 100
    shown = around_match(text, Matcher("needle"), 34)
    assert "needle" in clip(shown, 34)
    assert shown.endswith("z" * 100)
    assert (shown == text) == (width_of(letter * before) + 7 <= 34)


def test_a_text_without_the_match_is_left_alone() -> None:
    assert around_match("nothing here", Matcher("needle"), 4) == "nothing here"
