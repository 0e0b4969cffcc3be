"""`palimpsest export`: the raw logs of a session and of what descends from it, in one ZIP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import plural, size
from palimpsest_tui.cli.corpus import find_session, open_engine
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_path, as_utf8, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_text

if TYPE_CHECKING:
    from palimpsest_core import Progress


@click.command("export")
@click.argument("session", metavar="ID")
@click.option("-o", "--output", metavar="FILE", help="Where to write [default: dsh-session-ID.zip in this folder].")
@click.option("--no-descendants", is_flag=True, help="Only the session itself, without its forks and subagents.")
@click.option("--skip-missing", is_flag=True, help="Go on without images whose file is gone.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@shared_options
def command(
    settings: Settings, session: str, output: str | None, no_descendants: bool, skip_missing: bool, force: bool
) -> int:
    """Write the raw logs of a session, of all that descends from it, and their images to a ZIP.

    The logs are the stored text byte for byte. Nothing half-written is left behind when it fails.
    """
    from palimpsest_core import ExportError, ExportErrorCode, to_json

    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        session_id = find_session(engine, as_utf8(session))
        plan = engine.plan_export(session_id, not no_descendants, cancel)
        target = as_path(output) if output is not None else Path(plan.file_name)
        if target.is_dir():
            target /= plan.file_name
        try:
            done = engine.export(
                plan, target, overwrite=force, allow_missing=skip_missing, cancel=cancel, progress=_show_progress
            )
        except ExportError as error:
            data = error.code in (ExportErrorCode.ATTACHMENT_MISSING, ExportErrorCode.LOG_CHANGED)
            raise Failure(Exit.DATA if data else Exit.ENVIRONMENT, error.message) from error
    say_progress("")
    if settings.json:
        write_json("export", {"session": session_id, "archive": to_json(done)})
    else:
        write_text(done.path)
        say(f"{plural(done.sessions, 'session')}, {plural(done.images, 'image')}, {size(done.bytes)}")
        for image in done.missing:
            say(f"without image {image.attachment_id}: {image.reason}")
    for log in done.damaged:
        say(f"{log.session_id}: {log.damage}")
    return Exit.FINE


def _show_progress(progress: Progress) -> None:
    percent = 100 * progress.done // progress.total if progress.total else 0
    say_progress(f"exporting {percent} %")
