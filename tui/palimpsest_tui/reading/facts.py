"""The head of the inspector: which event it is and how it stands. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from palimpsest_core import Flag, printable_line
from palimpsest_tui.reading.lines import Piece, wrap
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import BADGE, BADGE_STYLE

if TYPE_CHECKING:
    from palimpsest_core import OpenLog
    from palimpsest_core.model.event import Surface
    from palimpsest_tui.reading.lines import Line

_MANY = 6


class Facts(NamedTuple):
    """What is known of an event without its payload."""

    at: int
    seq: int
    type: str
    time: int
    surface: Surface
    flags: Flag
    turn: int | None
    step: int | None
    replaced_by: int | None
    replaces: list[int]
    sources: list[int]
    inherited: bool
    unreliable: bool


def facts_of(log: OpenLog, index: int) -> Facts:
    """Read the facts of one event of a log."""
    row = log.row(index)
    turn = step = None
    event = log.event(index)
    if isinstance(event.data, dict):
        turn, step = _number(event.data.get("turn")), _number(event.data.get("step"))
    known = row.seq >= 0 and not row.flags & Flag.WITHHELD
    return Facts(
        index,
        row.seq,
        row.type,
        row.time,
        row.surface,
        row.flags,
        turn,
        step,
        log.replaced_by(row.seq) if known else None,
        list(log.replaces(row.seq)) if known else [],
        list(log.sources(row.seq)) if known else [],
        index < (log.cut or 0),
        log.fold.unreliable,
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def fact_lines(facts: Facts, width: int) -> list[Line]:
    """The lines of the head."""
    first: Line = [Piece("seq " + ("none" if facts.seq < 0 else str(facts.seq)), "line--strong"), Piece("  ")]
    first.append(Piece(printable_line(facts.type), "text--heading"))
    if facts.flags & Flag.WITHHELD:
        first += [Piece("  "), Piece("W WITHHELD", "badge--withheld")]
    else:
        badge = f"{BADGE[facts.surface]} {facts.surface.value.upper()}"
        first += [Piece("  "), Piece(badge, BADGE_STYLE[facts.surface])]
    if facts.flags & Flag.SYNTHETIC:
        first.append(Piece("  SYNTHETIC: closes the open tail, not in the file", "line--dim"))
    if facts.flags & Flag.ERROR:
        first.append(Piece("  ERROR", "badge--error"))
    parts = [numbers.full_time(facts.time)]
    if facts.turn is not None:
        parts.append(f"turn {facts.turn}")
    if facts.step is not None:
        parts.append(f"step {facts.step}")
    if facts.inherited:
        parts.append("inherited")
    second: Line = [Piece(" · ".join(parts), "line--dim")]
    lines = [*wrap(first, width, 2), *wrap(second, width, 2)]
    links: Line = []
    if facts.replaced_by is not None:
        links.append(Piece(f"replaced by {facts.replaced_by}  ", "text--link"))
    if facts.replaces:
        links.append(Piece(f"replaces {spans(facts.replaces)}  ", "text--link"))
    if facts.sources and facts.sources != facts.replaces:
        links.append(Piece(f"cites {spans(facts.sources)}", "text--link"))
    if links:
        lines += wrap(links, width, 2)
    if facts.unreliable:
        lines += wrap([Piece("The surface of this log breaks its own rules: badges are a best guess.", "badge--error")],
                      width)  # fmt: skip
    return lines


def spans(seqs: list[int]) -> str:
    """Sequence numbers as short runs: `3, 12..689`; many runs are counted instead."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and runs[-1][1] + 1 == seq:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    if len(runs) > _MANY:
        return f"{len(seqs)} events in {min(seqs)}..{max(seqs)}"
    return ", ".join(str(low) if low == high else f"{low}..{high}" for low, high in runs)
