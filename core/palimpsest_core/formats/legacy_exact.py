"""Old shapes of generation 0 exactly as the reference reads them: what strict mode uses instead of `formats.legacy`.

The reference modernises a well-formed old shape and refuses a malformed one; here the malformed one stays as it is, and
strict validation refuses it. Old names and missing group ids, which the tolerant reader supplies, stay as they are too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.formats.jsjson import is_safe_int
from palimpsest_core.formats.legacy import Modernizer
from palimpsest_core.formats.rows import StoredRow
from palimpsest_core.model.event import Event


class ExactModernizer(Modernizer):
    """Changes only what the reference changes. Rows keep their stored type; an event's type may be the modern one."""

    def observe(self, row: StoredRow) -> None:
        """Take note of a row: only of old tool results, whose ids later ones inherit."""
        if row.type == "tool/result":
            super().observe(row)

    def modern(self, event: Event) -> Event:
        """The event in its modern shape, or as it is when it is modern or malformed."""
        data = event.data
        if not isinstance(data, dict):
            return event
        match event.type:
            case "turn/start":
                changed = _turn_start(data)
            case "turn/end":
                changed = _turn_end(data)
            case "steering/message":
                wrapped = self._steering(event, data)
                if wrapped is None:
                    return event
                event = msgspec.structs.replace(event, type="user/message", data=wrapped)
                changed = self._user(event, wrapped)
            case "user/message":
                changed = self._user(event, data)
            case "assistant/message" if data.keys() >= {"content", "provenance"}:
                changed = self.assistant(event, data)
            case "tool/result" if data.keys() >= {"callId", "content", "isError"}:
                changed = self.result(event, data)
            case _:
                return event
        return event if changed is event.data else msgspec.structs.replace(event, data=changed)

    def _steering(self, event: Event, data: dict[str, Any]) -> dict[str, Any] | None:
        if not is_safe_int(data.get("turn")):
            return None
        if isinstance(data.get("message"), dict) and data.keys() == {"turn", "message"}:
            message: dict[str, Any] = data["message"]
            return message
        if data.keys() == {"turn", "content", "source"}:
            return {
                "content": data["content"],
                "source": data["source"],
                "id": self._message_id(event),
                "role": "user",
            }
        return None

    def _user(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        if data.keys() & {"id", "role", "message"} or not data.keys() >= {"content", "source"}:
            return data
        return {**data, "id": self._message_id(event), "role": "user"}


def _turn_start(data: dict[str, Any]) -> dict[str, Any]:
    trigger = data.get("trigger")
    kind = trigger.get("kind") if isinstance(trigger, dict) else None
    if data.keys() == {"turn", "trigger"} and is_safe_int(data["turn"], 1) and isinstance(kind, str) and kind:
        return {"turn": data["turn"]}
    return data


def _turn_end(data: dict[str, Any]) -> dict[str, Any]:
    reason = data.get("reason")
    if data.keys() != {"turn", "reason"} or not is_safe_int(data["turn"], 1) or not isinstance(reason, dict):
        return data
    match reason.get("kind"):
        case "aborted" if len(reason) == 1:
            now: dict[str, Any] = {"kind": "aborted", "reason": {"kind": "legacy"}}
        case "disposed" if len(reason) == 1:
            now = {"kind": "aborted", "reason": {"kind": "disposed"}}
        case "error" if "error" not in reason and is_safe_int(reason.get("step"), 0):
            error = _old_error(reason)
            if error is None:
                return data
            now = {"kind": "error", "error": error}
        case _:
            return data
    return {**data, "reason": now}


def _old_error(reason: dict[str, Any]) -> dict[str, Any] | None:
    """The error of an old turn end in either of its spellings; None when it is malformed."""
    failure = reason.get("failure")
    if isinstance(failure, dict) and reason.keys() == {"kind", "step", "failure"} and _is_failure(failure):
        return failure
    message, code = reason.get("message"), reason.get("code", "UNKNOWN")
    if reason.keys() - {"code"} != {"kind", "step", "message"} or not isinstance(message, str):
        return None
    return {"message": message, "code": code} if isinstance(code, str) else None


def _is_failure(failure: dict[str, Any]) -> bool:
    numbers = ("status", "providerRetryAfterMs")
    return (
        {"message", "code"} <= failure.keys() <= {"message", "code", "requestId", *numbers}
        and all(isinstance(failure.get(key, ""), str) for key in ("message", "code", "requestId"))
        and all(_is_number(failure.get(key, 0)) for key in numbers)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
