"""Opening a log in a worker: its rows come batch by batch, the finished rows at the end."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from palimpsest_core import Flag
from palimpsest_tui.widgets.timeline import read_gist
from palimpsest_tui.widgets.timeline_views import build_rows

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, Gist, Growth, OpenLog
    from palimpsest_tui.jobs.asking import Tell
    from palimpsest_tui.widgets.timeline_rows import TimelineRows
    from palimpsest_tui.widgets.timeline_views import View

_GISTS_AT_ONCE = 8
_TELL_S = 0.25
"""Rows of a log that is being read are shown this often: keys must find the screen's thread free."""


class Loading(NamedTuple):
    """A log that is being read: so many of its rows can be shown."""

    log: OpenLog
    rows: int


class Loaded(NamedTuple):
    """A log with the rows of one view."""

    log: OpenLog
    rows: TimelineRows
    view: View
    stop: int


class Grown(NamedTuple):
    """What the bytes that were appended to a log brought."""

    log: OpenLog
    growth: Growth


def open_log(
    engine: Engine,
    session_id: str,
    generation: int | None,
    path: str | None,
    view: View,
    live: bool,
    cancel: CancelToken,
    tell: Tell[Loading],
) -> Loaded:
    """Open a log and read all of it; `generation` or `path` choose among several files of the session."""
    log = engine.open_log(session_id, generation, path=path)
    tell(Loading(log, 0))
    told_at = 0.0

    def on_rows(rows: int) -> None:
        nonlocal told_at
        now = monotonic()
        if now - told_at >= _TELL_S:
            told_at = now
            tell(Loading(log, rows))

    log.load(cancel, on_rows)
    return arrange_log(log, view, live, cancel)


def shown_length(log: OpenLog, live: bool) -> int:
    """How many rows of the table are shown: while a session is at work nothing closes its open turn for it."""
    stop = len(log)
    flags = log.table.flags
    while live and stop and flags[stop - 1] & Flag.SYNTHETIC:
        stop -= 1
    return stop


def arrange_log(log: OpenLog, view: View, live: bool, cancel: CancelToken) -> Loaded:
    """The rows of a view of a log that is read. `live`: its session is at work."""
    cancel.raise_if_set()
    stop = shown_length(log, live)
    return Loaded(log, build_rows(log.table, view, log.cut, stop), view, stop)


def grow_log(log: OpenLog, cancel: CancelToken) -> Grown:
    """Read only what was appended."""
    return Grown(log, log.grow(cancel))


def read_gists(log: OpenLog, events: list[int], cancel: CancelToken, tell: Tell[dict[int, Gist]]) -> dict[int, Gist]:
    """The one-line texts of some events, a few at a time."""
    found: dict[int, Gist] = {}
    for event in events:
        cancel.raise_if_set()
        if event < len(log):
            found[event] = read_gist(log, event)
        if len(found) >= _GISTS_AT_ONCE:
            tell(found)
            found = {}
    return found
