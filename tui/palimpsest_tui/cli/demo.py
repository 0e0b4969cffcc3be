"""`palimpsest demo`: writes a made-up corpus with the project's own writer, and opens the app on it while it grows."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import plural
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.open import has_terminal, start_app
from palimpsest_tui.cli.options import Settings, as_path, shared_options
from palimpsest_tui.cli.output import say, write_json, write_text
from palimpsest_tui.cli.scratch import removed_on_hangup

if TYPE_CHECKING:
    from palimpsest_core.base.cancel import CancelToken

NOTICE = "This is made-up data: nobody worked on these projects. One session is being written while you look."


@contextmanager
def place_for(directory: str | None, keep: bool) -> Iterator[Path]:
    """The folder to write to: the one named, or a temporary one that goes when the block ends unless it is kept."""
    if directory is not None:
        place = as_path(directory)
        if (place / "sessions").exists():
            raise Failure(Exit.ENVIRONMENT, f"there is a folder at {place / 'sessions'} already")
        place.mkdir(parents=True, exist_ok=True)
        yield place
        return
    place = Path(tempfile.mkdtemp(prefix="palimpsest-demo-"))

    try:
        with nullcontext() if keep else removed_on_hangup(place):
            yield place
    finally:
        if keep:
            say(f"the demo corpus is kept at {place / 'sessions'}")
        else:
            shutil.rmtree(place, ignore_errors=True)


@click.command("demo")
@click.option("--dir", "directory", metavar="DIR", help="Write the corpus here and leave it there.")
@click.option("--keep", is_flag=True, help="Leave the temporary corpus there afterwards, and say where.")
@shared_options
def command(settings: Settings, directory: str | None, keep: bool) -> int:
    """Write a demo corpus and open the app on it.

    Forks, subagents three deep, compactions, errors, images, several languages, damaged and newer logs, and one
    session that grows while you look. Without a terminal, `--dir` writes the corpus for the other commands.
    """
    from palimpsest_core.writer.demo import grow, write_demo

    if directory is None and not has_terminal():
        raise Failure(
            Exit.USAGE, "the app needs a terminal; with --dir DIR the demo corpus is written for the commands"
        )
    with place_for(directory, keep) as place:
        demo = write_demo(place / "sessions")
        if not has_terminal():
            _tell(settings, demo.root, len(demo.ids))
            return Exit.FINE

        def keep_growing(cancel: CancelToken) -> None:
            stop = threading.Event()
            with cancel.on_set(stop.set):
                grow(demo, stop)

        index = settings.index if settings.index is not None else place / "index.sqlite"
        return start_app(demo.root, index, notice=NOTICE, grow=keep_growing)


def _tell(settings: Settings, root: Path, sessions: int) -> None:
    if settings.json:
        write_json("demo", {"root": str(root), "sessions": sessions})
    else:
        write_text(f"{plural(sessions, 'made-up session')} in {root}\ntry: palimpsest --root {root} ls")
