"""What commands share about the corpus: opening the engine, naming sessions and events, listing with filters."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import click
from click.shell_completion import CompletionItem

from palimpsest_tui.cli.columns import cell
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.options import Settings, default_root
from palimpsest_tui.cli.output import say, say_progress

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, Refresh, SessionSummary


class Reference(NamedTuple):
    """What `ID`, `ID#SEQ` or `ID#vN:SEQ` names."""

    session_id: str
    seq: int | None = None
    generation: int | None = None


_EVENT = re.compile(r"(?s)(.+)#(?:v([0-9]{1,4}):)?([0-9]{1,15})")
_REFERENCE = re.compile(r"(?s)(.+?)([#@].*)")
_POINT = re.compile(r"(?s)(.+)@([0-9]{1,15})")


def parse_reference(text: str) -> Reference:
    """Read `ID[#SEQ]` or `ID[#vN:SEQ]`; an id may hold `#` itself, only digits at the end make it an event."""
    match = _EVENT.fullmatch(text)
    if match is None:
        return Reference(text)
    return Reference(match[1], int(match[3]), int(match[2]) if match[2] is not None else None)


def parse_point(text: str) -> Reference:
    """Read `ID[@SEQ]`: a session as of an event."""
    match = _POINT.fullmatch(text)
    return Reference(text) if match is None else Reference(match[1], int(match[2]))


def root_of(settings: Settings) -> Path:
    """The root in force; a root that is not there is a fault of the environment, said in full."""
    root = settings.root if settings.root is not None else default_root()
    if not root.is_dir():
        hint = "" if settings.root is not None else " Name one with --root, or set DSH_HOME."
        raise Failure(Exit.ENVIRONMENT, f"there is no folder of logs at {root}.{hint}")
    return root


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    """The engine over the root in force, tolerant, with the index that the app uses too; closed afterwards.

    What was done to the index meanwhile (a damaged one set aside, say) is told at the end, once.
    """
    from palimpsest_core import Engine

    engine = Engine(root_of(settings), index=settings.index)
    try:
        yield engine
    finally:
        say_progress("")
        for notice in engine.index_notices():
            say(notice)
        engine.close()


def find_session(engine: Engine, text: str) -> str:
    """The full id that `text` names or begins; no such session is "no match", several are a usage error.

    Where only what follows a `#` or `@` is wrong, the session is not denied: the reference is a usage error.
    """
    from palimpsest_core import ErrorCode, SessionQueryError

    try:
        return engine.resolve_id(text)
    except SessionQueryError as error:
        named = _REFERENCE.fullmatch(text)
        if error.code is not ErrorCode.SESSION_NOT_FOUND or named is None:
            raise
        try:
            session_id = engine.resolve_id(named[1])
        except SessionQueryError:
            raise error from None
        raise Failure(
            Exit.USAGE,
            f"{cell(named[2])} names no event of {cell(session_id)} here: "
            "write ID#SEQ for show and trace, ID@SEQ for surface, SEQ being a number",
        ) from error


READING_S = 2.0
"""How long a list may read new logs before it shows what is known."""


def waiting_logs(rows: Iterable[SessionSummary]) -> int:
    """How many logs of a list are not in the index as they are now, though they can be read."""
    return sum(not row.indexed and row.reason is None for row in rows)


def left_to_another(engine: Engine, done: Refresh, cancel: CancelToken) -> int:
    """How many logs wait for the process that brings the index up to date in our place; none where we did it."""
    return waiting_logs(engine.sessions(cancel)) if done.elsewhere else 0


def read_for_a_moment(engine: Engine, cancel: CancelToken) -> bool:
    """Read what is new or changed, the newest first, but no longer than a person waits for a list.

    What was read is kept; the rest is listed from its header, without title and counts. Returns whether that is left
    to another process.
    """
    from palimpsest_core import CancelToken, ErrorCode, SessionQueryError

    time_up = CancelToken()
    timer = threading.Timer(READING_S, time_up.set)
    timer.daemon = True
    timer.start()
    try:
        with cancel.on_set(time_up.set):
            return engine.refresh(time_up).elsewhere
    except SessionQueryError as error:
        if error.code is not ErrorCode.ABORTED or cancel.is_set():
            raise
        return False
    finally:
        timer.cancel()


PEEKING_S = 0.5
"""How long the beginnings of logs that were not read are looked at."""


def first_words(engine: Engine, rows: Iterable[SessionSummary], cancel: CancelToken) -> dict[str, str]:
    """By path: a title or the first prompt from the beginning of logs that were not read, as far as time allows."""
    from palimpsest_core import CancelToken, SessionQueryError

    words: dict[str, str] = {}
    end = monotonic() + PEEKING_S
    for row in rows:
        if monotonic() > end:
            break
        cancel.raise_if_set()
        try:
            with engine.open_log(row.id, path=row.path).closing() as log, suppress(SessionQueryError):
                enough = CancelToken()
                log.load(enough, partial(_set, enough))
        except SessionQueryError:
            continue  # it is gone by now
        found = log.title.title if log.title is not None else log.first_prompt
        if found:
            words[row.path] = found
    return words


def _set(token: CancelToken, _rows: int) -> None:
    token.set()


def activity(summary: SessionSummary) -> tuple[int, str]:
    """Sorts sessions by their last sign of life."""
    return (summary.last_time or summary.created_at or 0, summary.id)


def complete_id(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Ids that begin with what was typed, with their titles: what the shell offers at an ID.

    Only the index is asked, which is quick; where there is none, or anything fails, nothing is offered, because a shell
    that completes has no place for a message.
    """
    from palimpsest_core import Engine, SessionQueryError

    settings = Settings()
    for asked in (context.parent.params if context.parent is not None else {}, context.params):
        settings.merge(asked.get("root"), asked.get("index"), False)
    try:
        with Engine(root_of(settings), index=settings.index) as engine:
            rows = [row for row in engine.sessions(fresh=False) if row.id.startswith(typed)]
    except (Failure, SessionQueryError, OSError):
        return []
    rows.sort(key=activity, reverse=True)
    return [CompletionItem(row.id, help=cell(row.title or "")) for row in rows if row.id.isprintable()]
