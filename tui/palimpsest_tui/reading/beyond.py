"""What the inspector says of a row at or behind a log's damage, and of an event whose type nobody here knows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palimpsest_core import LABELS, LANE_FIRST, LANE_SECOND, Flag, printable_line
from palimpsest_core.model.finding import FindingCode
from palimpsest_tui.reading.lines import Piece, plain, wrap
from palimpsest_tui.widgets.badges import NEWEST_KNOWN

if TYPE_CHECKING:
    from palimpsest_core import Event, OpenLog, SecondLook
    from palimpsest_core.model.finding import Finding
    from palimpsest_tui.reading.lines import Line

_LANE_WORDS = {LANE_FIRST: "first", LANE_SECOND: "second"}


def damage_lines(log: OpenLog, index: int, look: SecondLook | None, width: int) -> list[Line]:
    """Why a row was refused or withheld, which writer it belongs to, and where the other one's row is."""
    if look is None:
        return []
    lines: list[Line] = []
    if index == look.refused:
        reason = look.finding.message if look.finding is not None else "It does not fit what stands before it."
        lines += wrap([Piece("refused  ", "badge--error"), Piece(printable_line(reason))], width, 2)
    elif look.refused < index < look.stop:
        lines += wrap(plain(f"Behind the refused row: {_claim(log, index)}", "badge--error"), width, 2)
    lane = look.lane(index)
    if lane in _LANE_WORDS:
        told = f"lane {lane} of 2: by its number the {_LANE_WORDS[lane]} writer's"
        line: Line = [Piece(told, "text--strong")]
        if look.twin(index) is not None:
            line.append(Piece("  % goes to the other writer's row of this number", "line--dim"))
        lines += wrap(line, width, 2)
    elif look.two_lanes and look.refused <= index < look.stop:
        lines += wrap(plain("Its number fits neither writer.", "text--strong"), width, 2)
    return lines


def _claim(log: OpenLog, index: int) -> str:
    seq = log.table.seqs[index]
    return "a raw row without a usable number." if seq < 0 else f"a raw row that claims the number {seq}."


def foreign_lines(log: OpenLog, event: Event, flags: int, width: int) -> list[Line]:
    """What it means that a type is unknown here; nothing for the types of the format."""
    if event.type in LABELS or flags & (Flag.WITHHELD | Flag.SYNTHETIC):
        return []
    if log.generation > NEWEST_KNOWN:
        told = "This type is unknown here; the format is newer, so it may well belong to it."
    elif event.ignorable is True:
        told = "A type that is unknown here, marked as skippable: any harness may pass it over."
    else:
        told = (
            "A type that is unknown here and not marked as skippable: a plug-in's or a newer build's. A harness "
            "without it refuses the log; it is shown as it is."
        )
    return wrap(plain(told, "badge--error" if event.ignorable is not True else "line--dim"), width, 2)


def missing_lines(log: OpenLog, seqs: Sequence[int], width: int) -> list[Line]:
    """Citations of events that do not exist."""
    gone = [seq for seq in seqs if log.index_of_seq(seq) is None]
    if not gone:
        return []
    told = ", ".join(map(str, gone[:6])) + (f" and {len(gone) - 6} more" if len(gone) > 6 else "")
    return wrap(plain(f"It cites what does not exist in this log: {told}", "badge--error"), width, 2)


def unreliable_line(findings: Sequence[Finding]) -> str:
    """Why the badges of a log are a best guess; empty where they are not."""
    return next((finding.message for finding in findings if finding.code is FindingCode.SURFACE_UNRELIABLE), "")
