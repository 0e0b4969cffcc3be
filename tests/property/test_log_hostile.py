"""Nothing in a log's payloads can make the pure functions over it raise."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loglike import EVENT, JSON, log_of

from palimpsest_core.base.jstext import trim
from palimpsest_core.base.printable import printable_line
from palimpsest_core.log import messages
from palimpsest_core.log.gist import gist, label_of, one_line
from palimpsest_core.log.lineage import CutFinder
from palimpsest_core.log.loose import documents
from palimpsest_core.log.repair import RepairScan, closers
from palimpsest_core.log.text import FULL, REFERENCE, semantic_text
from palimpsest_core.log.titles import TitleFold, UnreadableTitle, reference_title, title_of
from palimpsest_core.log.turns import TurnIndex
from palimpsest_core.log.usage import UsageTotals, usage_of
from palimpsest_core.log.validate import LogState, validate_append, validate_log, validate_stored
from palimpsest_core.model.event import Event
from palimpsest_core.model.header import Header

HEADER = Header(version=0, id="s", created_at=1, cwd="/w", delegation_depth=0)


@given(EVENT)
@settings(max_examples=400)
def test_every_look_at_an_event_gives_an_answer(event: Event) -> None:
    assert isinstance(messages.message_of(event), dict)
    assert all(isinstance(block, dict) for block in messages.content_blocks(event))
    messages.speaker_of(event)
    messages.message_id(event)
    messages.is_checkpoint(event)
    messages.tool_calls(event)
    messages.call_of(event)
    messages.tool_result(event)
    messages.attachments_of(event)
    assert title_of(event) is None or event.type == "session/title"
    if event.type == "session/title":
        with contextlib.suppress(UnreadableTitle):
            reference_title(event)
    usage = usage_of(event)
    assert usage is None or usage.total >= 0


@given(EVENT, st.sampled_from([REFERENCE, FULL]))
@settings(max_examples=400)
def test_text_is_always_text_and_trimmed(event: Event, registry: Any) -> None:
    text = semantic_text(event, registry)
    assert text == trim(text)


@given(EVENT, st.integers(-1, 90))
@settings(max_examples=300)
def test_a_gist_is_one_printable_line_that_fits(event: Event, width: int) -> None:
    label, text = gist(event, width)
    assert label == label_of(event)
    assert 0 < len(label) <= 7
    assert len(text) <= max(width, 1)
    assert printable_line(text) == text


@given(st.text(max_size=400), st.integers(1, 80))
def test_a_line_is_cut_exactly_when_it_does_not_fit(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert (line[-1:] == "…") or len(line) == len(one_line(text, 10_000))


@given(log_of())
@settings(max_examples=150)
def test_a_whole_log_of_nonsense_can_be_read(log: list[Event]) -> None:
    for registry in (REFERENCE, FULL):
        found = list(documents(log, registry))
        assert [seq for seq, _ in found] == sorted({seq for seq, _ in found})
        assert all(text for _, text in found)
    titles, turns, usage, cut = TitleFold(), TurnIndex(), UsageTotals(), CutFinder(HEADER)
    for event in log:
        titles.push(event)
        turns.push(event)
        usage.push(event)
        cut.push(event)
    for turn in turns.turns:
        assert turn.last_seq is None or turn.first_seq <= turn.last_seq + 1
        for seq in range(turn.first_seq, (turn.last_seq or turn.first_seq) + 1):
            assert turns.turn_at(seq) is not None
    assert usage.total.total >= 0


@given(log_of())
@settings(max_examples=150)
def test_strict_replay_answers_for_every_log(log: list[Event]) -> None:
    validate_stored({"version": 0, "cwd": "/w"}, log)
    validate_log(HEADER, log)
    state = LogState()
    for event in log:
        if validate_append(state, event) is None:
            state.push(event)


@given(JSON)
def test_strict_replay_answers_for_every_header(raw: Any) -> None:
    if isinstance(raw, dict):
        assert validate_stored(raw, []) is not None or raw.get("version") == 0


REPAIR_TYPES = ("turn/start", "turn/end", "step/start", "step/end", "assistant/message", "tool/call", "tool/result")


@given(log_of(*REPAIR_TYPES), st.sampled_from([0, 3, 4]))
@settings(max_examples=200)
def test_closers_come_only_when_a_turn_is_open_and_close_it(log: list[Event], generation: int) -> None:
    scan = RepairScan(generation)
    for event in log:
        scan.push(event)
    made = scan.closers()
    assert bool(made) == scan.open
    if made:
        assert [event.type for event in made][-1] == "turn/end"
        assert [event.seq for event in made] == list(range(len(log), len(log) + len(made)))
        assert all(event.synthetic and event.time == log[-1].time for event in made)
    assert closers([*log, *made], generation) == []


@given(log_of(*REPAIR_TYPES), st.integers(0, 30))
@settings(max_examples=100)
def test_a_repair_scan_goes_on_from_its_saved_state(log: list[Event], cut: int) -> None:
    scan = RepairScan(0)
    for event in log[:cut]:
        scan.push(event)
    scan = RepairScan.restore(0, scan.save())
    for event in log[cut:]:
        scan.push(event)
    assert repr(scan.closers()) == repr(closers(log, 0))


@pytest.mark.parametrize("registry", [REFERENCE, FULL])
def test_nesting_deeper_than_the_interpreter_goes_is_no_trouble(registry: Any) -> None:
    block: Any = {"type": "text", "text": "deep needle"}
    other: Any = ["deep string"]
    for _ in range(20_000):
        block = {"type": "tool-result", "content": [block]}
        other = [other]
    event = Event("user/message", 0, 0, {"content": [block]})
    assert semantic_text(event, registry) == "deep needle"
    assert semantic_text(Event("acme/deep", 0, 0, other), registry) in ("", "deep string")
    messages.attachments_of(event)
    assert gist(event, 40).text
