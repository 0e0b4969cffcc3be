"""One line for each event: a short label of its kind and the gist of what it says, safe for a terminal.

Made for rows that are painted while somebody scrolls: it looks at the beginning of long texts only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from palimpsest_core.base.jstext import squeeze
from palimpsest_core.base.printable import printable_line
from palimpsest_core.log.labels import LABELS, label_of
from palimpsest_core.log.messages import (
    content_blocks,
    message_of,
    source_of,
    tool_result,
)
from palimpsest_core.log.shapes import list_at, member, objects_at, strings_of, text_at, whole
from palimpsest_core.log.usage import Usage, usage_of
from palimpsest_core.model.event import Event


class Gist(NamedTuple):
    """What a row shows: a label of at most 7 letters, and one printable line (which may be empty)."""

    label: str
    text: str


_DEPTH: Final = 8
"""How deep results within results are followed; no sound log nests them more than once."""

_PARSED: Final = 20_000
"""Longer arguments are shown as they are, because a row is painted while somebody scrolls."""


def gist(event: Event, width: int = 200) -> Gist:
    """Label and one-line gist of an event, at most `width` characters (an ellipsis where it is cut). Never raises."""
    tell = _TELL.get(event.type, _other)
    return Gist(label_of(event), one_line(tell(event, width), width))


def one_line(text: str, width: int) -> str:
    """The beginning of a foreign text as one printable line of at most `width` characters."""
    room = max(width, 1)
    # Four times the room is enough: squeezing makes text shorter, and the rest could not be seen anyway.
    line = printable_line(squeeze(text[: room * 4]))
    return line if len(line) <= room and len(text) <= room * 4 else line[: room - 1] + "…"


def _blocks(blocks: list[dict[str, Any]], width: int, depth: int = 0) -> str:
    """The texts of content blocks in one line, as far as there is room; what has no text is named in brackets."""
    parts: list[str] = []
    room = width * 4
    for block in blocks:
        if room <= 0:
            break
        part = _block(block, room, depth)
        if part:
            parts.append(part)
            room -= len(part)
    return "  ".join(parts)


def _block(block: dict[str, Any], room: int, depth: int) -> str:
    kind = text_at(block, "type")
    match kind:
        case "text":
            return text_at(block, "text")[:room]
        case "reasoning":
            return "[reasoning]"
        case "tool-call":
            return call_line(text_at(block, "name"), text_at(block, "arguments"), room)
        case "tool-result":
            return "…" if depth >= _DEPTH else _blocks(objects_at(block, "content"), room // 4, depth + 1)
        case "image" | "file":
            return f"[{kind} {text_at(block, 'attachment', 'name')}".rstrip() + "]"
        case "tool-addition":
            return f"+{text_at(block, 'toolName')}"
        case "tool-removal":
            return f"-{text_at(block, 'toolName')}"
        case "compaction":
            return "[sealed summary]"
    return f"[unsupported block {kind[:40]}] " + " ".join(_few(block))[:room]


def _few(value: Any, most: int = 8) -> list[str]:
    """The first few strings of an unknown value."""
    found: list[str] = []
    for text in strings_of(value):
        if text:
            found.append(text)
        if len(found) >= most:
            break
    return found


def _message(event: Event, width: int) -> str:
    blocks = content_blocks(event)
    text = _blocks(blocks, width)
    if not blocks and event.type == "assistant/message":
        usage = usage_of(event)
        return f"(empty, {usage.total} tokens)" if usage is not None else "(empty)"
    return text or text_at(source_of(event), "summary") or text_at(message_of(event), "content")


def _call(event: Event, width: int) -> str:
    return call_line(text_at(event.data, "name"), text_at(event.data, "arguments"), width * 4)


def call_line(name: str, arguments: str, room: int) -> str:
    """A call as a person would say it: `grep parse`, `edit path=a.py line=3`; what is no JSON object stays as it is."""
    try:
        given = json.loads(arguments) if len(arguments) <= _PARSED else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return f"{name} {arguments[:room]}"
    if len(given) == 1:
        return f"{name} {_argument(next(iter(given.values())), room)}"
    return " ".join([name, *(f"{key}={_argument(value, room)}" for key, value in given.items())])


def _argument(value: Any, room: int) -> str:
    return value[:room] if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:room]


def _result(event: Event, width: int) -> str:
    result = tool_result(event)
    if result is None:
        return ""
    text = _blocks(result.content, width)
    failed = result.error_code or result.error_name or ("error" if result.is_error else "")
    return f"{failed}: {text}" if failed else text or "(empty)"


def _turn(event: Event, _: int) -> str:
    number = _said(member(event.data, "turn"))
    head = f"turn {number}" if number else "turn"
    if event.type == "turn/start":
        return f"{head} starts"
    reason = member(event.data, "reason")
    kind = text_at(reason, "kind") or "ended"
    detail = (
        text_at(reason, "error", "message")
        or text_at(reason, "reason", "reason")
        or text_at(reason, "message")
        or text_at(reason, "reason", "kind")
    )
    return f"{head} {kind}: {detail}" if detail else f"{head} {kind}"


def _step(event: Event, _: int) -> str:
    number = _said(member(event.data, "step"))
    verb = "starts" if event.type == "step/start" else "ends"
    return f"step {number} {verb}" if number else f"step {verb}"


def _chunk(event: Event, _: int) -> str:
    chunk = member(event.data, "chunk")
    kind = text_at(chunk, "type")
    match kind:
        case "text-delta" | "reasoning-delta":
            return text_at(chunk, "text")
        case "tool-call-delta":
            return text_at(chunk, "argumentsDelta")
        case "block-start":
            return f"[{text_at(chunk, 'blockType')} begins]"
        case "block-end":
            return f"[{text_at(chunk, 'block', 'type')} ends]"
        case "finish":
            detail = text_at(chunk, "reason", "failure", "message")
            return f"[finish {text_at(chunk, 'reason', 'kind')}] {detail}"
        case "usage":
            return _usage(usage_of(event))
    return f"[{kind}]"


def _usage(usage: Usage | None) -> str:
    if usage is None:
        return "unknown"
    counts = (("in", usage.input), ("out", usage.output), ("cached", usage.cache_read))
    return " ".join(f"{name} {count}" for name, count in counts if count is not None) or f"{usage.total} tokens"


def _inbox(event: Event, width: int) -> str:
    inserted = objects_at(event.data, "inserted")
    removed = _said(member(event.data, "removedCount")).removeprefix("0")
    parts = [_blocks(objects_at(message, "content"), width) for message in inserted[:3]]
    if removed:
        canceled = text_at(event.data, "outcome") == "canceled"
        parts.append(f"[{removed} queued, {'cancelled' if canceled else 'now taken up'}]")
    return "  ".join(part for part in parts if part) or "[nothing queued]"


def _request(event: Event, _: int) -> str:
    header = member(event.data, "header")
    tools = objects_at(header, "tools")
    model = "/".join(part for part in (text_at(header, "config", key) for key in ("provider", "model")) if part)
    parts = [model, f"{len(tools)} tools" if tools else "", text_at(event.data, "reason")]
    return ", ".join(part for part in parts if part)


def _todos(event: Event, _: int) -> str:
    todos = objects_at(event.data, "todos")
    done = sum(todo.get("status") == "completed" for todo in todos)
    now = next((text_at(todo, "content") for todo in todos if todo.get("status") == "in_progress"), "")
    return f"{done}/{len(todos)} done" + (f", now: {now}" if now else "")


def _nested(event: Event, width: int) -> str:
    call = f"{text_at(event.data, 'name')} {' '.join(_few(member(event.data, 'arguments')))[: width * 2]}"
    if event.type.endswith("-start"):
        return call
    return f"{call} → {_blocks(content_blocks(event), width)}"


def _compaction(event: Event, width: int) -> str:
    match event.type.partition("/")[2]:
        case "start":
            return "compaction starts"
        case "summary":
            count = len(list_at(event.data, "shadowedSeqs"))
            return f"{count} events: " + _blocks(objects_at(event.data, "summary"), width)
        case "prune":
            count = len(list_at(event.data, "shadowedSeqs"))
            return f"{count} result{'' if count == 1 else 's'} shortened"
    error = text_at(event.data, "error") or text_at(event.data, "error", "message")
    return f"compaction failed: {error}" if member(event.data, "error") is not None else "compaction ends"


def _offload(event: Event, _: int) -> str:
    return f"images left out of {len(objects_at(event.data, 'targets'))} messages from here on"


def _seed(event: Event, _: int) -> str:
    return "inherited history ends" if member(event.data, "inherited") is True else "session starts or resumes"


def _title_request(event: Event, _: int) -> str:
    return f"asks {text_at(event.data, 'titleProvider') or 'a model'} for a title"


def _files(event: Event, _: int) -> str:
    return ", ".join(text_at(file, "path") for file in objects_at(event.data, "files"))


def _other(event: Event, _: int) -> str:
    known = " ".join(_few(event.data))
    return f"{event.type}: {known}" if known else event.type


def _said(value: Any) -> str:
    number = whole(value)
    # Longer numbers are no counts, and the interpreter refuses to print the longest.
    return value if isinstance(value, str) else str(number) if number is not None and abs(number) < 1 << 63 else ""


def _say(*paths: str) -> Callable[[Event, int], str]:
    """The texts and numbers under dotted paths, in order, separated by spaces."""
    split = [path.split(".") for path in paths]

    def tell(event: Event, _: int) -> str:
        return " ".join(part for path in split if (part := _said(member(event.data, *path))))

    return tell


_TELL: Final[dict[str, Callable[[Event, int], str]]] = {
    **dict.fromkeys(("user/message", "assistant/message", "assistant/attempt", "system/message"), _message),
    **dict.fromkeys(("developer/message", "steering/message", "team/message/queued"), _message),
    "tool/call": _call,
    "tool/result": _result,
    **dict.fromkeys(("turn/start", "turn/end"), _turn),
    **dict.fromkeys(("step/start", "step/end"), _step),
    "assistant/chunk": _chunk,
    "agent/inbox/spliced": _inbox,
    "request/header": _request,
    "request/context": _say("provider", "model", "contextWindow"),
    "model/selection": _say("provider", "model", "reasoningEffort"),
    "llm/retry": _say("retry", "failure.code", "failure.message"),
    "llm/retry-started": _say("retry"),
    "web/deepseek-search-llm-request": lambda event, _: " ".join(_few(member(event.data, "body", "messages"))),
    **dict.fromkeys(("tool/code-dispatch", "tool/code-dispatch-start"), _nested),
    **dict.fromkeys(("tool/ptc-dispatch", "tool/ptc-dispatch-start"), _nested),
    "tool-workflow/run-start": _say("name"),
    "tool-workflow/agent-start": _say("label"),
    "tool-workflow/agent-end": _say("outcome"),
    "tool-workflow/run-end": _say("stopReason"),
    "todo/write": _todos,
    "deliverables/presented": _files,
    "image/offload": _offload,
    "session/title": _say("title"),
    "session/title-llm-request": _title_request,
    "session/end-seed": _seed,
    "session-log-deepseek/delivery-accepted": _say("throughSeq"),
    "agent-preset/selected": _say("agentPreset"),
    "permission/preset": _say("preset"),
    "plan/mode": lambda event, _: "on" if member(event.data, "active") is True else "off",
    "sandbox/mode": _say("mode"),
    "approval/asked": _say("toolName", "reason"),
    "approval/decided": _say("outcome"),
    "approval/policy": _say("policy"),
    "command/run": _say("name", "args"),
    "command/done": _say("kind", "text"),
    **dict.fromkeys((f"compaction/{part}" for part in ("start", "summary", "prune", "end")), _compaction),
    **dict.fromkeys((f"compact/{part}" for part in ("start", "summary", "prune", "end")), _compaction),
    "feedback/record": _say("text"),
    "feedback/message-put": _say("item.rating", "item.note"),
    "feedback/message-delete": _say("messageId"),
    "goal/change": _say("operation", "goal.objective", "goal.blockedReason.message"),
    "hook/invoked": _say("point", "matcher"),
    "hook/result": _say("point", "decision", "stderrSummary"),
    "schedule/change": _say("operation", "schedule.prompt"),
    "subagent/descriptor": _say("mode", "label"),
    "subagent/catalog": _say("mode", "label", "childId"),
    "team/member": _say("member.name", "member.phase", "member.description"),
    "team/task": _say("task.status", "task.subject"),
    "team/message/delivered": _say("messageId"),
}

__all__ = ["LABELS", "Gist", "call_line", "gist", "label_of", "one_line"]
