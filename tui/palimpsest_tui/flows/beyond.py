"""Beyond the damage of the open log: the refused row, two writers' lanes, and what the frame of the timeline says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from palimpsest_core import FindingCode, printable_line, second_look
from palimpsest_core.model.health import AILMENT_OF, CODE_WORDS, Ailment
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import NEWEST_KNOWN
from palimpsest_tui.widgets.cells import clip

if TYPE_CHECKING:
    from palimpsest_core import Finding, OpenLog, SecondLook
    from palimpsest_tui.flows.desk import Desk


class Beyond:
    """Keeps the second look at the open log."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.look: SecondLook | None = None
        self.go_there_when_read = False
        """Whether to land on the refused row (or the end, where none is withheld) once the log is read."""

    def opened(self) -> None:
        """Another log, of which nothing is read yet."""
        self._take(None)
        self.tell()

    def read(self, log: OpenLog) -> None:
        """The log is read, or it grew: look again."""
        self._take(second_look(log.table, log.findings) if log.complete else None)
        self.tell()
        self.arrived()

    def arrived(self) -> None:
        """The log that was asked for is there: go where it was wanted."""
        if self.go_there_when_read:
            self.go_there_when_read = False
            self.go()

    def say_why(self) -> None:
        """Say what is the matter with the log that was just opened: why rows are withheld, or how it is damaged."""
        log = self._desk.opening.log
        finding = self.look.finding if self.look is not None else None
        if finding is None and log is not None:
            finding = next((item for item in log.findings if AILMENT_OF.get(item.code) in _SAID), None)
        if finding is not None:
            self._desk.say(finding.message, bad=True)

    def _take(self, look: SecondLook | None) -> None:
        self.look = look
        self._desk.timeline.set_second_look(look)

    def go(self) -> None:
        """Go to the refused row; where no row is withheld, to the end of what can be read."""
        log = self._desk.opening.log
        if log is None or not len(log):
            return
        self._desk.opening.go_index(self.look.refused if self.look is not None else len(log) - 1)

    def twin(self, index: int) -> int | None:
        """The row of the other writer that claims the same number."""
        return None if self.look is None else self.look.twin(index)

    def tell(self) -> None:
        """The lower edge of the timeline: rows shown and withheld, own and inherited events, what else holds."""
        log = self._desk.opening.log
        parts = facts_of_log(log) if log is not None else []
        parts += self._desk.generations.told()
        self._desk.timeline.border_subtitle = Content(" · ".join(parts))


def facts_of_log(log: OpenLog) -> list[str]:
    """What is to be known of a log as a whole, the most important first; nothing for a sound one without a parent."""
    if not log.complete:
        return []
    parts: list[str] = []
    codes = {finding.code for finding in log.findings}
    if log.rows_withheld or codes & _TELL_ROWS:
        total = log.rows_shown + log.rows_withheld
        parts.append(
            f"{numbers.exact(log.rows_shown)} + {numbers.exact(log.rows_withheld)} withheld"
            f" = {numbers.plural(total, 'row')}"
        )
    parts += [CODE_WORDS[code] for code in _TELL if code in codes]
    if log.generation <= NEWEST_KNOWN:  # in a newer format an unknown type may well belong to it
        parts += [_plug_in(log, finding) for finding in log.findings if finding.code is _PLUG_IN][:1]
    cut = log.cut
    if cut:
        events = sum(log.table.counts().values()) - log.rows_withheld
        inherited = min(cut, events)
        parts.append(f"own {numbers.exact(events - inherited)}, with inherited {numbers.exact(events)}")
    return parts


def _plug_in(log: OpenLog, finding: Finding) -> str:
    """The plug-in's event that makes a harness refuse the log."""
    index = log.index_of_seq(finding.seq) if finding.seq is not None else None
    name = f" {printable_line(log.row(index).type)} at {finding.seq}" if index is not None else ""
    return CODE_WORDS[finding.code] + clip(name, 40)


_SAID = (Ailment.UNREADABLE, Ailment.DAMAGED, Ailment.UNCERTAIN)
_PLUG_IN = FindingCode.UNKNOWN_REQUIRED_EVENT
_TELL_ROWS = {
    FindingCode.TORN_TAIL,
    FindingCode.CORRUPT,
    FindingCode.UNREADABLE,
    FindingCode.LIMIT_EXCEEDED,
}
_TELL = (
    FindingCode.UNREADABLE,
    FindingCode.OVERLAPPING_WRITERS,
    FindingCode.OVERLAPPED_REPAIR,
    FindingCode.SEQUENCE_GAP,
    FindingCode.CORRUPT,
    FindingCode.WITHHELD_TAIL,
    FindingCode.TORN_TAIL,
    FindingCode.LIMIT_EXCEEDED,
    FindingCode.SEED_CUT_MISSING,
)
