"""What ails a log, in words: kinds of trouble, how much can be read, and what can be done (session format, 10.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.jsonable import Record


class Ailment(StrEnum):
    """The kinds of trouble, the worst first. A newer format is not damage, and neither is a plug-in's event."""

    UNREADABLE = "unreadable"
    DAMAGED = "damaged"
    UNCERTAIN = "uncertain"
    NEWER = "newer"
    FOREIGN = "foreign"
    DIVERGING = "diverging"
    LEFTOVER = "leftover"


class Remedy(StrEnum):
    """What a person can do about an ailing log."""

    RESCUE = "rescue"
    NEWER_HARNESS = "newer-harness"
    PLUG_IN = "plug-in"
    OTHER_FILE = "other-file"
    BY_HAND = "by-hand"
    NOTHING = "nothing"


AILMENT_OF: dict[FindingCode, Ailment] = {
    FindingCode.UNREADABLE: Ailment.UNREADABLE,
    FindingCode.TORN_TAIL: Ailment.DAMAGED,
    FindingCode.CORRUPT: Ailment.DAMAGED,
    FindingCode.WITHHELD_TAIL: Ailment.DAMAGED,
    FindingCode.SEQUENCE_GAP: Ailment.DAMAGED,
    FindingCode.OVERLAPPING_WRITERS: Ailment.DAMAGED,
    FindingCode.OVERLAPPED_REPAIR: Ailment.DAMAGED,
    FindingCode.HEADER_FRAME: Ailment.DAMAGED,
    FindingCode.LIMIT_EXCEEDED: Ailment.DAMAGED,
    FindingCode.SURFACE_UNRELIABLE: Ailment.UNCERTAIN,
    FindingCode.SEED_CUT_MISSING: Ailment.UNCERTAIN,
    FindingCode.LINEAGE_CYCLE: Ailment.UNCERTAIN,
    FindingCode.UNSUPPORTED_VERSION: Ailment.NEWER,
    FindingCode.UNKNOWN_REQUIRED_EVENT: Ailment.FOREIGN,
    FindingCode.FOREIGN_FRAME: Ailment.FOREIGN,
    FindingCode.HEADER_KEYS: Ailment.FOREIGN,
    FindingCode.GENERATION_DIVERGENCE: Ailment.DIVERGING,
    FindingCode.NAME_HEADER_MISMATCH: Ailment.DIVERGING,
    FindingCode.PATH_MISMATCH: Ailment.DIVERGING,
    FindingCode.DUPLICATE_ID: Ailment.DIVERGING,
    FindingCode.TWIN_ENCODING: Ailment.DIVERGING,
    FindingCode.LEFT_TEMPORARY: Ailment.LEFTOVER,
    FindingCode.LEGACY_LAYOUT: Ailment.LEFTOVER,
}
"""What each finding makes of a log. The codes that are missing tell something and are no trouble: an open turn, a
parent that is elsewhere, an image that is gone."""

CODE_WORDS: dict[FindingCode, str] = {
    FindingCode.TORN_TAIL: "torn end",
    FindingCode.CORRUPT: "corrupt",
    FindingCode.WITHHELD_TAIL: "malformed row at the end",
    FindingCode.UNREADABLE: "cannot be read",
    FindingCode.UNSUPPORTED_VERSION: "newer format",
    FindingCode.UNKNOWN_REQUIRED_EVENT: "plug-in event",
    FindingCode.SURFACE_UNRELIABLE: "the model's view is a best effort",
    FindingCode.GENERATION_DIVERGENCE: "generations diverge",
    FindingCode.NAME_HEADER_MISMATCH: "name and header disagree",
    FindingCode.PATH_MISMATCH: "not where it belongs",
    FindingCode.DUPLICATE_ID: "one id, several folders",
    FindingCode.DANGLING_PARENT: "parent not found",
    FindingCode.SEED_CUT_MISSING: "inherited part unclear",
    FindingCode.OPEN_TURN: "open turn",
    FindingCode.MISSING_ATTACHMENT: "attachment missing",
    FindingCode.TWIN_ENCODING: "plain and compressed twins",
    FindingCode.OVERLAPPING_WRITERS: "two writers overlap",
    FindingCode.OVERLAPPED_REPAIR: "repair overlapped by a writer",
    FindingCode.SEQUENCE_GAP: "sequence gap",
    FindingCode.LEFT_TEMPORARY: "temporary file left behind",
    FindingCode.HEADER_KEYS: "unusual header keys",
    FindingCode.HEADER_FRAME: "unusual first frame",
    FindingCode.FOREIGN_FRAME: "foreign frame",
    FindingCode.LIMIT_EXCEEDED: "over a limit",
    FindingCode.LEGACY_LAYOUT: "older layout",
    FindingCode.LINEAGE_CYCLE: "lineage runs in a circle",
}
"""Each code as a person would say it."""

