"""Events and what became of them (spec: session format, section 4; engine contract, section 2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from palimpsest_core.model.header import Header
from palimpsest_core.model.jsonable import Record

UNSET = msgspec.UNSET
UnsetType = msgspec.UnsetType


class Surface(StrEnum):
    """What the model sees of an event: `current` now, `shadowed` no longer (replaced), `log-only` never.

    `withheld` is said of hits in rows that a damaged log cannot hold as events.
    """

    CURRENT = "current"
    SHADOWED = "shadowed"
    LOG_ONLY = "log-only"
    WITHHELD = "withheld"


class Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One event of the decoded log (packed rows already unfolded).

    `data` is the payload as stored, except that the old v0 shapes of section 6.7 are read as their modern ones.
    `surface_op` is as stored (`"append"` or a replace object in either spelling) or UNSET; `log.surface.parse_op` reads
    it. `source_event_seqs` has its pairs expanded; a malformed value stays as stored. `extra` holds envelope keys that
    nobody knows. `synthetic` marks a closer made in memory.
    """

    type: str
    seq: int
    time: int
    data: Any
    surface_op: Any = UNSET
    source_event_seqs: Any = UNSET
    ignorable: bool | UnsetType = UNSET
    extra: dict[str, Any] | UnsetType = UNSET
    synthetic: bool = False


def event_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object with the keys of the log: no `extra` or `synthetic`, unknown keys in place."""
    out: dict[str, Any] = {"type": event.type, "seq": event.seq, "time": event.time, "data": event.data}
    if event.surface_op is not UNSET:
        out["surfaceOp"] = event.surface_op
    if event.source_event_seqs is not UNSET:
        out["sourceEventSeqs"] = event.source_event_seqs
    if event.ignorable is not UNSET:
        out["ignorable"] = event.ignorable
    if event.extra is not UNSET:
        out.update(event.extra)
    return out


class EventRecord(Record, frozen=True):
    """Where an event stands: session, seq, type, time (epoch ms) and surface. `text` only in documents."""

    session_id: str
    seq: int
    type: str
    time: int
    surface: Surface


class EventDocument(Record, frozen=True):
    """An event record with its semantic text (never empty)."""

    session_id: str
    seq: int
    type: str
    time: int
    surface: Surface
    text: str


class EventWindow(Record, frozen=True):
    """An event and its neighbours, `start_seq`..`end_seq` inclusive, clipped to the log."""

    session: Header
    target: dict[str, Any]
    events: list[dict[str, Any]]
    start_seq: int
    end_seq: int


class EventTrace(Record, frozen=True):
    """The direct links of an event and the chain of its replacers (nearest first, to the last)."""

    session: Header
    target: EventRecord
    replacement_chain: list[int]
    replaced_event_seqs: list[int]
    source_event_seqs: list[int]
    derived_event_seqs: list[int]
    replaced_by: int | None = None
