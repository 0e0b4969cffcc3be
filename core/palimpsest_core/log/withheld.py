"""The text by which a withheld row is found: what it claims to be, as far as that can be read (engine contract, 4)."""

from __future__ import annotations

from palimpsest_core.formats.jsjson import BadJson, loads
from palimpsest_core.log.text import Registry, semantic_text
from palimpsest_core.model.event import Event

_PACKED = {"text-chunks": "texts", "tool-call-chunks": "args"}
_STREAMED = frozenset({"reasoning-chunks", "assistant/chunk"})
"""Reasoning, which is never indexed, and single deltas, which may be some."""


def withheld_text(line: bytes, registry: Registry) -> str:
    """The text of a stored line that is no event of its log; "" when there is none. Never raises.

    A line that is no JSON is text as it stands, unless reasoning may be in it.
    """
    try:
        value = loads(line)
    except BadJson:
        return "" if b"reasoning" in line else line.decode("utf-8", "replace").strip(" \r\n\t\0")
    kind, data = "row", value
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        kind, data = value["type"], value.get("data")
        if kind in _STREAMED:
            return ""
        if kind in _PACKED:
            pieces = data.get(_PACKED[kind]) if isinstance(data, dict) else None
            return "".join(piece for piece in pieces if isinstance(piece, str)) if isinstance(pieces, list) else ""
    return semantic_text(Event(kind, 0, 0, data), registry)
