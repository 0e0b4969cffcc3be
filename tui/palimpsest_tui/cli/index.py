"""`palimpsest index`: reads what is new or changed and brings the search index up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.columns import plural, size
from palimpsest_tui.cli.corpus import left_to_another, open_engine
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_text

if TYPE_CHECKING:
    from palimpsest_core import IndexStatus, Progress, Refresh


def show_progress(progress: Progress) -> None:
    """Show how far reading is, in place, on stderr."""
    if progress.unit == "bytes":
        done, total = size(progress.done), size(progress.total)
    else:
        done, total = f"{progress.done:,}", f"{progress.total:,} {progress.unit}"
    say_progress(f"indexing {done}" + (f" of {total}" if progress.total else ""))


@click.command("index")
@click.option("--rebuild", is_flag=True, help="Throw the index away and read every log again.")
@shared_options
def command(settings: Settings, rebuild: bool) -> int:
    """Bring the search index up to date.

    The index is derived from the logs and can always be made again; logs are never written. While another process (an
    open app) brings it up to date, that one goes on, also with --rebuild; how many logs it has left is told.
    """
    from palimpsest_core import to_json

    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        if rebuild:
            engine.rebuild_index()
        done = engine.refresh(cancel, show_progress)
        waiting = left_to_another(engine, done, cancel)
        status = engine.index_status()
    say_progress("")
    if settings.json:
        write_json("index", {"changes": to_json(done), "status": to_json(status), "complete": not waiting})
    else:
        write_text(_told(done, waiting, status))
        for path, reason in done.failed.items():
            say(f"{path}: {reason}")
    return Exit.FINE


def _told(done: Refresh, waiting: int, status: IndexStatus) -> str:
    where = f"index {status.path}, {size(status.bytes)}"
    if done.elsewhere:
        if waiting:
            return f"nothing done: another process is reading {plural(waiting, 'log')} into this index; {where}"
        return f"another process keeps this index up to date; {where}"
    counts = (
        f"{len(done.added)} new, {len(done.changed)} changed, {len(done.removed)} gone, {len(done.failed)} unreadable"
    )
    return f"{plural(done.logs, 'log')}: {counts}; read {size(done.bytes_read)}; {where}"
