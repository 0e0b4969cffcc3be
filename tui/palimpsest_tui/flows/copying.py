"""Taking something out of the app: copying, reading in a pager or editor, the command that resumes a session."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from palimpsest_core import printable
from palimpsest_tui.jobs.clipboard import copy_with_tool, save_copy
from palimpsest_tui.jobs.reading import Reading, read_event
from palimpsest_tui.settings import settings_path
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.inspector import Tab
from palimpsest_tui.widgets.session_list import title_of

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, OpenLog
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.clipboard import Copied

_OSC_MAX = 74_000
"""Terminals drop longer OSC 52 sequences without a word (100,000 bytes of base64 in most of them)."""


def event_text(log: OpenLog, index: int, tab: Tab, cancel: CancelToken) -> str:
    """The text of an event as a tab has it; the type when it has no words."""
    document = read_event(log, index, Reading(tab, 100, True, False), cancel)
    return document.copy_text or log.row(index).type


class Copying:
    """Copies go to the system's tool, else through the terminal, else into a file; it is said which and what."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def text(self) -> None:
        """Copy the title of the session, or the text of the event as the inspector shows it."""
        desk = self._desk
        if desk.session_list.has_focus:
            session = desk.listing.selected()
            if session is not None:
                self.put(title_of(session), f"the title of {session.id}")
            return
        log, index = desk.opening.log, desk.timeline.event_index
        if log is None or index is None:
            desk.say("There is nothing to copy.", bad=True)
            return
        name = self._reference(log, index)
        what = "the stored JSON of" if desk.inspecting.tab is Tab.RAW else "the text of"
        work = partial(event_text, log, index, desk.inspecting.tab)
        desk.jobs.ask("copy text", work, lambda text: self.put(text, f"{what} {name}"))

    def reference(self) -> None:
        """Copy `ID`, or `ID#SEQ` (`ID#vN:SEQ` where a folder holds several generations)."""
        desk = self._desk
        if desk.session_list.has_focus:
            session = desk.listing.selected()
            if session is not None:
                self.put(session.id, "the id")
            return
        log, index = desk.opening.log, desk.timeline.event_index
        if log is None or index is None:
            desk.say("There is nothing to copy.", bad=True)
            return
        reference = self._reference(log, index)
        self.put(reference, reference, quote=False)

    def _reference(self, log: OpenLog, index: int) -> str:
        seq = log.table.seqs[index]
        session = self._desk.listing.by_id.get(log.session_id)
        several = session is not None and session.generations is not None and len(session.generations) > 1
        where = f"v{log.generation}:{seq}" if several else str(seq)
        return f"{log.session_id}#{where}"

    def put(self, text: str, what: str, *, quote: bool = True) -> None:
        """Copy `text`; `what` is how it is called when it is said."""
        del quote
        self._desk.jobs.ask("copy", partial(copy_with_tool, text), partial(self._copied, text, what))

    def _copied(self, text: str, what: str, copied: Copied) -> None:
        # What may be long stands last: a narrow screen cuts it there.
        told = f"{numbers.plural(len(text), 'character')}, {what}"
        if copied.tool is not None:
            self._desk.say(f"Copied with {copied.tool}: {told}.")
        elif len(text.encode("utf-8", "replace")) <= _OSC_MAX:
            self._desk.screen.app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
            self._desk.say(f"Copied through the terminal (OSC 52): {told}.")
        else:
            self._desk.jobs.ask(
                "copy", partial(save_copy, text), lambda path: self._desk.say(f"Saved to {path}: {told}.")
            )

    # Pager and editor --------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Read the event in the pager, or in the editor of the settings. The log itself is never handed out."""
        desk = self._desk
        log, index = desk.opening.log, desk.timeline.event_index
        if log is None or index is None:
            desk.say("Go to an event first.", bad=True)
            return
        work = partial(event_text, log, index, desk.inspecting.tab)
        then = partial(self._view, self._reference(log, index))
        desk.jobs.ask("pager", work, then)

    def _view(self, name: str, text: str) -> None:
        self._desk.screen.view_outside(name, printable(text), self._desk.settings.editor)

    def settings_file(self) -> None:
        """Say where the settings file is; with an editor to hand, open it there. It is read at the next start."""
        path = settings_path()
        editor = self._desk.settings.editor or os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if editor:
            self._desk.screen.edit_outside(path, editor)
        else:
            self._desk.say(f"Settings: {path} (no $EDITOR to open it in)")

    # Resume ------------------------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Show the command that resumes the session."""
        from palimpsest_tui.screens.resume import ResumeScreen

        session = self._desk.listing.selected()
        if session is None:
            self._desk.say("Choose a session first.", bad=True)
            return
        command = self.resume_command(session)
        cwd = session.header.cwd if session.header is not None else None
        self._desk.push(ResumeScreen(command, cwd, title_of(session)), self._resume_chosen)

    def resume_command(self, session: SessionSummary) -> str:
        """The command of the settings with the id in it, quoted for the shell."""
        import shlex

        return self._desk.settings.resume_command.replace("{id}", shlex.quote(session.id))

    def _resume_chosen(self, chosen: tuple[str, str, str | None] | None) -> None:
        if chosen is None:
            return
        action, command, cwd = chosen
        if action == "copy":
            self.put(command, "the resume command")
        else:
            self._desk.screen.run_outside(command, cwd)
