"""Exporting in a worker: the plan, then the archive; progress in bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time as clock
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest_core import ExportError, ExportErrorCode

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, ExportPlan, ExportResult, Progress
    from palimpsest_tui.jobs.asking import Tell

_TELL_S = 0.1


class Stage(StrEnum):
    """How far an export is."""

    IDLE = "idle"
    PLANNING = "planning"
    WRITING = "writing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Run:
    """One export of one session. The window shows it; it goes on without the window."""

    def __init__(self, session_id: str, title: str, descendants: int) -> None:
        self.session_id = session_id
        self.title = title
        self.descendants_known = descendants
        self.with_descendants = True
        self.allow_missing = False
        self.overwrite = False
        self.target: Path | None = None
        self.chosen_target = False
        self.stage = Stage.IDLE
        self.plan: ExportPlan | None = None
        self.progress: Progress | None = None
        self.result: ExportResult | None = None
        self.error = ""
        self.writes = False
        """Whether what goes in is read in order to be written, and not only to be told."""
        self.beside = ""
        """The name that was meant, where a file had it already and the archive got another one."""

    @property
    def busy(self) -> bool:
        """Whether work is going on."""
        return self.stage in (Stage.PLANNING, Stage.WRITING)

    @property
    def fraction(self) -> float:
        """How much is done, 0 to 1; planning is the first third since it reads every log once."""
        if self.stage is Stage.DONE:
            return 1.0
        done = 0.0
        if self.progress is not None and self.progress.total:
            done = min(1.0, self.progress.done / self.progress.total)
        if self.stage is Stage.PLANNING:
            return done / 3
        return 1 / 3 + done * 2 / 3 if self.stage is Stage.WRITING else 0.0


def plan_export(engine: Engine, run: Run, cancel: CancelToken, tell: Tell[Progress]) -> ExportPlan:
    """Read what would go in."""
    return engine.plan_export(run.session_id, run.with_descendants, cancel, _throttled(tell))


def write_export(engine: Engine, run: Run, plan: ExportPlan, cancel: CancelToken, tell: Tell[Progress]) -> ExportResult:
    """Write the archive. An existing file is left alone: without a chosen name, the next free one is taken."""
    target = run.target if run.target is not None else Path.home() / plan.file_name
    if target.is_dir():
        target = target / plan.file_name
    if not run.chosen_target and not run.overwrite:
        meant, target = target, free_name(target)
        run.beside = "" if target == meant else meant.name
    run.target = target
    return engine.export(
        plan,
        target,
        overwrite=run.overwrite,
        allow_missing=run.allow_missing,
        cancel=cancel,
        progress=_throttled(tell),
    )


def free_name(target: Path) -> Path:
    """`target`, or the first of `target-2`, `target-3`, … that does not exist."""
    number = 2
    free = target
    while free.exists() or free.is_symlink():
        free = target.with_name(f"{target.stem}-{number}{target.suffix}")
        number += 1
    return free


def why(error: Exception) -> str:
    """A failed export as one sentence, with what to do."""
    if isinstance(error, ExportError):
        if error.code is ExportErrorCode.TARGET_EXISTS:
            return f"{error.message} Turn on “overwrite”, or change the name."
        return error.message
    return ""


def _throttled(tell: Tell[Progress]) -> Tell[Progress]:
    last = 0.0

    def passed_on(progress: Progress) -> None:
        nonlocal last
        now = clock.monotonic()
        if now - last >= _TELL_S or progress.done == progress.total:
            last = now
            tell(progress)

    return passed_on


def open_folder(path: Path, cancel: CancelToken) -> str:
    """Show the folder of a file in the desktop's file manager. What was done, or where the folder is, as a sentence."""
    cancel.raise_if_set()
    folder = path.parent
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    program = shutil.which(opener)
    if program is None or (
        opener == "xdg-open" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    ):
        return f"No file manager here; the folder is {folder}"
    try:
        subprocess.Popen(
            [program, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        return f"{opener} cannot be run ({error.strerror}); the folder is {folder}"
    return f"Opened {folder}"
