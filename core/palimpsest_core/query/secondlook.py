"""Beyond the damage of a log: which row was refused and why, and whose the rows behind it are (session format, 2.4).

Everything told here is read off the numbers that rows claim. A row that fits no writer belongs to none.
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest_core.formats.packed import TAGS
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.query.table import EventTable, Flag

_OVERLAPS = frozenset({FindingCode.OVERLAPPING_WRITERS, FindingCode.OVERLAPPED_REPAIR})
_ROWS = _OVERLAPS | {
    FindingCode.SEQUENCE_GAP,
    FindingCode.WITHHELD_TAIL,
    FindingCode.LIMIT_EXCEEDED,
    FindingCode.CORRUPT,
}
_BYTES = (FindingCode.CORRUPT, FindingCode.LIMIT_EXCEEDED, FindingCode.UNREADABLE, FindingCode.TORN_TAIL)

LANE_NONE, LANE_FIRST, LANE_SECOND = range(3)
"""Whose a row is where two writers overlap: nobody's in particular, the first writer's, the second one's."""


class SecondLook:
    """What stands behind the readable prefix of one log.

    `refused` is the index of the first withheld row, `stop` the index after the last one, `finding` why it was refused
    (None when no finding tells). `contested` are the indices of readable events whose numbers a second writer claims
    again; it is empty unless two writers overlap.
    """

    def __init__(self, table: EventTable, refused: int, stop: int, finding: Finding | None) -> None:
        self._table = table
        self.refused = refused
        self.stop = stop
        self.finding = finding
        self.contested = range(0)
        self._lanes = bytearray()
        if finding is not None and finding.code in _OVERLAPS and finding.seq is not None:
            self.contested = range(max(0, table.seqs[refused]), min(finding.seq, refused))
            self._lanes = _lanes(table, refused, stop, finding.seq)

    @property
    def two_lanes(self) -> bool:
        """Whether two writers overlap here."""
        return bool(self._lanes)

    def lane(self, index: int) -> int:
        """Whose a row is: `LANE_FIRST` or `LANE_SECOND`, `LANE_NONE` outside an overlap and where no writer fits."""
        if index in self.contested:
            return LANE_FIRST
        if self._lanes and self.refused <= index < self.stop:
            return self._lanes[index - self.refused]
        return LANE_NONE

    def twin(self, index: int) -> int | None:
        """The row of the other writer that claims the same number, or None."""
        if not self._lanes:
            return None
        lane, seq = self.lane(index), self._table.seqs[index]
        if lane == LANE_SECOND and seq in self.contested:
            return seq
        if lane == LANE_NONE:
            return None
        for other in range(self.refused, self.stop):
            if self._table.seqs[other] == seq and self.lane(other) not in (lane, LANE_NONE):
                return other
        return None


def second_look(table: EventTable, findings: Sequence[Finding]) -> SecondLook | None:
    """A look behind the readable prefix of a log that is read; None when no row of it is withheld."""
    refused = table.find_flag(Flag.WITHHELD, 0)
    if refused is None:
        return None
    last = table.find_flag(Flag.WITHHELD, len(table) - 1, -1)
    stop = refused + 1 if last is None else last + 1
    return SecondLook(table, refused, stop, _reason(findings))


def _reason(findings: Sequence[Finding]) -> Finding | None:
    """The finding that tells of the first refused row: one about rows, else one about bytes or the header."""
    for finding in findings:
        if finding.code in _ROWS and finding.line is not None and finding.detail not in ("envelope", "header-frame"):
            return finding
    for code in _BYTES:
        for finding in findings:
            if finding.code == code and finding.detail != "envelope":
                return finding
    return None


def _lanes(table: EventTable, refused: int, stop: int, expected: int) -> bytearray:
    """One lane for each withheld row. A row goes on with the writer of the row before it, else with the other one.

    A packed row tells where it begins and not where it ends: after one, its writer may go on at any higher number.
    """
    lanes = bytearray(stop - refused)
    following = {LANE_FIRST: expected, LANE_SECOND: table.seqs[refused]}
    current, loose_after = LANE_SECOND, -1
    for index in range(refused, stop):
        seq = table.seqs[index]
        if seq < 0:
            continue
        other = LANE_FIRST + LANE_SECOND - current
        lane = next((lane for lane in (current, other) if seq == following[lane]), LANE_NONE)
        if lane == LANE_NONE and loose_after >= 0 and seq > loose_after:
            lane = current
        if lane == LANE_NONE:
            continue
        lanes[index - refused] = lane
        following[lane] = seq + 1
        current = lane
        loose_after = seq if table.type_of(index) in TAGS else -1
    return lanes
