"""Text between events: taking it bit by bit, from stored rows, or over a restart makes no difference."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from loglike import CHUNK, MESSAGE, maybe

from palimpsest_core.log.loose import LooseText
from palimpsest_core.model.event import UNSET, Event

CHUNKED = st.fixed_dictionaries({"turn": st.just(1), "step": st.just(1), "chunk": maybe(CHUNK)})
PROMPT = st.builds(
    lambda message, id: {**message, "id": id, "source": {"kind": "user"}}, MESSAGE, st.sampled_from(["a", "b", "c"])
)
NO_CITES = st.just(UNSET)
ROW = st.one_of(
    st.tuples(st.just("assistant/chunk"), CHUNKED, NO_CITES),
    st.tuples(st.just("assistant/chunk"), CHUNKED, NO_CITES),
    st.tuples(
        st.just("agent/inbox/spliced"), st.builds(lambda p: {"inserted": p}, st.lists(PROMPT, max_size=2)), NO_CITES
    ),
    st.tuples(st.just("user/message"), PROMPT, NO_CITES),
    st.tuples(st.just("assistant/message"), st.just({}), NO_CITES | st.lists(st.integers(0, 25), max_size=3)),
    st.tuples(st.sampled_from(["llm/retry", "step/end", "turn/end", "step/start"]), st.just({}), NO_CITES),
)


def numbered(rows: list[tuple[str, Any, Any]]) -> list[Event]:
    return [Event(kind, seq, 0, data, UNSET, cited) for seq, (kind, data, cited) in enumerate(rows)]


LOGS = st.lists(ROW, max_size=25).map(numbered)


def at_once(log: list[Event]) -> dict[int, str]:
    loose = LooseText()
    for event in log:
        loose.push(event)
    return loose.take_changes()


def apply(documents: dict[int, str], changes: dict[int, str]) -> None:
    for seq, text in changes.items():
        if text:
            documents[seq] = text
        else:
            del documents[seq]  # A change may only delete what an earlier one wrote.


@given(LOGS, st.sets(st.integers(0, 25)))
@settings(max_examples=300)
def test_changes_taken_bit_by_bit_add_up_to_the_whole(log: list[Event], stops: set[int]) -> None:
    loose = LooseText()
    documents: dict[int, str] = {}
    for event in log:
        if event.seq in stops:
            apply(documents, loose.take_changes())
        loose.push(event)
    apply(documents, loose.take_changes())
    assert documents == at_once(log)
    assert loose.take_changes() == {}


@given(LOGS, st.integers(0, 25))
@settings(max_examples=200)
def test_a_restart_changes_nothing(log: list[Event], cut: int) -> None:
    loose = LooseText()
    documents: dict[int, str] = {}
    for event in log[:cut]:
        loose.push(event)
    apply(documents, loose.take_changes())
    loose = LooseText.restore(loose.save())
    for event in log[cut:]:
        loose.push(event)
    apply(documents, loose.take_changes())
    assert documents == at_once(log)


@given(LOGS, st.integers(0, 25))
@settings(max_examples=200)
def test_stored_chunks_give_what_their_events_give(log: list[Event], cut: int) -> None:
    loose = LooseText()
    documents: dict[int, str] = {}
    for event in log:
        raw = json.dumps(event.data).encode()
        if not (event.type == "assistant/chunk" and loose.push_raw(event.type, event.seq, 1, raw)):
            loose.push(event)
        if event.seq == cut:
            apply(documents, loose.take_changes())
            loose = LooseText.restore(loose.save())
    apply(documents, loose.take_changes())
    assert documents == at_once(log)
