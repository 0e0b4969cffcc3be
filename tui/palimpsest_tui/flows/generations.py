"""The files of one session: several formats side by side, twins, one id in two folders. Each can be opened."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from palimpsest_core import FindingCode, printable_line
from palimpsest_core.model.session import SessionState
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.badges import NEWEST_KNOWN

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, OpenLog
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk

_RIVALS = frozenset({FindingCode.GENERATION_DIVERGENCE, FindingCode.DUPLICATE_ID, FindingCode.TWIN_ENCODING})


def logs_of(engine: Engine, session_id: str, cancel: CancelToken) -> list[SessionSummary]:
    """A row for each file of a session, the one that answers first."""
    cancel.raise_if_set()
    return engine.logs_of(session_id)


class Generations:
    """Knows the files of the open session and goes from one to another."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._of: str | None = None
        self.files: list[SessionSummary] = []

    # The open session --------------------------------------------------------------------------------------------

    def opened(self, log: OpenLog) -> None:
        """Another log is open: find out what lies beside it, where something does."""
        if log.session_id == self._of and self.files:
            return
        self._of, self.files = log.session_id, []
        if self._may_have_several(log.session_id):
            work = partial(logs_of, self._desk.engine, log.session_id)
            self._desk.jobs.ask("files", work, partial(self._took, log.session_id), _nothing)

    def sessions_changed(self) -> None:
        """The list was read again: a file may have come or gone."""
        log = self._desk.opening.log
        if log is not None and log.session_id == self._of and (self.several or self._may_have_several(self._of)):
            work = partial(logs_of, self._desk.engine, self._of)
            self._desk.jobs.ask("files", work, partial(self._took, self._of), _nothing)

    def _may_have_several(self, session_id: str) -> bool:
        rows = [session for session in self._desk.listing.sessions if session.id == session_id]
        return len(rows) > 1 or any(
            len(row.generations or ()) > 1 or any(finding.code in _RIVALS for finding in row.findings or ())
            for row in rows
        )

    def _took(self, session_id: str, files: list[SessionSummary]) -> None:
        if session_id == self._of:
            self.files = files
            self._desk.opening.title()
            self._desk.beyond.tell()

    @property
    def several(self) -> bool:
        """Whether the open session has more than one file."""
        return len(self.files) > 1

    @property
    def diverging(self) -> bool:
        """Whether the files of the open session tell different stories, and the older format the later one."""
        return any(
            finding.code is FindingCode.GENERATION_DIVERGENCE for file in self.files for finding in file.findings or ()
        )

    # What is said of it ------------------------------------------------------------------------------------------

    def label(self, log: OpenLog) -> str:
        """What the title of the timeline says: `v3 of v0 v3`, `v9 best effort`; empty where there is nothing to say."""
        label = ""
        if self.several:
            shown = sorted(self.files, key=lambda file: (file.generation or 0, file.path))
            label = f"v{log.generation} of " + " ".join(f"v{file.generation}" for file in shown)
            label += "!" if self.diverging else ""
        if log.header is not None and log.generation > NEWEST_KNOWN:
            return f"{label or f'v{log.generation}'} best effort"
        return label

    def told(self) -> list[str]:
        """What the lower edge of the timeline says of the files."""
        parts = []
        if self.diverging:
            parts.append("generations diverge")
        if self.several:
            parts.append("V other file")
        return parts

    # Going -------------------------------------------------------------------------------------------------------

    def next(self) -> None:
        """Open the next file of the session; with more than two, choose one."""
        if not self.several:
            self._desk.say("This session has one file only.")
        elif len(self.files) == 2:
            self._open(self.files[1 - self._here()])
        else:
            self.choose()

    def choose(self) -> None:
        """List the files of the session and open the chosen one."""
        if not self.files:
            self._desk.say("This session has one file only.")
            return
        from palimpsest_tui.screens.choose import Choice, ChooseScreen

        choices = [Choice(*describe(file, number == 0), file.path) for number, file in enumerate(self.files)]
        self._desk.push(ChooseScreen("Files of this session", choices), self._chosen)

    def _here(self) -> int:
        log = self._desk.opening.log
        paths = [file.path for file in self.files]
        return paths.index(log.file.path) if log is not None and log.file.path in paths else 0

    def _chosen(self, path: str | None) -> None:
        file = next((file for file in self.files if file.path == path), None)
        if file is not None:
            self._open(file)

    def _open(self, file: SessionSummary) -> None:
        """Numbers differ between generations, so a person lands at the same moment, not at the same number."""
        log, index = self._desk.opening.log, self._desk.timeline.event_index
        if log is None or log.file.path == file.path:
            return
        answering = file.path == self.files[0].path
        moment = log.table.times[index] if index is not None and index < len(log) else None
        self._desk.opening.open(file.id, None, path=None if answering else file.path, moment=moment)
        kind, _ = describe(file, answering)
        self._desk.say(f"Now showing {kind}. Its numbers are its own.")


def describe(file: SessionSummary, answering: bool) -> tuple[str, str]:
    """One file in words, and a note beside it."""
    form = "plain" if file.path.endswith(".jsonl") else "compressed"
    kind = f"v{file.generation} {form}"
    if answering:
        kind += ", answers for the session"
    parts = [numbers.plural(file.events, "event")] if file.events is not None else []
    parts.append(numbers.size(file.size))
    if file.last_time is not None:
        parts.append(numbers.full_time(file.last_time))
    if file.state is SessionState.NEWER:
        parts.append("newer format")
    elif file.state is SessionState.UNREADABLE:
        parts.append("unreadable")
    return printable_line(kind), " · ".join(parts)


def _nothing(error: Exception) -> None:
    del error
