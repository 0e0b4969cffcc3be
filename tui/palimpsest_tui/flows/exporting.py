"""Exporting a session: at once or with options; the export goes on when its window is hidden and is joined again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest_core.base.paths import typed_path
from palimpsest_tui.jobs.asking import sentence
from palimpsest_tui.jobs.exporting import Run, Stage, open_folder, plan_export, why, write_export
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.session_list import title_of

if TYPE_CHECKING:
    from palimpsest_core import ExportPlan, ExportResult, Progress
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.screens.export import ExportScreen


class Exporting:
    """Keeps the exports of this run of the app, one for each session."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._runs: dict[str, Run] = {}
        self._window: ExportScreen | None = None

    @property
    def progress_text(self) -> str:
        """What the path bar says of running exports; empty when none runs."""
        running = [run for run in self._runs.values() if run.busy]
        if not running:
            return ""
        return f"export {min(run.fraction for run in running):.0%}"

    # Starting ----------------------------------------------------------------------------------------------------

    def now(self) -> None:
        """Export the session and its descendants at once; asked again while it runs, join it."""
        run = self._run()
        if run is not None:
            if not run.busy:
                self._again(run)
                self.start(run)
            self._show(run)

    def options(self) -> None:
        """Show the window and wait for enter."""
        run = self._run()
        if run is not None:
            if not run.busy:
                self._again(run)
                self.plan(run)
            self._show(run)

    def command(self, target: str) -> None:
        """`/export` in the search bar: the window, with a path at once to that path."""
        run = self._run()
        if run is None:
            return
        if not target:
            self.options()
            return
        if not run.busy:
            self._again(run)
            run.target, run.chosen_target = typed_path(target), True
            self.start(run)
        self._show(run)

    def _run(self) -> Run | None:
        session = self._desk.listing.selected()
        if session is None:
            self._desk.say("Choose a session to export first.", bad=True)
            return None
        if session.id not in self._runs:
            self._runs[session.id] = Run(session.id, title_of(session), self._descendants(session))
        return self._runs[session.id]

    def _descendants(self, session: SessionSummary) -> int:
        children: dict[str, list[str]] = {}
        for known in self._desk.listing.sessions:
            if known.parent is not None:
                children.setdefault(known.parent, []).append(known.id)
        seen: set[str] = {session.id}
        waiting = [session.id]
        while waiting:
            for child in children.get(waiting.pop(), ()):
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        return len(seen) - 1

    @staticmethod
    def _again(run: Run) -> None:
        """Forget what an earlier export left."""
        run.stage, run.plan, run.progress, run.result, run.error = Stage.IDLE, None, None, None, ""
        run.beside = ""
        if not run.chosen_target:
            run.target = None

    def _show(self, run: Run) -> None:
        from palimpsest_tui.screens.export import ExportScreen

        self._window = ExportScreen(run, self)
        self._desk.push(self._window, self._hidden)

    def _hidden(self, result: None) -> None:
        del result
        self._window = None
        self._desk.telling.where()

    # Working -----------------------------------------------------------------------------------------------------

    def plan(self, run: Run) -> None:
        """Read what would go in, for the window."""
        run.writes = False
        self._begin_plan(run, partial(self._planned, run))

    def start(self, run: Run) -> None:
        """Plan and write."""
        run.writes = True
        if run.plan is not None:
            self._write(run, run.plan)
        else:
            self._begin_plan(run, partial(self._write, run))

    def _begin_plan(self, run: Run, then: Callable[[ExportPlan], None]) -> None:
        run.stage, run.error, run.progress, run.result = Stage.PLANNING, "", None, None
        self._desk.jobs.ask_parts(
            self._topic(run),
            partial(plan_export, self._desk.engine, run),
            partial(self._progressed, run),
            then,
            partial(self._failed, run),
        )
        self._update()

    def _planned(self, run: Run, plan: ExportPlan) -> None:
        run.plan, run.stage = plan, Stage.IDLE
        self._update()

    def _write(self, run: Run, plan: ExportPlan) -> None:
        run.plan, run.stage, run.progress, run.error = plan, Stage.WRITING, None, ""
        self._desk.jobs.ask_parts(
            self._topic(run),
            partial(write_export, self._desk.engine, run, plan),
            partial(self._progressed, run),
            partial(self._written, run),
            partial(self._failed, run),
        )
        self._update()

    def _progressed(self, run: Run, progress: Progress) -> None:
        run.progress = progress
        self._update()

    def _written(self, run: Run, result: ExportResult) -> None:
        run.result, run.stage = result, Stage.DONE
        run.target = Path(result.path)
        if self._window is None:
            beside = f" {run.beside} was there already." if run.beside else ""
            self._desk.say(f"Exported {run.title} to {result.path} ({numbers.size(result.bytes)}).{beside}")
        self._update()

    def _failed(self, run: Run, error: Exception) -> None:
        run.stage, run.error = Stage.FAILED, why(error) or sentence(error)
        if self._window is None:
            self._desk.say(f"Export of {run.title}: {run.error}", bad=True)
        self._update()

    def cancel(self, run: Run) -> None:
        """Stop; the engine removes the partial file."""
        if run.busy:
            self._desk.jobs.take_back(self._topic(run))
            run.stage = Stage.CANCELLED
            self._update()

    def change(self, run: Run) -> None:
        """Other options were chosen: what was planned no longer holds."""
        if run.busy:
            self.cancel(run)
        self._again(run)
        self.plan(run)

    def copy_path(self, run: Run) -> None:
        """Copy the path of the archive."""
        if run.result is not None:
            self._desk.copying.put(run.result.path, "the path")

    def open_folder(self, run: Run, then: Callable[[str], None]) -> None:
        """Open the folder of the archive."""
        if run.result is not None:
            path = Path(run.result.path)
            self._desk.jobs.ask("folder", partial(open_folder, path), then)

    @staticmethod
    def _topic(run: Run) -> str:
        return f"export {run.session_id}"

    def _update(self) -> None:
        if self._window is not None:
            self._window.update_run()
        self._desk.telling.where()
