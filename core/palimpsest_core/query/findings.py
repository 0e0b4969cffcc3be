"""Findings about a log's meaning, once it has been read: the reader reports only bytes and rows."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest_core.log.surface import SurfaceFold
from palimpsest_core.model.finding import Finding, FindingCode

_CUTS = frozenset(
    {
        FindingCode.CORRUPT,
        FindingCode.SEQUENCE_GAP,
        FindingCode.OVERLAPPING_WRITERS,
        FindingCode.OVERLAPPED_REPAIR,
        FindingCode.LIMIT_EXCEEDED,
    }
)
_SHOWN = ("envelope", "index-positions")


def work_goes_on(read: Iterable[Finding]) -> bool:
    """Whether rows are withheld that are more than the rest of an interrupted writing: what ends the readable part is
    then the damage, and not the end of the session."""
    return any(
        finding.code in _CUTS and finding.detail not in _SHOWN and not (finding.detail or "").endswith(":tail")
        for finding in read
    )


def meaning_findings(
    path: str, fold: SurfaceFold, read: Iterable[Finding], *, cut_missing: bool, open_turn: bool
) -> list[Finding]:
    """`surface-unreliable`, `seed-cut-missing` and `open-turn`, as far as they apply to the log at `path`.

    `read` are the findings of reading: where work goes on behind the readable part, an open turn there says nothing.
    """
    found = []
    if work_goes_on(read):
        open_turn = False
    if fold.unreliable:
        more = len(fold.problems) - 1
        others = f" ({more} more such {'faults' if more > 1 else 'fault'})" if more else ""
        found.append(
            Finding(
                FindingCode.SURFACE_UNRELIABLE,
                f"The model's view is a best effort: {fold.problems[0]}{others}",
                path,
            )
        )
    if cut_missing:
        found.append(
            Finding(
                FindingCode.SEED_CUT_MISSING,
                "The header and the log disagree about how much of it was inherited from the parent.",
                path,
            )
        )
    if open_turn:
        found.append(
            Finding(
                FindingCode.OPEN_TURN,
                "The log ends inside a turn: the session is still at work, or it was interrupted.",
                path,
            )
        )
    return found
