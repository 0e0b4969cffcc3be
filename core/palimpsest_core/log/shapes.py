"""Tolerant looks into foreign JSON: log data is hostile, so any value may have any type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def member(value: Any, *path: str) -> Any:
    """The value under the keys `path`, or None where an object or a key is missing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def text_at(value: Any, *path: str) -> str:
    """The text under the keys `path`, or an empty one for everything that is no text."""
    found = member(value, *path)
    return found if isinstance(found, str) else ""


def objects_at(value: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list under the keys `path`; what is no object is left out."""
    found = member(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def list_at(value: Any, *path: str) -> list[Any]:
    """The list under the keys `path`, or an empty one."""
    found = member(value, *path)
    return found if isinstance(found, list) else []


def whole(value: Any) -> int | None:
    """A whole number (2 or 2.0, of any sign), or None."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_null(value: Any, key: str) -> bool:
    """Whether an object holds a null under `key` (a missing key is something else)."""
    return isinstance(value, dict) and key in value and value[key] is None


def strings_of(value: Any, *, skip: str | None = "type") -> Iterator[str]:
    """Every string inside a JSON value in reading order, except those directly under the key `skip`.

    Not recursive, because a hostile value may be nested deeper than the interpreter's stack.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            stack.extend(inner for key, inner in reversed(item.items()) if not (key == skip and isinstance(inner, str)))
