"""Events to stored lines: one JSON object a line, runs of streamed deltas packed (session format, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from palimpsest_core.base.jsjson import SAFE_INTEGER, js_json
from palimpsest_core.model.event import Event, event_json

PACK_AT_LEAST = 3
"""Shorter runs stay as they are: a packed row would not save anything."""

Row = Mapping[str, Any]

_ROW_KEYS = frozenset(("type", "seq", "time", "data"))
_DATA_KEYS = frozenset(("turn", "step", "chunk"))
_DELTAS = {
    "text-delta": ("text-chunks", "texts", "text", frozenset(("type", "index", "text"))),
    "reasoning-delta": ("reasoning-chunks", "texts", "text", frozenset(("type", "index", "text"))),
    "tool-call-delta": (
        "tool-call-chunks",
        "args",
        "argumentsDelta",
        frozenset(("type", "index", "id", "argumentsDelta")),
    ),
}


def as_row(event: Event | Row) -> Row:
    """The stored object of an event; a mapping is taken as it is, its key order included."""
    return event_json(event) if isinstance(event, Event) else event


def stored_lines(events: Iterable[Event | Row], *, pack: bool = True) -> bytes:
    """The lines of one append batch, each ending in a newline, in order.

    With `pack`, every run of at least three consecutive deltas of one block becomes one packed row. A run never
    reaches over the end of a batch. Anything that is not exactly of the known shape is kept verbatim.
    """
    rows = [as_row(event) for event in events]
    packed: Iterable[Row] = pack_rows(rows) if pack else rows
    return "".join([js_json(row) + "\n" for row in packed]).encode("utf-8")


def pack_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """`rows` with each packable run replaced by its packed row; unpacking gives the same events back."""
    at = 0
    while at < len(rows):
        block = _block(rows[at])
        end = at + 1
        if block is not None:
            while end < len(rows) and _continues(rows[end - 1], rows[end]) and _block(rows[end]) == block:
                end += 1
        if block is not None and end - at >= PACK_AT_LEAST:
            yield _packed(rows[at:end])
        else:
            yield from rows[at:end]
        at = end


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _safe_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -SAFE_INTEGER <= value <= SAFE_INTEGER


def _block(row: Row) -> tuple[Any, ...] | None:
    """What members of one run share; None for a row that cannot be packed."""
    if row.get("type") != "assistant/chunk" or row.keys() != _ROW_KEYS:
        return None
    data = row["data"]
    if not isinstance(data, dict) or data.keys() != _DATA_KEYS:
        return None
    chunk = data["chunk"]
    if not isinstance(chunk, dict) or not isinstance(kind := chunk.get("type"), str) or kind not in _DELTAS:
        return None
    _, _, text_key, keys = _DELTAS[kind]
    named = "name" in chunk
    if chunk.keys() != (keys | {"name"} if named and "id" in keys else keys) or not isinstance(chunk[text_key], str):
        return None
    if not (_number(data["turn"]) and _number(data["step"]) and _number(chunk["index"])):
        return None
    if not (_safe_int(row["seq"]) and _safe_int(row["time"])):
        return None
    if kind == "tool-call-delta" and not (
        isinstance(chunk["id"], str) and (not named or isinstance(chunk["name"], str))
    ):
        return None
    return kind, data["turn"], data["step"], chunk["index"], chunk.get("id"), named, chunk.get("name")


def _continues(before: Row, row: Row) -> bool:
    if not (_safe_int(row.get("seq")) and _safe_int(row.get("time"))):
        return False
    return row["seq"] == before["seq"] + 1 and _safe_int(row["time"] - before["time"])


def _packed(run: Sequence[Row]) -> Row:
    first = run[0]
    chunk = first["data"]["chunk"]
    tag, list_key, text_key, _ = _DELTAS[chunk["type"]]
    data: dict[str, Any] = {
        "turn": first["data"]["turn"],
        "step": first["data"]["step"],
        "index": chunk["index"],
        "dt": [after["time"] - before["time"] for before, after in pairwise(run)],
    }
    if "id" in chunk:
        data["id"] = chunk["id"]
    if "name" in chunk:
        data["name"] = chunk["name"]
    data[list_key] = [row["data"]["chunk"][text_key] for row in run]
    return {"type": tag, "seq0": first["seq"], "time0": first["time"], "data": data}
