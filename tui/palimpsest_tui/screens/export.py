"""The export window: what goes in, where it goes, how far it is, what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from palimpsest_core import printable_line
from palimpsest_core.base.paths import typed_path
from palimpsest_tui.jobs.exporting import Stage
from palimpsest_tui.keys import Where, bindings
from palimpsest_tui.reading.lines import FixedBlock, Piece, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.widgets import numbers
from palimpsest_tui.widgets.cells import clip
from palimpsest_tui.widgets.status_bar import Bar
from palimpsest_tui.widgets.toggle import Toggle

if TYPE_CHECKING:
    from palimpsest_tui.flows.exporting import Exporting
    from palimpsest_tui.jobs.exporting import Run
    from palimpsest_tui.reading.lines import Line

_WIDTH = 60
_BAR = 34


class ExportScreen(ModalScreen[None]):
    """Shows one export. Hiding it does not stop it."""

    CSS_PATH = "export.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.EXPORT)
    AUTO_FOCUS = "#descendants, #missing"

    def __init__(self, run: Run, exporting: Exporting) -> None:
        super().__init__()
        self._run_shown = run
        self._exporting = exporting
        self._note = ""
        self._ready = False

    def compose(self) -> ComposeResult:
        """The rows of the picture, as far as they apply to a ZIP of raw logs."""
        run = self._run_shown
        with Vertical(id="export") as window:
            window.border_title = Content(f"Export  {clip(run.title, 48)}")
            yield _row("What", "raw logs and their images, ZIP")
            with Horizontal(classes="export-row", id="export-with"):
                yield _label("With")
                if run.descendants_known:
                    known = numbers.plural(run.descendants_known, "descendant")
                    yield Toggle(known, run.with_descendants, id="descendants")
                yield Toggle("go on without missing images", run.allow_missing, id="missing")
            with Horizontal(classes="export-row"):
                yield _label("To")
                yield Input(self._target(), compact=True, select_on_focus=False, id="target")
            with Horizontal(classes="export-row", id="export-over"):
                yield _label("")
                yield Toggle("overwrite an existing file", run.overwrite, id="overwrite")
            yield Page([], id="export-facts")
            yield Bar(id="export-progress")
            yield Bar(id="export-keys")

    def on_mount(self) -> None:
        """Show how far it is."""
        self.query_one("#export-facts", Page).can_focus = False
        self._ready = True
        self.update_run()

    def _target(self) -> str:
        run = self._run_shown
        target = run.target
        if target is None:
            name = run.plan.file_name if run.plan is not None else ""
            return f"~/{name}" if name else "~/"
        home = str(Path.home())
        text = str(target)
        return "~" + text.removeprefix(home) if text.startswith(home + "/") else text

    def update_run(self) -> None:
        """The export went on."""
        if not self._ready or self._pruning or not self.is_attached:
            return
        run = self._run_shown
        target = self.query_one("#target", Input)
        if (not target.has_focus and not run.chosen_target) or run.stage is Stage.DONE:
            with self.prevent(Input.Changed):
                target.value = self._target()
        done = run.stage is Stage.DONE
        for row in ("#export-with", "#export-over"):
            self.query_one(row).display = not done  # what is written has no options any more
        target.disabled = done
        facts = self._facts()
        leave = "hide" if run.busy else "close"
        page = self.query_one("#export-facts", Page)
        page.turn_to([FixedBlock(facts)])
        self.query_one("#export-progress", Bar).set(self._progress(), [Piece(f"esc: {leave}", "bar--dim")])
        self.query_one("#export-keys", Bar).set(self._keys())

    def _facts(self) -> list[Line]:
        run = self._run_shown
        lines: list[Line] = [[]]
        plan = run.plan
        if plan is not None:
            parts = [numbers.plural(len(plan.logs), "log")]
            if plan.images:
                parts.append(numbers.plural(len(plan.images), "image"))
            parts.append(f"{numbers.size(plan.total_bytes)} before compression")
            lines.append(plain(", ".join(parts)))
            lines.append(plain("The logs go in as they are, secrets included.", "line--dim"))
            if plan.missing:
                count = numbers.plural(len(plan.missing), "image")
                lines += wrap(
                    plain(f"{count} cannot be found: {printable_line(plan.missing[0].reason)}", "badge--error"), _WIDTH
                )
            for log in plan.damaged[:2]:
                lines += wrap(
                    plain(f"{printable_line(log.session_id)}: {printable_line(log.damage or '')}", "badge--error"),
                    _WIDTH,
                )
        elif run.stage is Stage.PLANNING:
            lines.append(plain("Reading what goes in…", "line--dim"))
        if run.busy and run.writes:
            lines.insert(0, plain("Exporting…", "text--strong"))
        if run.stage is Stage.DONE and run.result is not None:
            lines += wrap(plain(f"Written: {printable_line(run.result.path)}", "text--strong"), _WIDTH, 2)
            lines.append(plain(f"{numbers.size(run.result.bytes)}, {numbers.plural(run.result.sessions, 'session')}"))
            if run.beside:
                lines += wrap(plain(f"{run.beside} was there already and was left as it is.", "line--dim"), _WIDTH)
        elif run.stage is Stage.FAILED:
            lines += wrap(plain(printable_line(run.error), "badge--error"), _WIDTH)
        elif run.stage is Stage.CANCELLED:
            lines.append(plain("Cancelled; no file was left behind.", "badge--error"))
        if self._note:
            lines += wrap(plain(printable_line(self._note), "line--dim"), _WIDTH)
        return lines

    def _progress(self) -> Line:
        run = self._run_shown
        full = round(run.fraction * _BAR)
        word = {Stage.PLANNING: "reading", Stage.WRITING: "writing", Stage.DONE: "done", Stage.FAILED: "failed"}
        return [
            Piece("▓" * full, "bar--good" if run.stage is Stage.DONE else "bar--key"),
            Piece("░" * (_BAR - full), "bar--dim"),
            Piece(f" {run.fraction:4.0%} ", "bar--strong"),
            Piece(word.get(run.stage, ""), "bar--dim"),
        ]

    def _keys(self) -> Line:
        run = self._run_shown
        names = {Stage.FAILED: "Try again", Stage.DONE: "Again, to a new file"}
        again = names.get(run.stage, "Export")
        keys = [] if run.busy else [("enter", again)]
        if run.busy:
            keys.append(("ctrl+x", "Cancel"))
        if run.stage is Stage.DONE:
            keys += [("c", "Copy path"), ("o", "Open folder")]
        else:
            keys += [("tab", "Next"), ("space", "On/off")]
        return [piece for key, what in keys for piece in (Piece(key, "bar--key"), Piece(f" {what}   ", "bar--dim"))]

    # What a person does ------------------------------------------------------------------------------------------

    def on_toggle_turned(self, event: Toggle.Turned) -> None:
        """An option changed."""
        run = self._run_shown
        if event.toggle.id == "descendants":
            run.with_descendants = event.on
            self._exporting.change(run)
        elif event.toggle.id == "missing":
            run.allow_missing = event.on
        else:
            run.overwrite = event.on

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another target."""
        text = event.value.strip()
        self._run_shown.chosen_target = bool(text) and text not in ("~/", "~")
        self._run_shown.target = typed_path(text) if self._run_shown.chosen_target else None

    def on_input_submitted(self) -> None:
        """Enter in the input starts as well."""
        self.action_start()

    def action_start(self) -> None:
        """Start, or try again."""
        run = self._run_shown
        if run.busy:
            return
        if run.stage is Stage.DONE and not run.overwrite:
            run.chosen_target, run.target = False, None
        self._note = ""
        self._exporting.start(run)

    def action_cancel(self) -> None:
        """Stop the export."""
        self._exporting.cancel(self._run_shown)

    def action_copy_path(self) -> None:
        """Copy the path of the archive."""
        if self._run_shown.result is not None:
            self._exporting.copy_path(self._run_shown)
            self._note = "The path is copied."
            self.update_run()

    def action_open_folder(self) -> None:
        """Open the folder of the archive."""
        self._exporting.open_folder(self._run_shown, self._opened)

    def _opened(self, told: str) -> None:
        self._note = told
        self.update_run()

    def action_hide(self) -> None:
        """Hide the window."""
        self.dismiss(None)


def _label(text: str) -> Bar:
    bar = Bar(classes="export-label")
    bar.set([Piece(text, "bar--dim")])
    return bar


def _row(label: str, text: str) -> Horizontal:
    bar = Bar()
    bar.set([Piece(text)])
    return Horizontal(_label(label), bar, classes="export-row")
