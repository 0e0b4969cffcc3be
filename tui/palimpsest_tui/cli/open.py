"""`palimpsest` and `palimpsest PATH`: opens the app on a root, a session folder, a log file or an exported ZIP."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.options import Settings, as_path, default_root, shared_options
from palimpsest_tui.cli.scratch import removed_on_hangup

if TYPE_CHECKING:
    from palimpsest_core.base.cancel import CancelToken

NO_TERMINAL = (
    "the app needs a terminal. Without one, use a command: palimpsest ls, palimpsest search WORDS, "
    "palimpsest show ID, palimpsest export ID (all of them: palimpsest --help)"
)


_SWITCH_S = 0.001
"""A key goes through several turns of the screen's thread; after each, a worker that reads gives way this soon."""


def has_terminal() -> bool:
    """Whether a person can see and type here."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def require_terminal() -> None:
    """Say how to use the commands where the app cannot run."""
    if not has_terminal():
        raise Failure(Exit.USAGE, NO_TERMINAL)


def start_app(
    root: Path | None,
    index: Path | None,
    *,
    select: str | None = None,
    notice: str | None = None,
    grow: Callable[[CancelToken], None] | None = None,
) -> int:
    """Load Textual and run the app: the only place of the command line that does."""
    # Nothing that is loaded at the start is garbage; looking for it takes a fifth of the time to the first list. The
    # app turns the collector on again once it is up.
    gc.disable()
    sys.setswitchinterval(_SWITCH_S)
    from palimpsest_tui.app import run_app

    code = run_app(root, index, select=select, notice=notice, grow=grow)
    return Exit.FINE if code == 0 else Exit.ENVIRONMENT


def open_app(settings: Settings, path: str | None) -> int:
    """Open the app on what was named, or on the root in force."""
    require_terminal()
    if path is None:
        root = settings.root if settings.root is not None else default_root()
        if settings.root is not None and not root.is_dir():
            raise Failure(Exit.ENVIRONMENT, f"there is no folder at {root}")
        return start_app(root if root.is_dir() else None, settings.index)
    from palimpsest_core import NotALog, opened_target

    try:
        with opened_target(as_path(path)) as target:
            if not target.temporary:
                return start_app(target.root, settings.index, select=target.session_id)
            # Its index goes with it.
            place = target.root.parent
            with removed_on_hangup(place):
                index = settings.index if settings.index is not None else place / "index.sqlite"
                return start_app(target.root, index, select=target.session_id)
    except NotALog as error:
        raise Failure(Exit.ENVIRONMENT, error.message) from error


@click.command("open", hidden=True)
@click.argument("path")
@shared_options
def command(settings: Settings, path: str) -> int:
    """Open the app on PATH."""
    return open_app(settings, path)
