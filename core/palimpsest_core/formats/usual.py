"""Sound rows by columns: most of a log is that, and an object for each row would cost more than reading it.

A chunk of text is taken row by row as far as everything about it is as a writer of the format leaves it; whatever is
odd ends the columns, and the rows from there on are for the careful path of `rowscan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from typing import Final

import msgspec

from palimpsest_core.formats.jsjson import MAX_DEPTH, MAX_SAFE, too_deep
from palimpsest_core.formats.packed import TAGS, Packed, last_time, parse_packed
from palimpsest_core.formats.rows import ABSENT, NOTHING, Envelope, StoredRow

_SHALLOW: Final = 2 * MAX_DEPTH
_NO_TAGS: Final = frozenset[str]()


class UsualRows(msgspec.Struct, frozen=True):
    """Sound rows in their places, one after the other, by columns of the same length.

    `seqs` is the first sequence number of each, `times` the time of its first event; both have one more at the end:
    what comes next, and the time of the last event. `offsets` are places in the decoded text, with the end as one more.
    `line` is the number of the first. `packed` holds the data of packed rows by index. Raw pieces keep their text
    alive: do not keep them.
    """

    kinds: list[str]
    seqs: list[int]
    times: list[int]
    offsets: list[int]
    envelopes: list[Envelope]
    packed: dict[int, Packed]
    line: int
    provisional: bool

    def __len__(self) -> int:
        return len(self.kinds)

    def row(self, index: int) -> StoredRow:
        """One of them by itself."""
        seq, offset = self.seqs[index], self.offsets[index]
        return StoredRow(
            self.kinds[index],
            seq,
            self.times[index],
            self.seqs[index + 1] - seq,
            self.line + index,
            offset,
            self.offsets[index + 1] - offset,
            False,
            self.provisional,
            "",
            "",
            self.envelopes[index],
            None,
            self.packed.get(index),
        )

    def rows(self) -> list[StoredRow]:
        """All of them."""
        seqs, offsets, packed, provisional = self.seqs, self.offsets, self.packed.get, self.provisional
        columns = zip(
            count(),
            self.kinds,
            seqs,
            islice(seqs, 1, None),
            self.times,
            count(self.line),
            offsets,
            islice(offsets, 1, None),
            self.envelopes,
        )
        return [
            StoredRow(
                kind,
                seq,
                time,
                following - seq,
                line,
                offset,
                end - offset,
                False,
                provisional,
                "",
                "",
                envelope,
                None,
                packed(index),
            )
            for index, kind, seq, following, time, line, offset, end, envelope in columns
        ]


def usual_rows(
    lines: Sequence[bytes],
    envelopes: Sequence[Envelope],
    *,
    known: frozenset[str],
    packs: bool,
    next_seq: int,
    last: int,
    line: int,
    offset: int,
    provisional: bool,
) -> UsualRows:
    """The rows up to the first that asks for a closer look; `last` is the time of the event before them.

    `known` are the event types that are no surprise, `packs` tells whether the generation knows packed rows.
    """
    kinds: list[str] = []
    seqs: list[int] = []
    times: list[int] = []
    offsets: list[int] = []
    packed: dict[int, Packed] = {}
    tags = TAGS if packs else _NO_TAGS
    for envelope, text in zip(envelopes, lines, strict=True):
        kind, time = envelope.type, envelope.time
        if kind in known:
            if not (
                envelope.seq == next_seq
                and 0 < time <= MAX_SAFE
                and envelope.data is not NOTHING
                # What is absent is this very object; a number that equals it is not.
                and envelope.seq0 is ABSENT
                and envelope.time0 is ABSENT
            ) or (len(text) > _SHALLOW and too_deep(text)):
                break
            following = next_seq + 1
            last = time
        elif kind in tags:
            time = envelope.time0
            if envelope.seq0 != next_seq or not 0 < time <= MAX_SAFE or more_than_packed(envelope):
                break
            data = parse_packed(kind, envelope.data)
            end = last_time(data, time) if data is not None else None
            if data is None or end is None:
                break
            packed[len(kinds)] = data
            following = next_seq + len(data.dt) + 1
            last = end
        else:
            break
        kinds.append(kind)
        seqs.append(next_seq)
        times.append(time)
        offsets.append(offset)
        next_seq = following
        offset += len(text) + 1
    seqs.append(next_seq)
    times.append(last)
    offsets.append(offset)
    return UsualRows(kinds, seqs, times, offsets, list(envelopes[: len(kinds)]), packed, line, provisional)


def more_than_packed(envelope: Envelope) -> bool:
    """Whether an envelope holds keys that a packed row must not have."""
    return (
        envelope.seq != ABSENT
        or envelope.time != ABSENT
        or envelope.surfaceOp is not NOTHING
        or envelope.sourceEventSeqs is not NOTHING
        or envelope.ignorable is not NOTHING
    )
