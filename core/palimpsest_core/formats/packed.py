"""Packed chunk rows of generations 0 and 1: one line, many events (session format, section 4.4)."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.formats.jsjson import MAX_SAFE
from palimpsest_core.model.event import Event

TAGS = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
_DELTA = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta", "tool-call-chunks": "tool-call-delta"}
_CHUNK = "assistant/chunk"


class PackedTexts(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The data of a packed row of text or reasoning."""

    turn: int | float
    step: int | float
    index: int | float
    dt: list[int]
    texts: list[str]

    @property
    def members(self) -> list[str]:
        """The pieces, one for each event."""
        return self.texts


class PackedCalls(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The data of a packed row of a tool call's arguments."""

    turn: int | float
    step: int | float
    index: int | float
    dt: list[int]
    args: list[str]
    id: str
    name: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def members(self) -> list[str]:
        """The pieces, one for each event."""
        return self.args


Packed = PackedTexts | PackedCalls

_MODELS: dict[str, type[PackedTexts] | type[PackedCalls]] = {
    "text-chunks": PackedTexts,
    "reasoning-chunks": PackedTexts,
    "tool-call-chunks": PackedCalls,
}
_DECODE = {tag: msgspec.json.Decoder(model).decode for tag, model in _MODELS.items()}


def parse_packed(tag: str, data: msgspec.Raw | dict[str, Any]) -> Packed | None:
    """The checked data of a packed row, None when anything about it is wrong: a packed row is all or nothing."""
    try:
        packed: Packed = (
            msgspec.convert(data, _MODELS[tag], strict=True) if isinstance(data, dict) else _DECODE[tag](data)
        )
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return packed if len(packed.dt) == len(packed.members) - 1 else None


def member_count(packed: Packed) -> int:
    """How many events, and so sequence numbers, the row stands for."""
    return len(packed.dt) + 1


def last_time(packed: Packed, time0: int) -> int | None:
    """The time of the last member, None when the time of any member leaves the safe integers."""
    deltas = packed.dt
    if not deltas:
        return time0
    if min(deltas) >= 0 and (end := time0 + sum(deltas)) <= MAX_SAFE:
        return end  # it only goes up, and not too far
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
    now = time0
    for k, member in enumerate(packed.members):
        if k:
            now += packed.dt[k - 1]
        chunk: dict[str, Any] = {"type": delta, "index": packed.index}
        if isinstance(packed, PackedCalls):
            chunk["id"] = packed.id
            if packed.name is not msgspec.UNSET:
                chunk["name"] = packed.name
            chunk["argumentsDelta"] = member
        else:
            chunk["text"] = member
        events.append(Event(_CHUNK, seq0 + k, now, {"turn": packed.turn, "step": packed.step, "chunk": chunk}))
    return events
