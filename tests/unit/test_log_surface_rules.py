"""The rules of the surface, one by one, and what a broken one does."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.log.markers import Marker, Replace, parse_op
from palimpsest_core.log.surface import SurfaceFold, surface_types
from palimpsest_core.model.event import UNSET, Surface


def replace(start: Any, end: Any) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


def folded(generation: int, *rows: tuple[Any, ...]) -> SurfaceFold:
    fold = SurfaceFold(generation)
    for seq, (kind, op, *sources) in enumerate(rows):
        fold.push_op(kind, seq, op, sources[0] if sources else UNSET)
    return fold


USER, ASSISTANT, RESULT, SYSTEM = "user/message", "assistant/message", "tool/result", "system/message"


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        ("append", Marker.APPEND),
        (UNSET, Marker.NONE),
        (None, Marker.MALFORMED),
        ("Append", Marker.MALFORMED),
        (replace(1, 2), Replace(1, 2)),
        (replace(1.0, 2), Replace(1, 2)),
        ({"op": "replace", "startSeq": 3, "endSeq": 4}, Replace(3, 4, True)),
        ({"op": "replace", "startSeq": 3, "end": 4}, Marker.MALFORMED),
        (replace(True, 2), Marker.MALFORMED),
        (replace(-1, 2), Marker.MALFORMED),
        (replace(1, 2**53), Marker.MALFORMED),
        ({**replace(1, 2), "more": 1}, Marker.MALFORMED),
        ({"op": "swap", "start": 1, "end": 2}, Marker.MALFORMED),
    ],
)
def test_a_marker_is_read_in_either_spelling_and_nothing_else(raw: Any, parsed: Any) -> None:
    assert parse_op(raw) == parsed


def test_each_generation_adds_its_surface_types() -> None:
    assert SYSTEM not in surface_types(2)
    assert SYSTEM in surface_types(3)
    assert "developer/message" not in surface_types(3)
    assert surface_types(4) == surface_types(9)


def test_order_goes_by_place_and_not_by_number() -> None:
    fold = folded(
        0,
        (USER, "append"),
        (USER, "append"),
        (USER, "append"),
        (USER, replace(0, 0), [0]),
        (USER, replace(3, 1), [1, 3]),
    )
    assert fold.surface == [4, 2]
    assert not fold.unreliable
    assert fold.replaced_by == {0: 3, 3: 4, 1: 4}
    assert fold.replaced_seqs == {3: [0], 4: [3, 1]}


def test_a_reversed_range_is_skipped_and_its_node_goes_to_the_tail() -> None:
    fold = folded(0, (USER, "append"), (USER, "append"), (USER, replace(1, 0), [0, 1]))
    assert fold.surface == [0, 1, 2]
    assert fold.problems == ["The replacement 2 starts at event 1, which comes after its end, event 0."]


def test_a_source_that_does_not_exist_is_said_and_the_event_stays_where_it_is() -> None:
    fold = folded(0, (USER, "append"), (ASSISTANT, "append", [0]), (USER, "append", [1, 77]), (USER, "append", "1"))
    assert fold.surface == [0, 1, 2, 3]
    assert fold.unreliable
    assert "Event 2 cites event 77" in fold.problems[0]
    assert "no list of event numbers" in fold.problems[1]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ((USER, replace(7, 7), [7]), "names event 7"),
        ((USER, replace(0, 2), [0, 1, 2]), "names event 2"),
        ((USER, replace(0, 1), [0]), "does not cite event 1"),
        ((USER, replace(0, 1)), "does not cite event 0"),
        ((RESULT, replace(0, 0), [0]), "only one tool result"),
        ((USER, "nonsense"), "neither append nor a replacement"),
        ((USER, UNSET), "has no surface marker"),
    ],
)
def test_what_cannot_be_applied_is_said_and_changes_no_other_node(row: tuple[Any, ...], problem: str) -> None:
    fold = folded(0, (USER, "append"), (ASSISTANT, "append"), ("turn/end", UNSET), row)
    assert fold.surface == [0, 1, 3]
    assert problem in fold.problems[0]
    assert fold.unreliable


def test_events_that_are_never_seen_by_the_model_are_log_only() -> None:
    fold = folded(0, ("turn/start", UNSET), ("acme/own", "append"), (SYSTEM, "append"), (USER, "append"))
    assert [fold.kind(seq) for seq in range(4)] == [Surface.LOG_ONLY] * 3 + [Surface.CURRENT]
    assert fold.kind(99) is Surface.LOG_ONLY
    assert not fold.unreliable


def test_an_answer_may_replace_in_old_generations_only() -> None:
    rows = ((USER, "append"), (ASSISTANT, replace(0, 0), [0]))
    assert folded(1, *rows).surface == [1]
    assert folded(2, *rows).surface == [0, 1]


class TestProtectedHead:
    def test_only_a_system_message_may_take_its_place(self) -> None:
        fold = folded(3, (SYSTEM, "append"), (USER, "append"), (SYSTEM, replace(0, 0), [0]))
        assert fold.surface == [2, 1]
        assert not fold.unreliable

    def test_the_new_head_is_protected_too(self) -> None:
        fold = folded(3, (SYSTEM, "append"), (SYSTEM, replace(0, 0), [0]), (USER, replace(1, 1), [1]))
        assert fold.surface == [1, 2]
        assert "head of the surface" in fold.problems[0]

    def test_a_compaction_must_not_cover_it(self) -> None:
        fold = folded(4, (SYSTEM, "append"), (USER, "append"), (USER, replace(0, 1), [0, 1]))
        assert fold.surface == [0, 1, 2]
        assert fold.unreliable

    def test_a_system_message_after_others_without_a_head_breaks_the_rules(self) -> None:
        fold = folded(3, (USER, "append"), (SYSTEM, "append"))
        assert fold.surface == [0, 1]
        assert fold.unreliable


def test_a_long_log_that_only_grows_is_saved_in_little_room() -> None:
    fold = SurfaceFold(4)
    for seq in range(0, 60_000, 2):
        fold.push_op(USER, seq, "append")
    assert len(fold.save()) < 2_000
    assert SurfaceFold.restore(fold.save()).surface == fold.surface


def test_what_a_push_shadowed_is_told_at_once() -> None:
    fold = folded(0, (USER, "append"), (USER, "append"), (USER, "append"))
    step = fold.push_op(USER, 3, replace(0, 1), [0, 1])
    assert step.surface is Surface.CURRENT
    assert list(step.replaced) == [0, 1]
    assert step.problem is None
