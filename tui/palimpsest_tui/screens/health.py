"""The health screen: every log with something the matter, what and where, how much is readable, how to save it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType

from palimpsest_core import Finding, LogHealth, Remedy, RowCounts, printable_line
from palimpsest_core.model.health import CODE_WORDS
from palimpsest_tui.keys import Where, bindings
from palimpsest_tui.reading.lines import FixedBlock, Line, Piece, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.screens.window import Window
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.health_list import HealthList
from palimpsest_tui.widgets.health_rows import REMEDY, name_of, place, report, rows_told
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.status_bar import Bar

if TYPE_CHECKING:
    from palimpsest_tui.flows.ailing import Ailing
    from palimpsest_tui.jobs.health import Looked


class HealthScreen(Window[None]):
    """A list of logs, the log under the cursor told in full below it (beside it on a wide screen)."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["window.tcss", "health.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.HEALTH)
    AUTO_FOCUS = "HealthList"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012

    def __init__(self, ailing: Ailing, path: str | None) -> None:
        """`path` is the file to go to first."""
        super().__init__()
        self._flow = ailing
        self._path = path
        self._logs: Sequence[LogHealth] = ()
        self._counts: Mapping[str, RowCounts] = {}
        self._gone: Mapping[str, Sequence[Finding]] = {}

    def compose(self) -> ComposeResult:
        """The list, the page, the keys."""
        with Vertical(id="window") as window:
            window.border_title = Content("Health")
            with Vertical(id="health"):
                yield HealthList(id="health-list")
                yield Page([], id="health-page")
            yield Bar()

    def on_mount(self) -> None:
        """Ask what is the matter."""
        self.query_one("#health-list", HealthList).set_empty("Looking through the root…")
        self._flow.look()

    # What the flow tells -----------------------------------------------------------------------------------------

    def show(self, logs: Sequence[LogHealth], sessions: int, unread: int) -> None:
        """Show what was found among so many sessions, of which some are not read yet."""
        self._logs = logs
        window = self.query_one("#window")
        told = f"{numbers.plural(len(logs), 'file')} to look at · {numbers.plural(sessions, 'session')}"
        told += f", {numbers.exact(unread)} not read yet" if unread else ""
        window.border_title = Content(f"Health  {told}" if logs else "Health")
        listed = self.query_one("#health-list", HealthList)
        if unread:
            listed.set_empty(
                "Nothing was found so far.",
                f"{numbers.exact(unread)} of {numbers.plural(sessions, 'session')} are not read yet; what is the matter"
                " with them shows up here as they are read.",
            )
        else:
            listed.set_empty("Every log is sound.", f"{numbers.plural(sessions, 'session')}, nothing to say about any.")
        listed.show(logs, self._counts)
        if self._path is not None and listed.go_path(self._path):
            self._path = None
        self._turn()

    def show_looked(self, looked: Mapping[str, Looked]) -> None:
        """More logs were read through."""
        self._counts = {path: item.counts for path, item in looked.items()}
        self._gone = {path: item.gone for path, item in looked.items()}
        self.query_one("#health-list", HealthList).show_counts(self._counts)
        self._turn()

    def show_problem(self, sentence: str) -> None:
        """The root cannot be looked through."""
        self.query_one("#health-list", HealthList).set_empty("The root cannot be looked through.", sentence)
        self.query_one("#health-list", HealthList).refresh()

    def hear(self, sentence: str) -> None:
        """Said in place of the keys, until the cursor moves."""
        self.query_one(Bar).set([Piece(sentence, "bar--strong")])

    # The log under the cursor ------------------------------------------------------------------------------------

    def chosen(self) -> LogHealth | None:
        """The log under the cursor, with what reading it through has found."""
        listed = self.query_one("#health-list", HealthList)
        health = listed.health_at(listed.cursor)
        gone = self._gone.get(health.path) if health is not None else None
        return replace(health, findings=[*health.findings, *gone]) if health is not None and gone else health

    def _turn(self) -> None:
        health = self.chosen()
        page = self.query_one("#health-page", Page)
        width = max(20, page.scrollable_content_region.width - 2)
        lines: list[Line] = []
        if health is not None:
            lines = health_lines(health, self._counts.get(health.path), self._flow.below_root(health.path), width)
        page.turn_to([FixedBlock(lines)])
        page.styles.clear_rule("height")
        bar = self.query_one(Bar)
        keys = [("enter", "open"), ("y", "copy"), ("R", "look again"), ("tab", "page"), ("esc", "close")]
        if health is not None and Remedy.RESCUE in health.remedies:
            keys.insert(1, ("r", "rescue"))
        bar.set([piece for key, told in keys for piece in (Piece(key, "bar--key"), Piece(f" {told}   ", "bar--dim"))])

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """Another log."""
        event.stop()
        self._turn()

    def on_inspector_resized(self) -> None:
        """Another width: the page is wrapped anew."""
        self._turn()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Open the log at its damage."""
        event.stop()
        health = self.chosen()
        if health is not None:
            self._flow.open(health, self)

    def action_rescue(self) -> None:
        """Show what a copy of the readable rows would be."""
        health = self.chosen()
        if health is not None:
            self._flow.rescue(health)

    def action_copy(self) -> None:
        """Copy what is told of the log."""
        health = self.chosen()
        if health is not None:
            self._flow.copy(report(health, self._counts), name_of(health))

    def action_look(self) -> None:
        """Look through the root again."""
        self._flow.look()


def health_lines(health: LogHealth, counts: RowCounts | None, path: str, width: int) -> list[Line]:
    """All there is to say about a log: what, where, how much is readable, what can be done."""
    head: Line = [Piece(name_of(health), "text--strong")]
    facts = [] if health.session_id is None or health.generation is None else [f"format v{health.generation}"]
    facts.append(numbers.size(health.size))
    if health.beside:
        facts.append("beside it " + ", ".join(f"v{generation}" for generation in health.beside))
    if health.session_id is not None and not health.answers:
        facts.append("another file answers for this session")
    head.append(Piece("  " + " · ".join(facts), "line--dim"))
    lines = wrap(head, width, 2)
    if health.title and health.session_id:
        lines += wrap(plain(printable_line(health.session_id), "line--dim"), width, 2)
    lines += wrap(plain(printable_line(path), "line--dim"), width, 2)
    if health.session_id is not None:
        style = "badge--error" if counts is not None and counts.withheld else "text--strong"
        lines += wrap([Piece("rows  "), Piece(rows_told(counts), style)], width, 2)
    lines.append([])
    for finding in health.findings:
        where = place(finding)
        words = CODE_WORDS[finding.code]
        title: Line = [Piece(words, "text--heading")]
        code = "" if finding.code.value == words else f"  {finding.code.value}"
        title.append(Piece(f"{code}{'  ' + where if where else ''}", "line--dim"))
        lines += wrap(title, width, 2)
        lines += [[Piece("  "), *line] for line in wrap(plain(printable_line(finding.message)), width - 2)]
    lines += [[], plain("what can be done", "text--heading")]
    for remedy in health.remedies:
        lines += [[Piece("  "), *line] for line in wrap(plain(REMEDY[remedy]), width - 2)]
    return lines
