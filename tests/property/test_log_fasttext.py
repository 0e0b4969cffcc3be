"""The indexer's short cut and the general extractors give the same text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loglike import PAYLOAD, TYPES

from palimpsest_core.formats.jsjson import BadJson, loads
from palimpsest_core.log.fasttext import fast_text
from palimpsest_core.log.text import FULL, REFERENCE, semantic_text
from palimpsest_core.model.event import Event


def general(type: str, raw: bytes, registry: Any) -> str:
    """The slow way: build the payload as the reader does, then extract."""
    return semantic_text(Event(type, 0, 0, loads(raw)), registry)


@given(TYPES, PAYLOAD, st.booleans(), st.sampled_from([REFERENCE, FULL]))
@settings(max_examples=1000)
def test_the_short_cut_equals_the_general_way_wherever_it_answers(
    type: str, payload: Any, escaped: bool, registry: Any
) -> None:
    # Python writes NaN and lone surrogates, which are no JSON: then the reader would not have given the row.
    raw = json.dumps(payload, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    short = fast_text(type, raw, registry)
    if short is None:
        return
    try:
        wanted = general(type, raw, registry)
    except BadJson:
        assert b"NaN" in raw or b"Infinity" in raw
        return
    assert short == wanted


SOUND = [
    (
        "user/message",
        '{"id":"a","role":"user","content":[{"type":"text","text":" hi "}],"source":{"kind":"user"}}',
        "hi",
    ),
    (
        "assistant/message",
        '{"turn":1,"message":{"content":[{"type":"reasoning","text":"r"},{"type":"tool-call","id":"1","name":"n",'
        '"arguments":"{}"}]},"stream":[{"type":"chunk","chunk":{"deep":[[[1]]]}}]}',
        "n\n{}",
    ),
    ("tool/call", '{"turn":1,"step":1,"callId":"c","name":"grep","arguments":"{\\"a\\": 1}"}', 'grep\n{"a": 1}'),
    (
        "tool/result",
        '{"message":{"content":[{"type":"tool-result","content":[{"type":"text","text":"out"}]}]},'
        '"error":{"name":"E","code":"C"}}',
        "out\nE\nC",
    ),
    ("turn/end", '{"turn":1,"reason":{"kind":"error","error":{"message":"boom"}}}', "error\nboom"),
    ("todo/write", '{"todos":[{"content":"do","status":"pending"}]}', "pending\ndo"),
    ("step/start", '{"turn":1,"step":1}', ""),
]


@pytest.mark.parametrize("registry", [REFERENCE, FULL])
@pytest.mark.parametrize(("type", "raw", "text"), SOUND)
def test_sound_payloads_take_the_short_cut(type: str, raw: str, text: str, registry: Any) -> None:
    assert fast_text(type, raw.encode(), registry) == text


def test_a_payload_with_a_repeated_key_reads_the_same_both_ways() -> None:
    raw = b'{"content":[{"type":"text","text":"a","text":"b"}],"content":[{"type":"text","text":"c"}]}'
    assert fast_text("user/message", raw, FULL) in (None, general("user/message", raw, FULL))


def test_an_own_extractor_is_not_bypassed() -> None:
    shouting = FULL.with_block("text", "shout-1", lambda block: [str(block.get("text")).upper()])
    raw = b'{"content":[{"type":"text","text":"needle"}]}'
    assert fast_text("user/message", raw, shouting) in (None, "NEEDLE")
    calls = FULL.with_event("tool/call", "mine-1", lambda data: ["call"])
    assert fast_text("tool/call", b'{"name":"n","arguments":"a"}', calls) == "call"
    assert fast_text("user/message", raw, calls) == "needle"


def test_a_type_that_nobody_knows_is_left_to_the_general_way() -> None:
    assert fast_text("acme/thing", b'{"a":"b"}', FULL) is None
    assert fast_text("acme/thing", b'{"a":"b"}', REFERENCE) == ""
