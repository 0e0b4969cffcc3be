"""`palimpsest rescue`: the readable part of a damaged log, copied line for line into another root."""

from __future__ import annotations

import click

from palimpsest_tui.cli.columns import cell, plural
from palimpsest_tui.cli.corpus import complete_id, find_session, open_engine
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_path, as_utf8, shared_options
from palimpsest_tui.cli.output import say, write_json, write_text


@click.command("rescue")
@click.argument("session", metavar="ID", shell_complete=complete_id)
@click.option("--out", "out", metavar="DIR", required=True, help="The root that the copy goes to.")
@click.option("--generation", type=int, metavar="N", help="Which file, where a session has several formats.")
@click.option("--write", is_flag=True, help="Write the copy; without this the command only tells.")
@shared_options
def command(settings: Settings, session: str, out: str, generation: int | None, write: bool) -> int:
    """Copy what can be read of a session's log to where it belongs in another root.

    Lines are copied byte for byte and nothing is made up. Without --write nothing is written.
    """
    from palimpsest_core import WriteRefused, to_json

    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        session_id = find_session(engine, as_utf8(session))
        try:
            done = engine.rescue(session_id, as_path(out), generation=generation, write=write, cancel=cancel)
        except WriteRefused as error:
            raise Failure(Exit.ENVIRONMENT, error.message) from error
    if settings.json:
        write_json("rescue", to_json(done))
        return Exit.FINE
    write_text(done.path)
    left = f"{plural(done.withheld, 'row')} left out" if done.withheld else "no other row can be read"
    say(f"{plural(done.events, 'event')} in {plural(done.rows, 'row')} kept, {left}")
    for finding in done.findings:
        say(f"{finding.code.value}: {cell(finding.message)}")
    for note in done.notes:
        say(note)
    if not write:
        say("nothing was written; add --write to write it")
    return Exit.FINE
