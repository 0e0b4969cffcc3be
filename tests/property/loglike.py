"""Strategies for foreign payloads: any JSON at all, and payloads that look like a log's but are wrong somewhere."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from palimpsest_core.log.text import KNOWN_TYPES
from palimpsest_core.model.event import UNSET, Event

NASTY = st.sampled_from(
    ["", " \t", "needle", "a\x1b[31mb", "\u202edrow", "\ud800", "é\u0301 \ufeff", "x" * 300, "[b]["]
)
TEXT = NASTY | st.text(max_size=12)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**60) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)

BLOCK_TYPES = ["text", "reasoning", "tool-call", "tool-result", "image", "file", "tool-addition", "compaction", "x:y"]


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what it should be, sometimes anything."""
    return st.one_of(strategy, strategy, strategy, JSON)


def blocks() -> st.SearchStrategy[Any]:
    """A list of content blocks, with members that may be missing, wrong or of another block."""
    leaf = st.fixed_dictionaries(
        {"type": maybe(st.sampled_from(BLOCK_TYPES))},
        optional={
            "text": maybe(TEXT),
            "name": maybe(TEXT),
            "arguments": maybe(TEXT),
            "toolName": maybe(TEXT),
            "id": maybe(TEXT),
            "attachment": maybe(st.fixed_dictionaries({}, optional={"name": maybe(TEXT), "bytes": JSON})),
        },
    )
    nested = st.builds(
        lambda kind, content: {"type": kind, "content": content},
        st.sampled_from(["tool-result", "text", "x:y"]),
        maybe(st.lists(leaf, max_size=2)),
    )
    return maybe(st.lists(maybe(leaf | nested), max_size=4))


SOURCE = st.fixed_dictionaries(
    {"kind": maybe(st.sampled_from(["user", "model", "tool", "plugin", "compact-checkpoint", "webhook"]))},
    optional={
        "summary": maybe(TEXT),
        "sections": maybe(st.lists(maybe(st.fixed_dictionaries({}, optional={"text": maybe(TEXT)})), max_size=2)),
        "form": JSON,
        "plugin": maybe(st.just("compact")),
        "callId": maybe(TEXT),
    },
)
MESSAGE = st.fixed_dictionaries({"content": blocks()}, optional={"id": maybe(TEXT), "source": maybe(SOURCE)})
ERROR = st.fixed_dictionaries({}, optional={"name": maybe(TEXT), "code": maybe(TEXT), "reason": maybe(TEXT)})
CHUNK = st.fixed_dictionaries(
    {"type": maybe(st.sampled_from(["text-delta", "tool-call-delta", "block-start", "block-end", "finish", "usage"]))},
    optional={
        "index": maybe(st.integers(0, 2)),
        "text": maybe(TEXT),
        "argumentsDelta": maybe(TEXT),
        "block": maybe(st.fixed_dictionaries({"type": st.sampled_from(BLOCK_TYPES), "text": maybe(TEXT)})),
        "usage": JSON,
        "reason": JSON,
    },
)
PAYLOAD = (
    MESSAGE
    | st.fixed_dictionaries(
        {},
        optional={
            "message": maybe(MESSAGE),
            "error": maybe(ERROR),
            "turn": maybe(st.integers(1, 3)),
            "step": maybe(st.integers(1, 3)),
            "callId": maybe(TEXT),
            "name": maybe(TEXT),
            "arguments": maybe(TEXT),
            "content": blocks(),
            "reason": maybe(st.fixed_dictionaries({"kind": maybe(st.sampled_from(["error", "aborted", "forked"]))})),
            "title": maybe(TEXT),
            "messageSeqs": JSON,
            "source": maybe(SOURCE),
            "header": maybe(
                st.fixed_dictionaries(
                    {}, optional={"system": maybe(TEXT), "tools": JSON, "messagePrefix": JSON, "config": JSON}
                )
            ),
            "todos": JSON,
            "inserted": maybe(st.lists(maybe(MESSAGE), max_size=2)),
            "removedCount": JSON,
            "chunk": maybe(CHUNK),
            "usage": JSON,
            "stream": JSON,
            "summary": blocks(),
            "goal": JSON,
            "files": JSON,
        },
    )
    | JSON
)

TYPES = st.sampled_from(sorted(KNOWN_TYPES)) | st.sampled_from(
    ["user/message", "assistant/message", "tool/call", "tool/result", "turn/end", "request/header", "acme/unknown"]
)

EVENT = st.builds(
    lambda kind, seq, data, op, sources: Event(kind, seq, 1000 + seq, data, op, sources),
    TYPES,
    st.integers(0, 50),
    PAYLOAD,
    st.just(UNSET) | st.just("append") | JSON,
    st.just(UNSET) | st.lists(st.integers(0, 40), max_size=4) | JSON,
)


def log_of(*types: str, most: int = 30) -> st.SearchStrategy[list[Event]]:
    """A log of events of these types (all known ones by default), numbered from 0."""
    kinds = st.sampled_from(types) if types else TYPES
    rows = st.lists(st.tuples(kinds, PAYLOAD, st.just(UNSET) | st.lists(st.integers(0, 30), max_size=3)), max_size=most)
    return rows.map(
        lambda picked: [Event(kind, n, 1000 + n, data, UNSET, cited) for n, (kind, data, cited) in enumerate(picked)]
    )