_RANK = {ailment: rank for rank, ailment in enumerate(Ailment)}
_SAVED = frozenset({Ailment.DAMAGED, Ailment.DIVERGING})
_SAVED_CODES = {FindingCode.HEADER_FRAME, FindingCode.LEGACY_LAYOUT}
_BESIDE = frozenset(
    {
        FindingCode.GENERATION_DIVERGENCE,
        FindingCode.DUPLICATE_ID,
        FindingCode.TWIN_ENCODING,
        FindingCode.UNREADABLE,
        FindingCode.UNSUPPORTED_VERSION,
    }
)


class RowCounts(Record, frozen=True):
    """Lines of a log after its header: `shown` as events, `withheld` as raw rows; together all there are."""

    shown: int
    withheld: int

    @property
    def total(self) -> int:
        """All lines after the header."""
        return self.shown + self.withheld


class LogHealth(Record, frozen=True):
    """One file with something to say about it.

    `session_id` is None for what is no log. `generation` is the header's number, else the name's. `answers`: this file
    speaks for its session; `beside` are the generations of the session's other files. `title` is the session's, where
    it is known.
    """

    path: str
    ailment: Ailment
    findings: list[Finding]
    remedies: list[Remedy]
    session_id: str | None = None
    generation: int | None = None
    answers: bool = False
    beside: tuple[int, ...] = ()
    title: str | None = None
    size: int = 0
    readable: bool = True


def ailment_of(findings: Iterable[Finding]) -> Ailment | None:
    """The worst that findings make of a log; None when none of them is trouble."""
    found = [ailment for finding in findings if (ailment := AILMENT_OF.get(finding.code)) is not None]
    return min(found, key=_RANK.__getitem__, default=None)


def remedies_of(findings: Collection[Finding], *, readable: bool, beside: bool, is_log: bool = True) -> list[Remedy]:
    """What can be done, the nearest first.

    `readable`: the file has a header, so that a copy of its readable rows can be made. `beside`: the session has other
    files. A sound log with a plug-in's events needs no copy, and a copy would not change what a harness says of it.
    """
    if not is_log:
        return [Remedy.BY_HAND]
    ailments = {AILMENT_OF.get(finding.code) for finding in findings}
    codes = {finding.code for finding in findings}
    remedies: list[Remedy] = []
    if readable and (ailments & _SAVED or codes & _SAVED_CODES):
        remedies.append(Remedy.RESCUE)
    if beside and (codes & _BESIDE or Ailment.DAMAGED in ailments):
        remedies.append(Remedy.OTHER_FILE)
    if FindingCode.UNSUPPORTED_VERSION in codes:
        remedies.append(Remedy.NEWER_HARNESS)
    if FindingCode.UNKNOWN_REQUIRED_EVENT in codes:
        remedies.append(Remedy.PLUG_IN)
    if not readable and not remedies:
        remedies.append(Remedy.BY_HAND)
    return remedies or [Remedy.NOTHING]
