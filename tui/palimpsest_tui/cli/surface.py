"""`palimpsest surface`: what the model sees of a session, now or as of an event."""

from __future__ import annotations

import click

from palimpsest_tui.cli.columns import cell, clock, plural
from palimpsest_tui.cli.corpus import complete_id, find_session, open_engine, parse_point
from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.cli.output import say, write_json_rows, write_lines, write_text
from palimpsest_tui.cli.show import index_of, text_of


@click.command("surface")
@click.argument("reference", metavar="ID[@SEQ]", shell_complete=complete_id)
@shared_options
def command(settings: Settings, reference: str) -> int:
    """Show what the model sees of a session, in its order: messages and tool results that nothing has replaced.

    ID@SEQ shows it as of that event: what the model saw then.
    """
    from palimpsest_core import event_json, gist, to_json

    wanted = parse_point(as_utf8(reference))
    with open_engine(settings) as engine, cancel_on_interrupt() as cancel:
        log = engine.open_log(find_session(engine, wanted.session_id))
        try:
            log.load(cancel)
            last = len(log) - 1 if wanted.seq is None else index_of(log, wanted)
            seqs = log.surface_at(last) if last >= 0 else []
            places = [index for seq in seqs if (index := log.index_of_seq(seq)) is not None]
            if settings.json:
                content = {
                    "session": to_json(log.header),
                    "capturedThroughSeq": log.record(last).seq if last >= 0 else None,
                    "unreliable": log.fold.unreliable,
                }
                rows = (event_json(log.event(index)) for index in places)
                write_json_rows("surface", content, "events", rows)
                return Exit.FINE
            for index in places:
                event = log.event(index)
                write_lines([f"── {cell(log.session_id)}#{event.seq}  {gist(event).label}  {clock(event.time)}"])
                write_text(text_of(event))
                write_lines([""])
            if log.fold.unreliable:
                say(f"the log breaks the rules, so this surface is a best guess: {log.fold.problems[0]}")
            if not places:
                say(f"nothing is on the surface ({plural(len(log), 'event')} in the log)")
        finally:
            log.close()
    return Exit.FINE
