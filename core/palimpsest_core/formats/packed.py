"""Packed chunk rows of generations 0 and 1: one line, many events (session format, section 4.4)."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.formats.jsjson import MAX_SAFE
from palimpsest_core.model.event import Event

TAGS = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
_DELTA = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta", "tool-call-chunks": "tool-call-delta"}
_CHUNK = "assistant/chunk"


class Packed(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The data of a packed row: `texts` for text and reasoning; `args`, `id` and maybe `name` for tool calls."""

    turn: int | float
    step: int | float
    index: int | float
    dt: list[int]
    texts: list[str] | msgspec.UnsetType = msgspec.UNSET
    args: list[str] | msgspec.UnsetType = msgspec.UNSET
    id: str | msgspec.UnsetType = msgspec.UNSET
    name: str | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(Packed).decode


def parse_packed(tag: str, data: msgspec.Raw | dict[str, Any]) -> Packed | None:
    """The checked data of a packed row, None when anything about it is wrong: a packed row is all or nothing."""
    try:
        packed = msgspec.convert(data, Packed, strict=True) if isinstance(data, dict) else _decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    if tag == "tool-call-chunks":
        members = packed.args
        if packed.texts is not msgspec.UNSET or packed.id is msgspec.UNSET:
            return None
    else:
        members = packed.texts
        if packed.args is not msgspec.UNSET or packed.id is not msgspec.UNSET or packed.name is not msgspec.UNSET:
            return None
    if members is msgspec.UNSET or not members or len(packed.dt) != len(members) - 1:
        return None
    return packed


def member_count(packed: Packed) -> int:
    """How many events, and so sequence numbers, the row stands for."""
    return len(packed.dt) + 1


def last_time(packed: Packed, time0: int) -> int | None:
    """The time of the last member, None when the time of any member leaves the safe integers."""
    deltas = packed.dt
    if not deltas:
        return time0
    widest = max(max(deltas), -min(deltas))
    if abs(time0) + widest * len(deltas) <= MAX_SAFE:
        return time0 + sum(deltas)
    now = time0
    for delta in deltas:
        now += delta
        if not -MAX_SAFE <= delta <= MAX_SAFE or not -MAX_SAFE <= now <= MAX_SAFE:
            return None
    return now


def unfold(tag: str, packed: Packed, seq0: int, time0: int) -> list[Event]:
    """The `assistant/chunk` events of a packed row."""
    delta = _DELTA[tag]
    events = []
    members = packed.args if tag == "tool-call-chunks" else packed.texts
    assert members is not msgspec.UNSET
    now = time0
    for k, member in enumerate(members):
        if k:
            now += packed.dt[k - 1]
        chunk: dict[str, Any] = {"type": delta, "index": packed.index}
        if tag == "tool-call-chunks":
            chunk["id"] = packed.id
            if packed.name is not msgspec.UNSET:
                chunk["name"] = packed.name
            chunk["argumentsDelta"] = member
        else:
            chunk["text"] = member
        events.append(Event(_CHUNK, seq0 + k, now, {"turn": packed.turn, "step": packed.step, "chunk": chunk}))
    return events
