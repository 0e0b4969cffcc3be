"""The shapes that the reference demands of an event before it replays it: envelope, message, request header, turn end.

Every function answers with one sentence about the first fault, or None. Only generation 0 is checked: the reference
reads no other. An absent key and a null are different things here, as they are in the reference's own language.
"""

from __future__ import annotations

from typing import Any, Final

from palimpsest_core.log.markers import LARGEST
from palimpsest_core.log.shapes import member
from palimpsest_core.model.event import UNSET, Event

_MESSAGES: Final = {"user/message": "user", "assistant/message": "assistant", "tool/result": "user"}
_ADAPTER_DEFAULTS: Final = ("reasoningEffort", "maxTokens")
_PLAIN_ENDS: Final = frozenset({"completed", "blocked", "max-tokens", "interrupted"})


def _is_integer(value: Any) -> bool:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _has_model(value: Any) -> bool:
    return _is_name(member(value, "provider")) and _is_name(member(value, "model"))


def envelope_fault(event: Event, index: int) -> str | None:
    """What is wrong with the keys around the payload of the event at `index` of its log."""
    if event.extra is not UNSET:
        return f"Event {index} has keys that no event of this generation has."
    if not _is_integer(event.time):
        return f"The time of event {index} is no whole number within the safe range."
    if event.ignorable is not UNSET and event.ignorable is not True:
        return f"Event {index} has an ignorable mark that is not true."
    if event.seq != index:
        return f"Event {index} has the number {event.seq}; numbers must go on without a gap."
    return None


def message_fault(event: Event) -> str | None:
    """What is wrong with the message of an event; None for events that carry none."""
    role = _MESSAGES.get(event.type)
    if role is None:
        return None
    what = f"The {event.type} at event {event.seq}"
    message = event.data if event.type == "user/message" else member(event.data, "message")
    source = member(message, "source")
    if not _is_name(member(message, "id")):
        return f"{what} has no message with an id."
    if message.get("role") != role:
        return f'{what} must have the role "{role}".'
    if not _is_name(member(source, "kind")):
        return f"{what} does not say where it comes from."
    if not isinstance(message.get("content"), list):
        return f"{what} has no list of content blocks."
    if event.type == "assistant/message" and (source["kind"] != "model" or not _has_model(source)):
        return f"{what} does not name the model it comes from."
    return _result_fault(what, message, source) if event.type == "tool/result" else None


def _result_fault(what: str, message: dict[str, Any], source: dict[str, Any]) -> str | None:
    if source["kind"] != "tool" or not _is_name(source.get("callId")):
        return f"{what} does not name the call it answers."
    content = message["content"]
    block = content[0] if len(content) == 1 else None
    if member(block, "type") != "tool-result" or not isinstance(member(block, "content"), list):
        return f"{what} must hold exactly one tool-result block."
    if member(block, "toolCallId") != source["callId"]:
        return f"{what} names one call in its block and another in its source."
    return None


def request_fault(event: Event) -> str | None:
    """What is wrong with a `request/header`; None for other events."""
    if event.type != "request/header":
        return None
    what = f"The request header at event {event.seq}"
    header = member(event.data, "header")
    config = member(header, "config")
    if not _has_model(config):
        return f"{what} names no provider and model."
    if "reasoningEffort" in config and not _is_name(config["reasoningEffort"]):
        return f"{what} has a reasoning effort that is no text."
    if "adapterDefaults" not in header:
        return None
    defaults = header["adapterDefaults"]
    sound = isinstance(defaults, dict) and all(
        key in _ADAPTER_DEFAULTS and value is True and key in config for key, value in defaults.items()
    )
    return None if sound else f"{what} marks adapter defaults that do not fit its config."


def removed_fault(type: str, data: Any, seq: int) -> str | None:
    """Whether an event belongs to the vocabulary that no reader of this generation takes any more."""
    if type == "request/header-delta":
        return f"Event {seq} is a request/header-delta, which no release reads any more."
    if type == "request/header" and member(data, "reason") == "fallback":
        return f'The request header at event {seq} has the reason "fallback", which no release reads any more.'
    return None


def old_shape_fault(event: Event) -> str | None:
    """Whether an event still has an old shape: the reader has modernised every well-formed one."""
    data = event.data
    match event.type:
        case "steering/message" | "mode/set":
            return f"Event {event.seq} is a {event.type} in a shape that cannot be read any more."
        case "request/header" if data is None:
            return f"The request header at event {event.seq} has no payload."
        case "turn/start" if isinstance(data, dict) and "trigger" in data:
            return f"The turn start at event {event.seq} has a malformed trigger."
        case "turn/end" if isinstance(data, dict) and not _is_turn_end(data):
            return f"The turn end at event {event.seq} is malformed."
    return None


def _is_turn_end(data: dict[str, Any]) -> bool:
    reason = data.get("reason")
    if not _is_integer(data.get("turn")) or data["turn"] < 1 or data.keys() != {"turn", "reason"}:
        return False
    if not isinstance(reason, dict) or not isinstance(reason.get("kind"), str):
        return False
    kind = reason["kind"]
    if kind in _PLAIN_ENDS:
        return len(reason) == 1
    # The old shapes of these ends lack the member that the modern ones have.
    needed = {"aborted": "reason", "error": "error", "disposed": "modern form"}.get(kind)
    return needed is None or needed in reason


def boundary_fault(event: Event) -> str | None:
    """Whether the scan for an open turn trips over an event: a boundary or a call without payload, a block of null."""
    if event.type in ("turn/start", "step/start", "tool/call") and event.data is None:
        return f"The {event.type} at event {event.seq} has no payload."
    if event.type == "assistant/message" and None in event.data["message"]["content"]:
        return f"The assistant message at event {event.seq} holds a block that is null."
    return None
