"""What of an event can be found: the contract's table, and what the full set adds."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.formats.generations import KNOWN_TYPES as FORMAT_TYPES
from palimpsest_core.log.text import FULL, KNOWN_TYPES, REFERENCE, Registry, registry_for, semantic_text
from palimpsest_core.model.event import Event


def text(type: str, data: Any, registry: Registry = REFERENCE) -> str:
    return semantic_text(Event(type, 0, 0, data), registry)


def say(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": item} for item in texts]


TABLE = [
    ("user/message", {"content": say(" one ", "", "two\n")}, "one\ntwo"),
    (
        "assistant/message",
        {"message": {"content": [{"type": "reasoning", "text": "secret"}, *say("said")]}},
        "said",
    ),
    (
        "assistant/message",
        {"message": {"content": [{"type": "tool-call", "id": "c", "name": "grep", "arguments": '{"a": 1}'}]}},
        'grep\n{"a": 1}',
    ),
    ("tool/call", {"name": "grep", "arguments": " {} "}, "grep\n{}"),
    (
        "tool/result",
        {
            "message": {"content": [{"type": "tool-result", "toolCallId": "c", "content": say("out")}]},
            "error": {"name": "E", "code": "C", "reason": "why"},
        },
        "out\nE\nC",
    ),
    ("tool/result", {"message": {"role": "tool", "toolCallId": "c", "content": say("direct")}}, "direct"),
    ("todo/write", {"todos": [{"content": "a", "status": "pending"}, {"content": "b"}]}, "pending\na\nb"),
    ("turn/end", {"reason": {"kind": "error", "error": {"message": "boom"}}}, "error\nboom"),
    ("turn/end", {"reason": {"kind": "error"}}, "error"),
    ("turn/end", {"reason": {"kind": "aborted", "reason": {"kind": "hook", "reason": "no"}}}, "aborted"),
    ("turn/end", {"reason": {"kind": "max-tokens"}}, "max-tokens"),
    ("turn/end", {"reason": {"kind": "interrupted"}}, "interrupted"),
    ("turn/end", {"reason": {"kind": "completed"}}, ""),
    ("turn/end", {"reason": {"kind": "blocked"}}, ""),
    ("session/title", {"title": "t"}, ""),
    ("request/header", {"header": {"system": "s"}}, ""),
    ("acme/own", {"text": "x"}, ""),
    ("user/message", {"content": [{"type": "acme", "text": "x"}]}, ""),
    ("user/message", {"content": say("\ufeff \u2003"), "source": {"kind": "x", "summary": "s"}}, ""),
    ("user/message", {"content": say("\u200b")}, "\u200b"),
]


@pytest.mark.parametrize(("type", "data", "wanted"), TABLE)
def test_the_reference_set_is_the_contract_s_table(type: str, data: Any, wanted: str) -> None:
    assert text(type, data) == wanted


FULL_TABLE = [
    ("user/message", {"content": say("a"), "source": {"summary": "b", "sections": [{"text": "c"}]}}, "a\nb\nc"),
    ("user/message", {"content": [{"type": "acme", "title": "x", "rows": [["y", 4]]}]}, "x\ny"),
    ("user/message", {"content": [{"type": "image", "attachment": {"name": "plan.png"}}]}, "plan.png"),
    ("user/message", {"content": [{"type": "compaction", "item": {"encrypted_content": "zzz"}}]}, ""),
    ("system/message", {"message": {"content": say("be kind")}}, "be kind"),
    ("developer/message", {"message": {"content": [{"type": "tool-addition", "toolName": "lint"}]}}, "lint"),
    (
        "assistant/attempt",
        {
            "stream": [
                {"type": "reasoning-chunks", "index": 0, "texts": ["sec", "ret"]},
                {"type": "text-chunks", "index": 1, "texts": ["half ", "an answer"]},
                {"type": "tool-call-chunks", "index": 2, "id": "c", "name": "grep", "args": ["{", "}"]},
            ]
        },
        "half an answer\ngrep\n{}",
    ),
    (
        "tool/ptc-dispatch",
        {"name": "grep", "arguments": {"q": "x", "in": ["y", 3]}, "content": say("z"), "error": {"reason": "w"}},
        "grep\nx\ny\nz\nw",
    ),
    (
        "request/header",
        {"header": {"system": "s", "tools": [{"name": "n", "description": "d", "parameters": {"description": "p"}}]}},
        "s\nd",
    ),
    ("turn/end", {"reason": {"kind": "aborted", "reason": {"kind": "hook", "reason": "no"}}}, "aborted\nno"),
    (
        "tool/result",
        {"message": {"content": say("o")}, "error": {"name": "E", "code": "C", "reason": "r"}},
        "o\nE\nC\nr",
    ),
    ("session/title", {"title": "t", "source": {"kind": "user"}}, "t"),
    ("session/title-llm-request", {"messages": [{"content": "a prompt"}]}, ""),
    ("compaction/summary", {"summary": say("short"), "rawOutput": say("long")}, "short\nlong"),
    ("compaction/end", {"error": "no room"}, "no room"),
    ("command/run", {"name": "compact", "args": "now"}, "compact\nnow"),
    ("command/done", {"text": "done"}, "done"),
    ("goal/change", {"goal": {"objective": "o", "blockedReason": {"message": "b"}}}, "o\nb"),
    ("team/member", {"member": {"name": "Ada", "description": "d", "error": "e"}}, "Ada\nd\ne"),
    ("team/task", {"task": {"subject": "s", "description": "d"}}, "s\nd"),
    ("team/message/queued", {"message": {"content": say("memo")}}, "memo"),
    ("hook/result", {"stderrSummary": "warned"}, "warned"),
    ("schedule/change", {"schedule": {"prompt": "p"}}, "p"),
    ("subagent/descriptor", {"label": "l", "persona": "p", "provider": "x"}, "l\np"),
    ("deliverables/presented", {"files": [{"path": "a.md", "description": "d"}]}, "a.md\nd"),
    ("feedback/message-put", {"item": {"rating": "positive", "note": "n"}}, "n"),
    ("web/deepseek-search-llm-request", {"body": {"messages": [{"content": say("look up")}]}}, "look up"),
    ("acme/own", {"type": "skipped", "deep": [{"x": "found"}], "n": 4}, "found"),
    ("workspace/changes", {"turn": 1, "files": ["x"]}, ""),
]


@pytest.mark.parametrize(("type", "data", "wanted"), FULL_TABLE)
def test_the_full_set_finds_what_the_vocabulary_names(type: str, data: Any, wanted: str) -> None:
    assert text(type, data, FULL) == wanted


@pytest.mark.parametrize(("type", "data", "wanted"), TABLE)
def test_the_full_set_never_loses_what_the_reference_finds(type: str, data: Any, wanted: str) -> None:
    assert wanted in text(type, data, FULL)


def test_reasoning_is_found_by_nobody() -> None:
    data = {"message": {"content": [{"type": "tool-result", "content": [{"type": "reasoning", "text": "secret"}]}]}}
    assert text("assistant/message", data, FULL) == ""


def test_every_type_that_the_formats_know_is_known_to_the_full_set() -> None:
    shown_raw = {"request/header-delta", "mode/set"}
    assert KNOWN_TYPES | shown_raw == FORMAT_TYPES


def test_a_new_extractor_makes_a_type_searchable_and_changes_the_fingerprint() -> None:
    own = REFERENCE.with_event("acme/own", "1", lambda data: [str(data["text"])])
    assert text("acme/own", {"text": "found"}, own) == "found"
    assert text("acme/own", {"text": "found"}) == ""
    blocks = REFERENCE.with_block("acme", "1", lambda block: [block["x"]])
    assert text("user/message", {"content": [{"type": "acme", "x": "y"}]}, blocks) == "y"
    prints = {r.fingerprint() for r in (REFERENCE, FULL, own, blocks, own.with_event("acme/own", "2", lambda _: []))}
    assert len(prints) == 5


def test_a_fingerprint_depends_on_versions_alone() -> None:
    one = REFERENCE.with_event("a/b", "1", lambda _: []).with_event("c/d", "1", lambda _: [])
    other = REFERENCE.with_event("c/d", "1", lambda _: ["x"]).with_event("a/b", "1", lambda _: ["y"])
    assert one.fingerprint() == other.fingerprint()


def test_the_setting_names_the_two_sets() -> None:
    assert registry_for("reference") is REFERENCE
    assert registry_for("full") is FULL
    with pytest.raises(KeyError):
        registry_for("other")
