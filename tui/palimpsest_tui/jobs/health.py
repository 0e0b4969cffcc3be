"""Asking for the health of logs, and saving one, in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from palimpsest_core import SessionQueryError, WriteRefused
from palimpsest_core.base.errors import ErrorCode
from palimpsest_tui.jobs.asking import Tell, sentence

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, Finding, LogHealth, Rescue, RowCounts


class Looked(NamedTuple):
    """What reading a log through gives: its rows shown and withheld, and its attachments that are gone."""

    counts: RowCounts
    gone: list[Finding]


def look_through(
    engine: Engine, ailing: Sequence[LogHealth], cancel: CancelToken, tell: Tell[dict[str, Looked]]
) -> dict[str, Looked]:
    """Rows and missing attachments of each log, told one by one. A log that cannot be read now is left out."""
    for health in ailing:
        if health.session_id is None:
            continue
        try:
            counts = engine.row_counts(health.path, cancel)
            tell({health.path: Looked(counts, engine.missing_attachments(health.path, cancel))})
        except SessionQueryError as error:
            if error.code is ErrorCode.ABORTED:
                raise
            continue  # it went away or is not ours to read: its finding says so
    return {}


def rescue_log(engine: Engine, health: LogHealth, root: Path, write: bool, cancel: CancelToken) -> Rescue:
    """Copy the readable rows of a log to another root, or only tell what that would be. Never into the root itself."""
    problem = unfit_root(engine.root, root)
    if problem:
        raise ValueError(problem)
    assert health.session_id is not None
    return engine.rescue(health.session_id, root, path=health.path, write=write, cancel=cancel)


def unfit_root(root: Path | None, chosen: Path) -> str:
    """Why a folder cannot be the new root; empty when it can."""
    if not chosen.is_absolute():
        return "Name the folder from the top, or from your home with ~/."
    if chosen.exists() and not chosen.is_dir():
        return "There is a file of that name; a root is a folder."
    if root is None:
        return ""
    home, target = root.resolve(), chosen.resolve()
    if target == home or home in target.parents:
        return "That lies inside this root, and nothing here is ever written to. Choose another folder."
    return ""


def why_not(error: Exception) -> str:
    """A rescue that failed, as one sentence."""
    if isinstance(error, WriteRefused):
        return error.message
    return str(error) if type(error) is ValueError else sentence(error)


def beside(root: Path | None) -> Path:
    """A folder to propose for the rescued logs: a neighbour of the root."""
    if root is None:
        return Path.home() / "rescued-sessions"
    return root.absolute().with_name(f"{root.name}-rescued")
