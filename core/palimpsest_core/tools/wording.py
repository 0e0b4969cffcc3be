"""How answers read: plain lines that a model can follow, and no line that a log's text could forge."""

from __future__ import annotations

import re
from typing import Any

from palimpsest_core.base.jsjson import js_json
from palimpsest_core.base.jstext import squeeze, well_formed
from palimpsest_core.model.event import EventRecord
from palimpsest_core.model.search import EventHit
from palimpsest_core.tools.times import iso

OUTSIDE = "(outside workspace)"
"""Stands for a session that may not be shown, or for everything beyond it."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9._:@+~-]+")


def name(session_id: str) -> str:
    """An id as a word; one with spaces or line breaks in it as a quoted text."""
    return session_id if _PLAIN_NAME.fullmatch(session_id) else js_json(session_id)


def one_line(text: str) -> str:
    """Text of a log within a line: whitespace runs are one space, and it always encodes as UTF-8."""
    return well_formed(squeeze(text))


def quoted(text: str, indent: str) -> str:
    """Text of a log with its own lines, each behind a bar, so that none passes for a line of the answer."""
    return "\n".join(f"{indent}| {line}" for line in well_formed(text).split("\n"))


def title_line(title: str | None, problem: str | None) -> str:
    """The title of a session, or why it has none."""
    if problem is not None:
        return f"title: cannot be read ({problem})"
    return f"title: {one_line(title)}" if title is not None else "title: none"


def hit_line(hit: EventHit) -> str:
    """Where a hit is: sequence number, type, surface and time."""
    where = f"seq {hit.seq}" if hit.line is None else f"line {hit.line}"
    return f"{where}, {one_line(hit.type)}, {hit.surface.value}, {iso(hit.time)}"


def record_line(record: EventRecord) -> str:
    """The same of an event record."""
    return f"seq {record.seq}, {one_line(record.type)}, {record.surface.value}, {iso(record.time)}"


def event_line(event: dict[str, Any]) -> str:
    """A raw event in one line."""
    return f"seq {event['seq']}, {one_line(str(event['type']))}, {iso(event['time'])}"


def full_json(event: dict[str, Any]) -> str:
    """A raw event as one line of JSON, exactly as logged (lone surrogates as escapes)."""
    return js_json(event)


def numbers(values: list[int]) -> str:
    """A list of sequence numbers in words."""
    return ", ".join(str(value) for value in values) if values else "none"
