"""The order of ids that were created in the same millisecond."""

from __future__ import annotations

import random
import subprocess
import sys

from palimpsest_core.query.collate import sort_by_creation, sort_ids


def ordered(ids: list[str]) -> list[str]:
    shuffled = ids[:]
    random.Random(7).shuffle(shuffled)
    return sort_ids(shuffled, str)


def test_marks_come_before_digits_and_digits_before_letters() -> None:
    marks = list(" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$")
    assert ordered(marks + list("019") + ["a", "Z"]) == marks + list("019") + ["a", "Z"]


def test_letters_compare_without_case_first_and_lower_before_upper_then() -> None:
    expected = ["a", "A", "ab", "aB", "Ab", "AB", "b"]
    assert ordered(expected) == expected


def test_digits_have_no_numeric_order() -> None:
    assert ordered(["2", "10"]) == ["10", "2"]


def test_ids_beyond_ascii_follow_the_same_collation() -> None:
    expected = ["_x", "10", "a", "á", "ab", "Äb", "z", "ж", "中"]
    assert ordered(expected) == expected


def test_canonically_equal_ids_still_have_one_order() -> None:
    assert ordered(["e\u0301", "\xe9"]) == ordered(["\xe9", "e\u0301"])


def test_creation_time_decides_first_and_ties_ascend_by_id_either_way() -> None:
    items = [(1, "b"), (2, "c"), (1, "a"), (2, "B")]
    newest = sort_by_creation(items, lambda x: x[0], lambda x: x[1], newest_first=True)
    oldest = sort_by_creation(items, lambda x: x[0], lambda x: x[1], newest_first=False)
    assert newest == [(2, "B"), (2, "c"), (1, "a"), (1, "b")]
    assert oldest == [(1, "a"), (1, "b"), (2, "B"), (2, "c")]


def test_the_collation_tables_load_only_for_ties_beyond_ascii() -> None:
    code = (
        "import sys\n"
        "from palimpsest_core.query.collate import sort_by_creation as s\n"
        "s([(1,'b'),(1,'a'),(2,'é')], lambda x: x[0], lambda x: x[1], newest_first=True)\n"
        "assert 'pyuca' not in sys.modules\n"
        "s([(1,'b'),(1,'é')], lambda x: x[0], lambda x: x[1], newest_first=True)\n"
        "assert 'pyuca' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
