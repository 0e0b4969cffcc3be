"""The surface fold against an obvious slow model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_core.log.markers import Marker, Replace, parse_op
from palimpsest_core.log.surface import SurfaceFold, surface_types
from palimpsest_core.model.event import UNSET, Surface

TYPES = ["user/message", "assistant/message", "tool/result", "system/message", "developer/message", "turn/start", "x/y"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)

Row = tuple[str, Any, Any]


def slow_fold(rows: list[Row], generation: int) -> tuple[list[int], dict[int, int], int]:
    """Section 5 word for word over a plain list: surface, shadowed by, number of broken rules."""
    nodes: list[int] = []
    shadowed: dict[int, int] = {}
    head: int | None = None
    broken = 0
    for seq, (kind, op, sources) in enumerate(rows):
        if kind not in surface_types(generation):
            broken += kind == "turn/start" and (op is not UNSET or sources is not UNSET)
            continue
        parsed = parse_op(op)
        known = isinstance(sources, list) and all(type(one) is int and 0 <= one < seq for one in sources)
        known = known and len(set(sources)) == len(sources) and bool(sources or kind == "assistant/message")
        broken += sources is not UNSET and not known
        fits = isinstance(parsed, Replace) and parsed.start in nodes and parsed.end in nodes
        if fits and isinstance(parsed, Replace):
            a, b = nodes.index(parsed.start), nodes.index(parsed.end)
            cut = nodes[a : b + 1]
            fits = a <= b and isinstance(sources, list) and set(cut) <= set(sources)
            if kind == "system/message":
                fits = fits and head is not None and cut == [head]
            elif head is not None and head in (parsed.start, parsed.end):
                fits = False
            if kind == "tool/result":
                fits = fits and len(cut) == 1 and rows[cut[0]][0] == "tool/result"
            if kind == "assistant/message" and generation >= 2:
                fits = False
        if fits and isinstance(parsed, Replace):
            nodes[a : b + 1] = [seq]
            shadowed.update(dict.fromkeys(cut, seq))
            head = seq if kind == "system/message" else head
            continue
        if parsed is not Marker.APPEND:
            broken += 1
        elif kind == "system/message":
            if not nodes:
                head = seq
            elif head is None:
                broken += 1
        nodes.append(seq)
    return nodes, shadowed, broken


def build(generation: int, picks: list[tuple[str, int, int, int, Any]]) -> list[Row]:
    """Rows whose replacements mostly name real nodes, so that most of them can be applied."""
    rows: list[Row] = []
    for kind, what, first, span, junk in picks:
        op: Any = "append"
        sources: Any = UNSET
        surface = slow_fold(rows, generation)[0]
        if what >= 5 and surface:
            a = first % len(surface)
            b = min(a + span % 4, len(surface) - 1) if what < 9 else span % len(surface)
            old, new = ("start", "end"), ("startSeq", "endSeq")
            start, end = old if span % 2 else new
            op = {"op": "replace", start: surface[a], end: surface[b]}
            sources = sorted(surface[a : b + 1]) if what < 8 else [first, span]
        elif what == 4:
            op = junk
        rows.append((kind, op, sources))
    return rows


SMALL = st.integers(0, 30)
PICK = st.tuples(st.sampled_from(TYPES), st.integers(0, 9), SMALL, SMALL, st.just(UNSET) | JSON)


def logs() -> st.SearchStrategy[tuple[int, list[Row]]]:
    return st.integers(0, 5).flatmap(
        lambda generation: st.lists(PICK, max_size=25).map(lambda picks: (generation, build(generation, picks)))
    )


def push(fold: SurfaceFold, rows: list[Row], start: int = 0) -> None:
    for seq, (kind, op, sources) in enumerate(rows[start:], start):
        fold.push_op(kind, seq, op, sources)


@given(logs())
@settings(max_examples=300)
def test_the_fold_equals_the_obvious_slow_model(log: tuple[int, list[Row]]) -> None:
    generation, rows = log
    fold = SurfaceFold(generation)
    push(fold, rows)
    nodes, shadowed, broken = slow_fold(rows, generation)
    assert fold.surface == nodes
    assert fold.replaced_by == shadowed
    assert len(fold.problems) == min(broken, 20)
    for seq in range(len(rows)):
        wanted = Surface.SHADOWED if seq in shadowed else Surface.CURRENT if seq in nodes else Surface.LOG_ONLY
        assert fold.kind(seq) is wanted


@given(logs(), st.data())
@settings(max_examples=150)
def test_a_fold_goes_on_from_its_saved_state_as_if_nothing_had_happened(
    log: tuple[int, list[Row]], data: st.DataObject
) -> None:
    generation, rows = log
    cut = data.draw(st.integers(0, len(rows)))
    whole, first = SurfaceFold(generation), SurfaceFold(generation)
    push(whole, rows)
    push(first, rows[:cut])
    second = SurfaceFold.restore(first.save())
    assert (second.surface, second.replaced_by, second.problems) == (first.surface, first.replaced_by, first.problems)
    push(second, rows, cut)
    assert (second.surface, second.replaced_by) == (whole.surface, whole.replaced_by)
    assert (second.replaced_seqs, second.problems) == (whole.replaced_seqs, whole.problems)
    assert second.save() == whole.save()


@given(logs())
@settings(max_examples=100)
def test_a_prefix_of_the_log_gives_a_prefix_of_the_fold(log: tuple[int, list[Row]]) -> None:
    generation, rows = log
    fold = SurfaceFold(generation)
    for seq, (kind, op, sources) in enumerate(rows):
        before = list(fold.surface)
        step = fold.push_op(kind, seq, op, sources)
        gone = set(step.replaced)
        assert [node for node in fold.surface if node != seq] == [node for node in before if node not in gone]
        assert fold.surface == slow_fold(rows[: seq + 1], generation)[0]


@given(logs(), st.integers(-1, 25))
@settings(max_examples=150)
def test_any_earlier_surface_can_be_had_from_the_whole_fold(log: tuple[int, list[Row]], moment: int) -> None:
    generation, rows = log
    fold = SurfaceFold(generation)
    push(fold, rows)
    assert fold.surface_at(moment) == slow_fold(rows[: moment + 1], generation)[0]


@given(st.integers(0, 6), st.lists(st.tuples(st.sampled_from(TYPES), JSON, JSON), max_size=12))
def test_no_marker_and_no_sources_can_break_the_fold(generation: int, rows: list[Row]) -> None:
    fold = SurfaceFold(generation)
    push(fold, rows)
    assert fold.surface == slow_fold(rows, generation)[0]


@given(st.binary(max_size=40))
def test_bytes_that_are_no_saved_fold_are_refused_in_words(state: bytes) -> None:
    with pytest.raises(ValueError, match="fold the log again"):
        SurfaceFold.restore(state)
