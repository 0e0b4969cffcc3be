"""Where reading of a log stopped, so that a later read can go on there."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from palimpsest_core.formats.issue import Issue
from palimpsest_core.formats.legacy import LegacyState
from palimpsest_core.storage.layout import Stat
from palimpsest_core.storage.logbytes import ByteFault

_FAULTS_KEPT = 20


class ReadState(msgspec.Struct, frozen=True, array_like=True):
    """Where a later read can go on: everything before `byte_offset` is whole and was read. JSON-serialisable.

    `stat` is the file's at that time (a torn tail included, which the offsets leave out). `text_offset` is the same
    place in the decoded text, `next_line` and `next_seq` what comes next there, `rows` and `withheld` count the rows
    before it. `proof` is a digest of the stored bytes right before `byte_offset`. The other fields carry findings and
    old shapes on. Written by place: a new field belongs at the end.
    """

    version: int
    stat: Stat
    byte_offset: int = 0
    text_offset: int = 0
    next_line: int = 2
    next_seq: int = 0
    last_time: int = 0
    proof: str = ""
    rows: int = 0
    withheld: int = 0
    issue: Issue | None = None
    required: dict[str, list[int]] = {}
    faults: list[tuple[int, int, str]] = []
    fault_count: int = 0
    byte_faults: list[ByteFault] = []
    legacy: LegacyState | None = None


class Mark(NamedTuple):
    """A place to go on from, cheaply noted; see `ReadState`."""

    byte_offset: int
    text_offset: int
    next_line: int
    next_seq: int
    last_time: int
    rows: int
    withheld: int
    issue: Issue | None
    required: dict[str, list[int]]
    faults: list[tuple[int, int, str]]
    fault_count: int
    legacy: LegacyState | None

    def state(self, before: ReadState, stat: Stat, proof: str, faults: list[ByteFault]) -> ReadState:
        """The state at this place: `before` is the one that reading began with, `faults` those of bytes met since."""
        return ReadState(
            before.version,
            stat,
            self.byte_offset,
            self.text_offset,
            self.next_line,
            self.next_seq,
            self.last_time,
            proof,
            self.rows,
            self.withheld,
            self.issue,
            self.required,
            self.faults,
            self.fault_count,
            [*before.byte_faults, *faults][:_FAULTS_KEPT],
            self.legacy.before(self.next_seq) if self.legacy is not None else None,
        )
