"""The lineage pane: the family of the open session, walked with the arrow keys and enter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from palimpsest_core import ErrorCode, SessionQueryError, printable_line
from palimpsest_tui.jobs.asking import sentence
from palimpsest_tui.widgets.lineage_rows import Compaction, lineage_rows, unreadable_row

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine
    from palimpsest_core.model.session import SessionTrace
    from palimpsest_tui.flows.desk import Desk

_COMPACTIONS_MAX = 40


def family_of(engine: Engine, session_id: str, cancel: CancelToken) -> SessionTrace:
    """The trace of the topmost session above (and with) a session: its whole family hangs below that one."""
    try:
        return _family(engine, session_id, cancel, fresh=False)
    except SessionQueryError as error:
        if error.code is not ErrorCode.SESSION_NOT_FOUND:
            raise
        return _family(engine, session_id, cancel, fresh=True)  # the index does not know it yet


def _family(engine: Engine, session_id: str, cancel: CancelToken, *, fresh: bool) -> SessionTrace:
    trace = engine.lineage(session_id, cancel, fresh=fresh)
    if not trace.ancestors:
        return trace
    return engine.lineage(trace.ancestors[-1].header.id, cancel, fresh=fresh)


class Kinship:
    """Reads the family of the open session and goes where its nodes lead."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._family: SessionTrace | None = None
        self._of: str | None = None
        self._moved = False
        desk.panes.title("lineage", "4 Lineage")
        desk.lineage_tree.set_empty("No session is open.", "Its forks and subagents show here.")

    def opened(self, session_id: str) -> None:
        """Another session is open: read its family."""
        if session_id == self._of and self._family is not None:
            self.show()
            return
        self._of = session_id
        self._moved = True
        self._ask()

    def sessions_changed(self) -> None:
        """The list was read again: there may be new children."""
        if self._of is not None:
            self._ask()

    def _ask(self) -> None:
        assert self._of is not None
        work = partial(family_of, self._desk.engine, self._of)
        self._desk.jobs.ask("lineage", work, self._took, self._failed)

    def _took(self, family: SessionTrace) -> None:
        self._family = family
        self.show()

    def _failed(self, error: Exception) -> None:
        self._family = None
        session = self._desk.listing.by_id.get(self._of or "")
        if session is not None and session.header is None:
            self._desk.lineage_tree.show([unreadable_row(session)])
            return
        self._desk.lineage_tree.show([])
        self._desk.lineage_tree.set_empty("The lineage cannot be told.", printable_line(sentence(error)))

    def show(self) -> None:
        """Show the family, the compactions of the open session below it."""
        if self._family is None or self._of is None:
            return
        rows = lineage_rows(self._family, self._of, self._desk.listing.by_id, self._compactions())
        self._desk.lineage_tree.show(rows, keep=not self._moved)
        self._moved = False
        sessions = sum(row.session_id is not None and row.seq is None for row in rows)
        self._desk.panes.title("lineage", f"4 Lineage  {sessions}" if sessions > 1 else "4 Lineage")

    def _compactions(self) -> list[Compaction]:
        log = self._desk.opening.log
        if log is None or log.session_id != self._of or not log.complete:
            return []
        found: list[Compaction] = []
        for index in log.boundaries():
            seq = log.table.seqs[index]
            replaced = log.replaces(seq) if seq >= 0 else []
            if len(replaced) > 1:
                found.append(Compaction(seq, min(replaced), max(replaced), len(replaced)))
        return found[:_COMPACTIONS_MAX]

    def moved(self) -> None:
        """The cursor came to a node: where something is the matter with it, say what."""
        node = self._desk.lineage_tree.row_at(self._desk.lineage_tree.cursor)
        if node is not None and node.reason:
            self._desk.say(f"{node.label}: {node.reason}", bad=True)

    def choose(self) -> None:
        """Go to the node under the cursor; `<` comes back to the very place."""
        node = self._desk.lineage_tree.row_at(self._desk.lineage_tree.cursor)
        if node is None:
            return
        if node.session_id is None:
            self._desk.say(f"{node.label}: {node.reason}", bad=True)
            return
        if node.seq is not None:
            self._desk.opening.go_seq(node.seq, remember=True)
            self._desk.panes.enter("timeline")
            return
        self._desk.opening.open(node.session_id, None)
        self._desk.session_list.go_session(node.session_id)
