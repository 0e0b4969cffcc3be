"""The markers that events bear: how each relates to what the model sees, and which events it cites (session format,
section 5)."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, NamedTuple

from palimpsest_core.model.event import UNSET

LARGEST: Final = 2**53 - 1
"""The largest number that can be a sequence number (a safe integer of the writer's language)."""


class Marker(Enum):
    """What an event's surface marker is when it is no replacement."""

    NONE = "none"
    APPEND = "append"
    MALFORMED = "malformed"


class Replace(NamedTuple):
    """Replace the slice from node `start` to node `end` (both seqs, inclusive). `modern`: the v3+ spelling."""

    start: int
    end: int
    modern: bool = False


def sequence_number(value: Any) -> int | None:
    """`value` as a sequence number, or None: whole floats count, booleans, negatives and unsafe integers do not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return value
    return None


def parse_op(raw: Any) -> Marker | Replace:
    """Read a `surfaceOp` as stored, in either spelling; UNSET (absent) is `Marker.NONE`. Never raises."""
    if raw == "append":
        return Marker.APPEND
    if raw is UNSET:
        return Marker.NONE
    if not isinstance(raw, dict) or len(raw) != 3 or raw.get("op") != "replace":
        return Marker.MALFORMED
    modern = "startSeq" in raw
    start = sequence_number(raw.get("startSeq" if modern else "start"))
    end = sequence_number(raw.get("endSeq" if modern else "end"))
    if start is None or end is None:
        return Marker.MALFORMED
    return Replace(start, end, modern)


def citation_fault(seq: int, sources: Any, *, may_be_empty: bool) -> str | None:
    """Why the sources of event `seq` cannot be what it says, in one sentence; None for earlier events, each once."""
    if not isinstance(sources, list) or not all(type(source) is int for source in sources):
        return f"The sources of event {seq} are no list of event numbers."
    if not sources:
        return None if may_be_empty else f"Event {seq} has an empty list of sources."
    if min(sources) >= 0 and max(sources) < seq:
        return None if len(set(sources)) == len(sources) else f"The sources of event {seq} name an event twice."
    lost = next(source for source in sources if not 0 <= source < seq)
    return f"Event {seq} cites event {lost} as a source, but there is no such earlier event."
