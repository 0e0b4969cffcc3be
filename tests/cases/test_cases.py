"""Every case is a test: made anew, each of its machine checks run, and nothing below its roots changed."""

from __future__ import annotations

from pathlib import Path

import make_cases
import pytest
from casechecks import CHECKS
from casekit import CASES, Case, verify
from caseworld import World, state_of

NAMES = [name for name, _, _ in CASES]

LATER: dict[tuple[str, str], str] = {}
"""Checks whose feature does not exist yet, by case and kind of check, with the reason: the one list of them."""


def make(out: Path, name: str, big: bool) -> Path:
    """Write one case as the maker does."""
    build, meta = next((build, meta) for each, build, meta in CASES if each == name)
    case = Case(out, name, big, meta)
    case.dir.mkdir(parents=True)
    build(case)
    case.save()
    return case.dir


def run_checks(folder: Path, scratch: Path) -> None:
    """Run every check of a case; tell all that fail, not the first only."""
    world = World(folder, scratch)
    before = state_of(folder)
    wrong = []
    for number, check in enumerate(world.record["checks"]):
        kind = check["check"]
        if (folder.name, kind) in LATER:
            continue
        try:
            CHECKS[kind](world, check)
        except AssertionError as error:
            wrong.append(f"check {number} ({kind}): {error}")
    assert wrong == []
    assert state_of(folder) == before, "something below the root changed"


@pytest.mark.parametrize("name", NAMES)
def test_a_case_shows_what_it_must(name: str, tmp_path: Path) -> None:
    folder = make(tmp_path / "made", name, big=False)
    (tmp_path / "scratch").mkdir()
    run_checks(folder, tmp_path / "scratch")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_a_case_of_full_size_shows_what_it_must(name: str, tmp_path: Path) -> None:
    folder = make(tmp_path / "made", name, big=True)
    if not any(path.stat().st_size > 1 << 20 for path in folder.rglob("*") if path.is_file()):
        return
    (tmp_path / "scratch").mkdir()
    run_checks(folder, tmp_path / "scratch")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_holds_what_it_says(name: str, tmp_path: Path) -> None:
    assert verify(make(tmp_path, name, big=False)) == []


def test_there_are_forty_cases_and_none_is_put_off_without_being_one() -> None:
    assert len(NAMES) == 40
    assert {name for name, _ in LATER} <= set(NAMES)
    assert make_cases.CASES is CASES
