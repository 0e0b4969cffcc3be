"""What the health screen says of each log: rows under a heading for each kind of trouble, and the words. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from palimpsest_core import Finding, LogHealth, Remedy, RowCounts, printable_line
from palimpsest_core.model.health import CODE_WORDS, Ailment, ailment_of
from palimpsest_tui.widgets import numbers

HEADING: dict[Ailment, str] = {
    Ailment.UNREADABLE: "cannot be read",
    Ailment.DAMAGED: "damaged: readable up to the damage",
    Ailment.UNCERTAIN: "whole, but not to be relied on in one point",
    Ailment.NEWER: "newer format: read as far as possible",
    Ailment.FOREIGN: "foreign: sound, with something another program wrote",
    Ailment.DIVERGING: "diverging: several files, or not where it belongs",
    Ailment.LEFTOVER: "passed over: no logs",
}
"""What stands above the rows of each kind."""

REMEDY: dict[Remedy, str] = {
    Remedy.RESCUE: "r writes what can be read to a new root (it shows first what that would be).",
    Remedy.NEWER_HARNESS: "A newer harness reads it as a whole; here it is read as far as possible.",
    Remedy.PLUG_IN: "It is sound. A harness without the plug-in refuses it; here everything is shown.",
    Remedy.OTHER_FILE: "The session has another file: enter opens this one, V goes to the next.",
    Remedy.BY_HAND: "It can only be looked at by hand. Nothing here is ever deleted or moved.",
    Remedy.NOTHING: "Nothing needs to be done: every event is shown.",
}
"""What can be done, in one sentence each."""


class HealthRow(NamedTuple):
    """One line: a log, or the heading above some (then `health` is None)."""

    health: LogHealth | None
    heading: str = ""
    logs: int = 0


def health_rows(ailing: Sequence[LogHealth]) -> list[HealthRow]:
    """Logs under their headings, in the order in which they are given (the worst first)."""
    rows: list[HealthRow] = []
    for ailment in Ailment:
        members = [health for health in ailing if health.ailment is ailment]
        if members:
            rows.append(HealthRow(None, HEADING[ailment], len(members)))
            rows += [HealthRow(health) for health in members]
    return rows


def name_of(health: LogHealth) -> str:
    """What to call a log: its session's title, else its id, else the file's name."""
    return printable_line(health.title or health.session_id or os.path.basename(health.path))


def chief(health: LogHealth) -> Finding:
    """The finding that makes the log what it is."""
    return next(finding for finding in health.findings if ailment_of([finding]) is health.ailment)


def what(health: LogHealth) -> str:
    """All that is the matter, in words; the chief finding first."""
    first = chief(health)
    codes = dict.fromkeys(finding.code for finding in (first, *health.findings) if ailment_of([finding]) is not None)
    return ", ".join(CODE_WORDS[code] for code in codes)


def place(finding: Finding) -> str:
    """Where it is: `line 43 · seq 41`; empty when the whole file is meant."""
    places = (("byte", finding.byte_offset), ("line", finding.line), ("seq", finding.seq))
    return " · ".join(f"{word} {numbers.exact(value)}" for word, value in places if value is not None)


def rows_told(counts: RowCounts | None, *, short: bool = False) -> str:
    """Rows shown and withheld and their sum; `…` while they are counted."""
    if counts is None:
        return "…"
    shown, withheld = numbers.exact(counts.shown), numbers.exact(counts.withheld)
    if short:
        return f"{shown} + {withheld}"
    return f"{shown} shown + {withheld} withheld = {numbers.plural(counts.total, 'row')} in the file"


def report(health: LogHealth, counts: Mapping[str, RowCounts]) -> str:
    """One log as plain text, to be copied: path, findings, rows, what can be done."""
    lines = [health.path, f"{health.ailment.value}: {what(health)}"]
    if health.path in counts:
        lines.append(rows_told(counts[health.path]))
    for finding in health.findings:
        where = place(finding)
        lines.append(f"{finding.code.value}{f' ({where})' if where else ''}: {finding.message}")
    return "\n".join([*lines, *(REMEDY[remedy] for remedy in health.remedies)])
