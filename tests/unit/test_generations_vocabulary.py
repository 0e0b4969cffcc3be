"""Every kind of event of every generation, with words of its own: each is found and shown where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, row, write

from palimpsest_core import CancelToken, Engine, Event
from palimpsest_tui.reading.event_doc import TextBuilder
from palimpsest_tui.reading.lines import text_of

APPEND = {"surfaceOp": "append"}
Chapter = Callable[["Words", int], Iterator[tuple[str, Any]]]
_DIGITS = str.maketrans("0123456789", "abcdefghij")


class Words:
    """Gives a word that nothing else holds each time it is asked, and remembers them."""

    def __init__(self) -> None:
        self._numbers = count(1000)
        self.given: list[str] = []

    def __call__(self) -> str:
        word = f"q{next(self._numbers)}z".translate(_DIGITS)
        self.given.append(word)
        return word

    def text(self) -> list[dict[str, Any]]:
        return [{"type": "text", "text": self()}]


def prompts(w: Words, v: int) -> Iterator[tuple[str, Any]]:
    def said(source: dict[str, Any], *content: dict[str, Any]) -> tuple[str, Any]:
        return "user/message", {"id": "m", "role": "user", "content": [*content, *w.text()], "source": source}

    yield said({"kind": "user"})
    yield said({"kind": "skill-invocation", "name": "s", "form": "f"})
    plugin = {"kind": "plugin" if v < 4 else "plugin:acme", "plugin": "acme", "form": "snapshot"}
    yield said({**plugin, "sections": [{"name": "n", "text": w()}], "summary": w()})
    image = {"attachmentId": "sha256:" + "a" * 64, "mediaType": "image/png", "bytes": 1, "width": 1, "height": 1}
    odd = {"type": "mystery", "deep": {"x": [w()]}}
    yield said({"kind": "webhook", "provider": "p", "summary": w()}, {"type": "image", "attachment": image}, odd)


def spoken(w: Words, v: int) -> Iterator[tuple[str, Any]]:
    at = {"turn": 1, "step": 1}
    model = {"kind": "model", "provider": "p", "model": "m"}
    if v >= 3:
        source = {"kind": "system-prompt"} if v >= 4 else {"kind": "plugin", "plugin": "x"}
        yield (
            "system/message",
            {**at, "message": {"id": "y", "role": "system", "content": w.text(), "source": source}},
        )
    if v >= 4:
        tools = [{"type": "tool-addition", "toolName": w()}, {"type": "tool-removal", "toolName": w()}]
        message = {"id": "d", "role": "developer", "content": [*w.text(), *tools], "source": {"kind": "system-prompt"}}
        yield "developer/message", {"message": message}
    call = {"type": "tool-call", "id": "c1", "name": w(), "arguments": f'{{"x":"{w()}"}}'}
    answer = {"id": "a", "role": "assistant", "content": [*w.text(), call], "source": model}
    yield "assistant/message", {**at, "message": answer, **({"stream": []} if v >= 2 else {})}
    yield "tool/call", {**at, "callId": "c1", "name": w(), "arguments": f'{{"x":"{w()}"}}'}
    by = {"kind": "tool", "callId": "c1"}
    if v >= 4:
        result = {"id": "t", "role": "tool", "toolCallId": "c1", "content": w.text(), "source": by}
    else:
        block = {"type": "tool-result", "toolCallId": "c1", "content": w.text()}
        result = {"id": "t", "role": "user", "content": [block], "source": by}
    yield "tool/result", {**at, "message": result, "error": {"name": "E", "code": "C", "reason": w()}}
    if v >= 2:
        stream = [
            {"type": "text-chunks", "time0": 1, "index": 0, "dt": [1], "texts": [w() + " ", w()]},
            {"type": "tool-call-chunks", "time0": 1, "index": 2, "dt": [], "id": "z", "name": w(), "args": [w()]},
            {"type": "chunk", "time": 3, "chunk": {"type": "block-end", "index": 3, "block": w.text()[0]}},
        ]
        yield "assistant/attempt", {**at, "stream": stream}


def queued(w: Words, _v: int) -> Iterator[tuple[str, Any]]:
    def waiting(name: str) -> dict[str, Any]:
        return {"id": name, "role": "user", "content": w.text(), "source": {"kind": "user"}}

    yield (
        "agent/inbox/spliced",
        {"target": "next-turn", "start": 0, "inserted": [waiting("i1")], "outcome": "canceled"},
    )
    yield "agent/inbox/spliced", {"target": "next-step", "start": 0, "inserted": [waiting("i2")]}


def requests(w: Words, v: int) -> Iterator[tuple[str, Any]]:
    tools = [{"name": "n", "description": w(), "parameters": {}}]
    system = {"system": w()} if v < 3 else {}
    yield "request/header", {"header": {"config": {}, "tools": tools, **system}, "reason": "initial"}
    yield "llm/retry", {"retryId": "r", "turn": 1, "step": 1, "retry": 1, "failure": {"message": w(), "code": "c"}}
    body = {"model": "m", "messages": [{"role": "user", "content": w.text()}], "tools": [{}]}
    yield "web/deepseek-search-llm-request", {"endpoint": "e", "apiVersion": "a", "body": body}


def tools(w: Words, v: int) -> Iterator[tuple[str, Any]]:
    name = "tool/ptc-dispatch" if v >= 3 else "tool/code-dispatch"
    ids = {"rootCallId": "c1", "parentCallId": "c1", "subCallId": "c1:code:1"}
    yield f"{name}-start", {**ids, "name": w(), "arguments": {"q": w()}}
    error = {"error": {"name": "n", "code": "c", "reason": w()}} if v >= 4 else {}
    yield name, {**ids, "name": w(), "arguments": {"q": [w()]}, "isError": False, "content": w.text(), **error}
    yield "tool-workflow/run-start", {"runId": "r", "name": w()}
    yield "tool-workflow/agent-start", {"runId": "r", "seq": 1, "label": w(), "childId": "k"}
    yield "todo/write", {"todos": [{"content": w(), "status": "pending"}]}
    if v >= 3:
        yield "deliverables/presented", {"turn": 1, "callId": "c", "files": [{"path": w(), "description": w()}]}


def bookkeeping(w: Words, _v: int) -> Iterator[tuple[str, Any]]:
    yield "session/title", {"title": w(), "messageSeqs": [0], "source": {"kind": "provider", "provider": "p"}}
    yield "approval/asked", {"id": "a", "toolName": "t", "reason": w()}
    yield "command/run", {"commandId": "c", "name": w(), "args": w(), "source": {"kind": "user"}}
    yield "command/done", {"commandId": "c", "kind": "success", "text": w()}
    summary = {"summary": w.text(), "rawOutput": w.text(), "shadowedSeqs": [], "provider": "p", "model": "m"}
    yield "compaction/summary", {"compactionId": "k", **summary}
    yield "compaction/end", {"compactionId": "k", "turn": None, "error": w()}
    yield "feedback/record", {"text": w()}
    yield "feedback/message-put", {"sessionId": "s", "item": {"messageId": "m", "rating": "positive", "note": w()}}
    goal = {"id": "g", "objective": w(), "blockedReason": {"code": "c", "message": w()}}
    yield "goal/change", {"kind": "goal/change", "version": 1, "operation": "block", "goal": goal}
    yield "hook/result", {"turn": 1, "point": "p", "handlerId": "h", "decision": "d", "stderrSummary": w()}
    yield "schedule/change", {"version": 1, "operation": "create", "schedule": {"id": "i", "prompt": w()}}


def company(w: Words, v: int) -> Iterator[tuple[str, Any]]:
    yield "subagent/descriptor", {"version": 3, "mode": "one-shot", "provider": "p", "label": w(), "persona": w()}
    if v >= 3:
        yield "subagent/catalog", {"version": 1, "childId": "k", "childCreatedAt": 1, "mode": "unknown", "label": w()}
    member = {"id": "i", "name": w(), "description": w(), "error": w()}
    yield "team/member", {"version": 1, "teamId": "t", "member": member}
    yield "team/task", {"version": 1, "teamId": "t", "task": {"id": "i", "subject": w(), "description": w()}}
    yield "team/message/queued", {"version": 1, "teamId": "t", "message": {"id": "i", "content": w.text()}}
    yield "acme/odd", {"a": {"b": [w(), {"c": w()}]}}


def ends(w: Words, _v: int) -> Iterator[tuple[str, Any]]:
    yield "turn/end", {"turn": 1, "reason": {"kind": "error", "error": {"message": w(), "code": "c"}}}
    yield "turn/end", {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "hook", "reason": w()}}}


def old_shapes(w: Words, _v: int) -> Iterator[tuple[str, Any]]:
    user = {"kind": "user"}
    message = {"id": "st", "role": "user", "content": w.text(), "source": user}
    yield "steering/message", {"turn": 1, "message": message}
    yield "steering/message", {"turn": 1, "content": w.text(), "source": user}
    yield "user/message", {"content": w.text(), "source": user}
    yield "assistant/message", {"turn": 1, "step": 1, "content": w.text(), "provenance": {"provider": "p"}}
    yield "tool/result", {"turn": 1, "step": 1, "callId": "c", "content": w.text(), "isError": False}
    yield "llm/retry", {"turn": 1, "step": 1, "retry": 1, "failure": {"message": w(), "code": "c"}}
    yield "compact/summary", {"summary": w.text(), "shadowedSeqs": [], "provider": "p", "model": "m"}
    yield "compact/end", {"turn": None, "error": w()}
    prefix = [{"role": "user", "content": w.text()}]
    yield "request/header", {"header": {"config": {}, "system": w(), "messagePrefix": prefix}, "reason": "fallback"}
    yield "request/header-delta", {"delta": {"system": w()}}
    yield "mode/set", {"mode": w()}
    yield "turn/end", {"turn": 1, "reason": {"kind": "error", "step": 1, "message": w()}}
    yield "turn/end", {"turn": 1, "reason": {"kind": "error", "step": 1, "failure": {"message": w()}}}


_SURFACE = {"user/message", "assistant/message", "tool/result", "system/message", "developer/message"}
_MODERN = (spoken, prompts, queued, requests, tools, bookkeeping, company, ends)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 8])
def test_every_word_of_every_kind_of_event_is_found_and_shown_where_it_stands(tmp_path: Path, version: int) -> None:
    find_all(tmp_path, version, _MODERN)


def test_every_word_of_the_oldest_shapes_is_found_and_shown_where_it_stands(tmp_path: Path) -> None:
    find_all(tmp_path, 0, (old_shapes,))


def shown_text(event: Event) -> str:
    """What the app shows of an event, lines joined."""
    document = TextBuilder(100, wrapped=True, cancel=CancelToken()).document(event, [])
    return "\n".join(text_of(document.line(number)) for number in range(len(document)))


def find_all(root: Path, version: int, chapters: tuple[Chapter, ...]) -> None:
    w = Words()
    rows: list[dict[str, Any]] = []
    where: dict[str, int] = {}
    for chapter in chapters:
        for kind, data in chapter(w, version):
            seq = len(rows)
            mark = APPEND if kind in _SURFACE or kind == "steering/message" else {}
            skippable = {"ignorable": True} if kind.startswith("acme/") else {}
            rows.append(row(seq, kind, data, **mark, **skippable))
            where.update(dict.fromkeys((word for word in w.given if word in str(data)), seq))
    assert set(where) == set(w.given)
    write(root, frames([header(version, "s"), *rows]), version=version, session_id="s")
    with Engine(root, index=":memory:") as engine:
        engine.refresh()
        found = {word: [hit.seq for hit in engine.search_events("s", word).items] for word in where}
        counts = engine.row_counts(next(summary.path for summary in engine.sessions()))
        with engine.open_log("s").closing() as log:
            log.load()
            shown = [shown_text(log.event(seq)) for seq in range(len(rows))]
    assert [word for word, seq in where.items() if word not in shown[seq]] == []
    assert found == {word: [seq] for word, seq in where.items()}
    assert (counts.shown, counts.withheld) == (len(rows), 0)
