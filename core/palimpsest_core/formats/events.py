"""Stored rows to canonical events: packed rows unfolded, source pairs expanded, old shapes read as modern ones."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.formats.jsjson import BadJson, is_safe_int, loads
from palimpsest_core.formats.legacy import Modernizer
from palimpsest_core.formats.packed import unfold
from palimpsest_core.formats.rows import ABSENT, NOTHING, StoredRow, exact_payload, payload
from palimpsest_core.model.event import UNSET, Event

_ENVELOPE_KEYS = frozenset({"type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"})
_PAIR = 2


def expand_sources(value: Any, seq: int) -> Any:
    """`sourceEventSeqs` of event `seq` with its inclusive pairs expanded; a malformed value comes back as it is.

    If any pair is present the expanded list must be strictly increasing (session format, section 4.3). A pair that
    goes past the event itself is malformed too, so that a short row cannot claim a list of any length.
    """
    if type(value) is not list or not any(type(item) is list for item in value):
        return value
    out: list[int] = []
    last = -1
    for item in value:
        if type(item) is list:
            if len(item) != _PAIR or not is_safe_int(item[0], 0) or not is_safe_int(item[1], 0):
                return value
            first, end = item
        else:
            if not is_safe_int(item, 0):
                return value
            first = end = item
        if first <= last or end < first or end >= seq:
            return value
        out.extend(range(first, end + 1))
        last = end
    return out


def stored_sources(raw: msgspec.Raw, seq: int) -> Any:
    """The `sourceEventSeqs` of the envelope of event `seq` as the event would have them."""
    return expand_sources(_exact(raw), seq)


def _as_stored(value: Any, _seq: int) -> Any:
    return value


def _exact(raw: msgspec.Raw) -> Any:
    """A small piece in which whole floats are to be integers."""
    data = bytes(raw)
    if b"." in data or b"e" in data or b"E" in data:
        try:
            return loads(data)
        except BadJson:
            return payload(raw)
    return payload(raw)


class Expander:
    """Makes events of rows. `modernizer` (generation 0 only) knows the old shapes; without `pairs` source lists stay as
    stored and minus zero is told from zero, for strict reading: the reference's generation 0 knows no pairs."""

    def __init__(self, modernizer: Modernizer | None, *, pairs: bool = True) -> None:
        self.modernizer = modernizer
        self._sources = expand_sources if pairs else _as_stored
        self._payload = payload if pairs else exact_payload

    def events(self, row: StoredRow) -> list[Event]:
        """The events of a row; none for a withheld one."""
        if row.withheld:
            return []
        if row.packed is not None:
            return unfold(row.type, row.packed, row.seq, row.time)
        event = self._from_envelope(row) if row.envelope is not None else self._from_value(row)
        if self.modernizer is not None:
            event = self.modernizer.modern(event)
        return [event]

    def _from_envelope(self, row: StoredRow) -> Event:
        envelope = row.envelope
        assert envelope is not None
        data: Any = None
        if envelope.data is not NOTHING:
            data = self._payload(envelope.data)
        if (
            envelope.surfaceOp is NOTHING
            and envelope.sourceEventSeqs is NOTHING
            and envelope.ignorable is NOTHING
            and envelope.seq0 == ABSENT
            and envelope.time0 == ABSENT
        ):
            return Event(row.type, row.seq, row.time, data)
        extra: dict[str, Any] = {}
        if envelope.seq0 != ABSENT:
            extra["seq0"] = envelope.seq0
        if envelope.time0 != ABSENT:
            extra["time0"] = envelope.time0
        return Event(
            row.type,
            row.seq,
            row.time,
            data,
            surface_op=UNSET if envelope.surfaceOp is NOTHING else _exact(envelope.surfaceOp),
            source_event_seqs=UNSET
            if envelope.sourceEventSeqs is NOTHING
            else self._sources(_exact(envelope.sourceEventSeqs), row.seq),
            ignorable=UNSET if envelope.ignorable is NOTHING else payload(envelope.ignorable),
            extra=extra or UNSET,
        )

    def _from_value(self, row: StoredRow) -> Event:
        value = row.value
        extra = {key: item for key, item in value.items() if key not in _ENVELOPE_KEYS}
        return Event(
            row.type,
            row.seq,
            row.time,
            value.get("data"),
            surface_op=value.get("surfaceOp", UNSET),
            source_event_seqs=self._sources(value["sourceEventSeqs"], row.seq) if "sourceEventSeqs" in value else UNSET,
            ignorable=value.get("ignorable", UNSET),
            extra=extra or UNSET,
        )
