"""Payloads of which the reference cannot take the text: there, extraction fails for the whole log.

Tolerant reading never asks here; what is missing simply has no text. Asked for by strict mode, where one such event
makes its session's documents, and every search, fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from palimpsest_core.model.event import Event


def _blocks_sound(content: Any) -> bool:
    """A list of blocks, each of which has the text that its type promises; unknown blocks promise none."""
    if not isinstance(content, list):
        return False
    waiting = list(content)
    while waiting:
        block = waiting.pop()
        if block is None:
            return False
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and not isinstance(block.get("text"), str):
            return False
        if kind == "tool-call" and not _texts(block, "name", "arguments"):
            return False
        if kind == "tool-result":
            inner = block.get("content")
            if not isinstance(inner, list):
                return False
            waiting += inner
    return True


def _texts(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)


def _user(data: Any) -> bool:
    return isinstance(data, dict) and _blocks_sound(data.get("content"))


def _assistant(data: Any) -> bool:
    return isinstance(data, dict) and _user(data.get("message"))


def _call(data: Any) -> bool:
    return _texts(data, "name", "arguments")


def _result(data: Any) -> bool:
    if not _assistant(data):
        return False
    error = data.get("error")
    # Name and code may be missing, but not be something else.
    return not isinstance(error, dict) or all(
        error.get(key) is None or isinstance(error[key], str) for key in ("name", "code")
    )


def _todos(data: Any) -> bool:
    todos = data.get("todos") if isinstance(data, dict) else None
    return isinstance(todos, list) and all(_texts(todo, "status", "content") for todo in todos)


def _turn_end(data: Any) -> bool:
    reason = data.get("reason") if isinstance(data, dict) else None
    if not isinstance(reason, dict):
        return reason is not None
    return reason.get("kind") != "error" or _texts(reason.get("error"), "message")


_SOUND: Final[dict[str, Callable[[Any], bool]]] = {
    "user/message": _user,
    "assistant/message": _assistant,
    "tool/call": _call,
    "tool/result": _result,
    "todo/write": _todos,
    "turn/end": _turn_end,
}


def text_fault(event: Event) -> str | None:
    """Why the reference cannot take the text of this event, in one sentence; None when it can."""
    sound = _SOUND.get(event.type)
    if sound is None or sound(event.data):
        return None
    return f"The {event.type} at event {event.seq} lacks a text that its kind must have."
