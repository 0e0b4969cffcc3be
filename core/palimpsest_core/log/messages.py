"""Who says what: messages, content blocks, calls, results and images, whatever the generation.

Session format, section 7. Nothing here raises on malformed data; what is missing is empty or None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from palimpsest_core.log.shapes import member, objects_at, text_at, whole
from palimpsest_core.log.streams import attempt_content
from palimpsest_core.model.event import Event
from palimpsest_core.model.session import Speaker

MESSAGE_TYPES = frozenset(
    {"user/message", "assistant/message", "tool/result", "system/message", "developer/message", "steering/message"}
)
"""The event types that carry one message."""

_DISPATCHES = frozenset(
    {"tool/code-dispatch", "tool/code-dispatch-start", "tool/ptc-dispatch", "tool/ptc-dispatch-start"}
)
_RELAYS = frozenset({"coordinator", "subagent-report", "agent-message", "team-message"})
_NOTICES = frozenset({"subagent-settled", "webhook"})


class ToolCall(NamedTuple):
    """A call as asked for or as recorded; `arguments` is the JSON text, verbatim and perhaps invalid."""

    id: str
    name: str
    arguments: str


class ToolResult(NamedTuple):
    """What a call gave, out of any of the three places that hold it."""

    call_id: str
    is_error: bool
    content: list[dict[str, Any]]
    error_name: str = ""
    error_code: str = ""
    error_reason: str = ""


class Attachment(NamedTuple):
    """A reference to an attached image or file; `id` is `sha256:<hex>`, sizes are bytes and pixels (None: not said)."""

    kind: str
    id: str
    media_type: str
    bytes: int | None
    width: int | None
    height: int | None
    name: str
    offloaded: bool


def message_of(event: Event) -> dict[str, Any]:
    """The message of an event (a user message is its own payload), or an empty object."""
    data = event.data
    if not isinstance(data, dict) or event.type not in MESSAGE_TYPES:
        return {}
    inner = data.get("message")
    if isinstance(inner, dict):
        return inner
    return data if "content" in data else {}


def result_content(message: Any) -> list[dict[str, Any]]:
    """The blocks of a tool result's message: inside the wrapper block (v0 to v3), or direct (v4)."""
    blocks = objects_at(message, "content")
    if len(blocks) == 1 and blocks[0].get("type") == "tool-result":
        return objects_at(blocks[0], "content")
    return blocks


def content_blocks(event: Event) -> list[dict[str, Any]]:
    """The content blocks that an event shows, a tool result's wrapper taken off.

    Also for attempts (put together from their stream), summaries, nested dispatches and queued team messages.
    """
    if event.type == "tool/result":
        return result_content(message_of(event))
    if event.type in MESSAGE_TYPES:
        return objects_at(message_of(event), "content")
    if event.type == "assistant/attempt":
        return attempt_content(event.data)
    if event.type in ("compaction/summary", "compact/summary"):
        return objects_at(event.data, "summary")
    if event.type == "team/message/queued":
        return objects_at(event.data, "message", "content")
    if event.type in _DISPATCHES:
        return objects_at(event.data, "content")
    return []


def source_of(event: Event) -> dict[str, Any]:
    """The source of an event's message, or an empty object."""
    found = message_of(event).get("source")
    return found if isinstance(found, dict) else {}


def source_kind(event: Event) -> str:
    """The kind of an event's source, such as `user`, `model` or `plugin`; empty when there is none."""
    return text_at(source_of(event), "kind")


def is_human_prompt(event: Event) -> bool:
    """Whether a person wrote this: only a user message whose source kind is `user`."""
    return event.type in ("user/message", "steering/message") and source_kind(event) == "user"


def is_checkpoint(event: Event) -> bool:
    """Whether this message stands for a compacted part of the history."""
    source = source_of(event)
    kind = source.get("kind")
    return kind == "compact-checkpoint" or (kind == "plugin" and source.get("plugin") == "compact")


def speaker_of(event: Event) -> Speaker | None:
    """Who speaks in an event's message; None for events without one. Unknown sources count as injected context."""
    match event.type:
        case "assistant/message" | "assistant/attempt":
            return Speaker.ASSISTANT
        case "tool/result":
            return Speaker.TOOL
        case "system/message":
            return Speaker.SYSTEM
        case "developer/message":
            return Speaker.DEVELOPER
        case "user/message" | "steering/message":
            return _user_speaker(event)
    return None


def _user_speaker(event: Event) -> Speaker:
    source = source_of(event)
    kind, form = text_at(source, "kind"), text_at(source, "form")
    if kind == "user":
        return Speaker.USER
    if is_checkpoint(event):
        return Speaker.COMPACTION
    if form == "notice" or kind in _NOTICES:
        return Speaker.NOTICE
    if form == "relay" or kind in _RELAYS:
        return Speaker.RELAY
    return Speaker.CONTEXT


def message_id(event: Event) -> str | None:
    """The id of an event's message; it stays the same over generations and migrations."""
    return text_at(message_of(event), "id") or None


def _call(block: Any, id_key: str) -> ToolCall:
    return ToolCall(text_at(block, id_key), text_at(block, "name"), text_at(block, "arguments"))


def tool_calls(event: Event) -> list[ToolCall]:
    """The calls that an assistant message asks for, in their order."""
    return [_call(block, "id") for block in content_blocks(event) if block.get("type") == "tool-call"]


def call_of(event: Event) -> ToolCall | None:
    """The recorded call of a `tool/call` event."""
    return _call(event.data, "callId") if event.type == "tool/call" else None


def result_call_id(data: Any) -> str:
    """The call id of a `tool/result` payload: in source, message (v4) or wrapper, or direct (old v0)."""
    message = member(data, "message")
    wrapped = objects_at(message, "content")
    places = (
        text_at(message, "source", "callId"),
        text_at(message, "toolCallId"),
        text_at(wrapped[0], "toolCallId") if wrapped else "",
        text_at(data, "callId"),
    )
    return next((place for place in places if place), "")


def tool_result(event: Event) -> ToolResult | None:
    """What a `tool/result` event says, or None for other events."""
    if event.type != "tool/result":
        return None
    data, message = event.data, message_of(event)
    wrapped = objects_at(message, "content")
    failed = any(
        member(place, "isError") is True for place in (message, wrapped[0] if wrapped else None, data)
    ) or isinstance(member(data, "error"), dict)
    return ToolResult(
        result_call_id(data),
        failed,
        result_content(message),
        text_at(data, "error", "name"),
        text_at(data, "error", "code"),
        text_at(data, "error", "reason"),
    )


def attachments_of(event: Event) -> list[Attachment]:
    """Images and files of an event, depth first, nested results included (the order that image offloads count in)."""
    found: list[Attachment] = []
    stack: list[Any] = list(reversed(content_blocks(event)))
    while stack:
        block = stack.pop()
        if not isinstance(block, dict):
            continue
        if block.get("type") in ("image", "file"):
            found.append(_attachment(block))
        inner = block.get("content")
        if isinstance(inner, list):
            stack.extend(reversed(inner))
    return found


def images_of(event: Event) -> list[Attachment]:
    """The images of an event, in the order in which image offloads count them."""
    return [item for item in attachments_of(event) if item.kind == "image"]


def _attachment(block: dict[str, Any]) -> Attachment:
    inner = block.get("attachment")
    return Attachment(
        text_at(block, "type"),
        text_at(inner, "attachmentId"),
        text_at(inner, "mediaType"),
        whole(member(inner, "bytes")),
        whole(member(inner, "width")),
        whole(member(inner, "height")),
        text_at(inner, "name"),
        block.get("offloaded") is True,
    )
