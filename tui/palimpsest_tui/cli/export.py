"""`palimpsest export`: the raw logs of a session and of what descends from it in one ZIP, or one session as a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import plural, size
from palimpsest_tui.cli.corpus import complete_id, find_session, open_engine
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_path, as_utf8, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_text

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, ExportError, Progress


@click.command("export")
@click.argument("session", metavar="ID", shell_complete=complete_id)
@click.option("-o", "--output", metavar="FILE", help="Where to write [default: a name from the ID, in this folder].")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["zip", "markdown", "html", "jsonl"]),
    default="zip",
    show_default=True,
    help="Raw logs, or a transcript of this one session.",
)
@click.option("--no-descendants", is_flag=True, help="ZIP: only the session itself, without its forks and subagents.")
@click.option("--skip-missing", is_flag=True, help="ZIP: go on without images whose file is gone.")
@click.option(
    "--all", "everything", is_flag=True, help="Transcript: every event, marked, not the current surface only."
)
@click.option("--redact", is_flag=True, help="Transcript: take out secrets and the names of home directories.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@shared_options
def command(
    settings: Settings,
    session: str,
    output: str | None,
    form: str,
    no_descendants: bool,
    skip_missing: bool,
    everything: bool,
    redact: bool,
    force: bool,
) -> int:
    """Write the raw logs of a session, of all that descends from it, and their images to a ZIP; or a transcript.

    The logs are the stored text byte for byte, secrets included. Nothing half-written is left behind when it fails.
    """
    if form == "zip" and (everything or redact):
        raise Failure(Exit.USAGE, "--all and --redact are for transcripts: choose a --format other than zip")
    if output == "-":
        raise Failure(Exit.USAGE, "an export is a file, whole or not there at all: name one with -o")
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        session_id = find_session(engine, as_utf8(session))
        if form != "zip":
            return _transcript(settings, engine, session_id, output, form, everything, redact, force, cancel)
        return _archive(settings, engine, session_id, output, not no_descendants, skip_missing, force, cancel)


def _archive(
    settings: Settings,
    engine: Engine,
    session_id: str,
    output: str | None,
    descendants: bool,
    skip_missing: bool,
    force: bool,
    cancel: CancelToken,
) -> int:
    from palimpsest_core import ExportError, to_json

    plan = engine.plan_export(session_id, descendants, cancel)
    target = _target(output, plan.file_name)
    try:
        done = engine.export(
            plan, target, overwrite=force, allow_missing=skip_missing, cancel=cancel, progress=_show_progress
        )
    except ExportError as error:
        raise _failure(error) from error
    say_progress("")
    if settings.json:
        write_json("export", {"session": session_id, "archive": to_json(done)})
    else:
        write_text(done.path)
        say(f"{plural(done.sessions, 'session')}, {plural(done.images, 'image')}, {size(done.bytes)}")
        say("the archive holds the logs as they are, secrets included")
        for image in done.missing:
            say(f"without image {image.attachment_id}: {image.reason}")
    for log in done.damaged:
        say(f"{log.session_id}: {log.damage}")
    return Exit.FINE


def _transcript(
    settings: Settings,
    engine: Engine,
    session_id: str,
    output: str | None,
    form: str,
    everything: bool,
    redact: bool,
    force: bool,
    cancel: CancelToken,
) -> int:
    from palimpsest_core import ExportError, Form, to_json, transcript_name

    target = _target(output, transcript_name(session_id, Form(form)))
    try:
        done = engine.transcript(
            session_id,
            target,
            Form(form),
            everything=everything,
            redact_secrets=redact,
            redact_home=redact,
            overwrite=force,
            cancel=cancel,
            progress=_show_progress,
        )
    except ExportError as error:
        raise _failure(error) from error
    say_progress("")
    if settings.json:
        write_json("export", {"session": session_id, "transcript": to_json(done)})
        return Exit.FINE
    write_text(done.path)
    say(f"{plural(done.events, 'event')}, {size(done.bytes)}")
    for kind, places in sorted(done.redacted.items()):
        say(f"replaced: {kind}, {plural(places, 'place')}")
    for finding in done.findings:
        say(f"{finding.code.value}: {finding.message}")
    return Exit.FINE


def _target(output: str | None, name: str) -> Path:
    target = as_path(output) if output is not None else Path(name)
    return target / name if target.is_dir() else target


def _failure(error: ExportError) -> Failure:
    from palimpsest_core import ExportErrorCode

    if error.code is ExportErrorCode.TARGET_EXISTS:
        return Failure(Exit.ENVIRONMENT, f"{error.message} (--force overwrites it, -o names another.)")
    data = error.code in (ExportErrorCode.ATTACHMENT_MISSING, ExportErrorCode.LOG_CHANGED)
    return Failure(Exit.DATA if data else Exit.ENVIRONMENT, error.message)


def _show_progress(progress: Progress) -> None:
    percent = 100 * progress.done // progress.total if progress.total else 0
    say_progress(f"exporting {percent} %")
