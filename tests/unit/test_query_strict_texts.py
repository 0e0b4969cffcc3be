"""Events of which the reference cannot take the text; every case here was asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, row, write

from palimpsest_core import Engine, ErrorCode, Event, SessionQueryError, SessionStore, parse_config
from palimpsest_core.log.textfault import text_fault

STRICT = parse_config({}, mode="strict")
TEXT = {"type": "text", "text": "x"}


def message(*blocks: Any) -> dict[str, Any]:
    return {"content": list(blocks)}


SOUND: list[tuple[str, Any]] = [
    ("user/message", message()),
    ("user/message", message(TEXT, 5, "x", {}, {"type": "reasoning"}, {"type": "image", "text": 5})),
    ("user/message", message({"type": "tool-result", "content": [TEXT]})),
    ("assistant/message", {"message": message({"type": "tool-call", "name": "n", "arguments": ""})}),
    ("tool/call", {"name": "", "arguments": ""}),
    ("tool/result", {"message": message(TEXT), "error": {"name": None}}),
    ("tool/result", {"message": message(TEXT), "error": 5}),
    ("todo/write", {"todos": []}),
    ("turn/end", {"reason": {"kind": "error", "error": {"message": ""}}}),
    ("turn/end", {"reason": {"kind": "completed"}}),
    ("turn/end", {"reason": "completed"}),
    ("hook/invoked", None),
]
FAULTY: list[tuple[str, Any]] = [
    ("user/message", message(None)),
    ("user/message", message({"type": "text"})),
    ("user/message", message({"type": "text", "text": 5})),
    ("user/message", message({"type": "tool-result", "content": "x"})),
    ("user/message", message({"type": "tool-result", "content": [{"type": "text", "text": None}]})),
    ("user/message", {"content": "x"}),
    ("assistant/message", {"message": message({"type": "tool-call", "name": "n"})}),
    ("assistant/message", None),
    ("tool/call", {"name": 5, "arguments": ""}),
    ("tool/call", []),
    ("tool/result", {"message": message(TEXT), "error": {"name": 0}}),
    ("tool/result", {"message": message(TEXT), "error": {"code": False}}),
    ("todo/write", {"todos": None}),
    ("todo/write", {"todos": [None]}),
    ("todo/write", {"todos": [{"status": "pending"}]}),
    ("turn/end", {"reason": {"kind": "error", "error": None}}),
    ("turn/end", {"reason": {"kind": "error", "error": "x"}}),
    ("turn/end", {"reason": None}),
    ("turn/end", 5),
]


@pytest.mark.parametrize(("kind", "data"), SOUND)
def test_a_text_that_nobody_promised_may_be_missing(kind: str, data: Any) -> None:
    assert text_fault(Event(kind, 3, 0, data)) is None


@pytest.mark.parametrize(("kind", "data"), FAULTY)
def test_a_text_that_its_kind_promises_must_be_there(kind: str, data: Any) -> None:
    assert "event 3" in (text_fault(Event(kind, 3, 0, data)) or "")


def refused(call: Any, *args: Any) -> ErrorCode:
    with pytest.raises(SessionQueryError) as caught:
        call(*args)
    return caught.value.code


def test_such_an_event_fails_its_documents_and_every_search_but_no_other_read(tmp_path: Path) -> None:
    rows = [header(), row(0), prompt(1, "needle"), row(2, "todo/write", {"todos": None})]
    end = row(3, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    write(tmp_path, frames([*rows, end]))
    with Engine(tmp_path, index=":memory:", config=STRICT) as strict:
        assert len(strict.list_events("sess")) == 4
        assert refused(strict.filter_events, "sess", [{"kind": "seq", "to": 1}]) is ErrorCode.CORRUPT_SESSION
        assert refused(strict.search_sessions, "needle") is ErrorCode.PERSISTENCE_FAILED
    with Engine(tmp_path, index=":memory:") as tolerant:
        assert [item.seq for item in tolerant.filter_events("sess", [])] == [1]
        assert len(tolerant.search_sessions("needle").items) == 1


def test_a_live_session_with_such_an_event_fails_searches_too(tmp_path: Path) -> None:
    store = SessionStore(window_seconds=None)
    store.create("live", {})
    store.append("live", "tool/call", {"name": "n"})
    with Engine(tmp_path, index=":memory:", config=STRICT, store=store) as strict:
        assert refused(strict.filter_events, "live", []) is ErrorCode.CORRUPT_SESSION
        assert refused(strict.search_sessions, "x") is ErrorCode.CORRUPT_SESSION
        store.dispose("live")
        assert strict.search_sessions("x").items == []
