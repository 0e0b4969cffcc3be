"""The session list from the index alone: ten thousand rows without opening a log."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

import apsw
import msgspec

from palimpsest_core.base.jstext import well_formed
from palimpsest_core.model.session import SessionState, SessionSummary
from palimpsest_core.search.documents import ACTIVE_SECONDS

_decode = msgspec.msgpack.Decoder(SessionSummary).decode


class Summaries:
    """Reads `SessionSummary` rows. The caller serialises."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def listed(self, active_seconds: float = ACTIVE_SECONDS, now: float | None = None) -> list[SessionSummary]:
        """A row for every session and for every log that cannot be one, in no particular order.

        An open turn is judged by the clock (`now`, seconds since the epoch): active while the log grew lately, else
        interrupted.
        """
        rows = self._db.execute("select summary, revision, path from main.log where listed and summary is not null")
        return judged(rows, active_seconds, now)

    def of_session(
        self, session_id: str, active_seconds: float = ACTIVE_SECONDS, now: float | None = None
    ) -> list[SessionSummary]:
        """Every log of one session: the one that answers first, then the others in the order they were found."""
        rows = self._db.execute(
            "select summary, revision, path from main.log where session=? and summary is not null"
            " order by answers desc, n",
            (well_formed(session_id),),
        )
        return judged(rows, active_seconds, now)

    def ids_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Up to `limit` ids of sessions that start with `prefix`, ascending."""
        rows = self._db.execute(
            "select distinct session from main.log where answers and session >= ? and session < ?"
            " order by session limit ?",
            (prefix, prefix + "\U0010ffff", limit),
        )
        return [str(row[0]) for row in rows]


def judged(
    rows: Iterable[tuple[bytes, str, bytes | None]], active_seconds: float, now: float | None
) -> list[SessionSummary]:
    """Decoded rows (summary, revision, path), with the state of an open turn judged by the clock."""
    newest = ((time.time() if now is None else now) - active_seconds) * 1e9
    out = []
    for blob, revision, path in rows:
        summary = _decode(blob)
        if path is not None and "\ufffd" in summary.path:
            # A file name is bytes and need not be text: the summary may hold what stands in for some of them.
            summary = msgspec.structs.replace(summary, path=os.fsdecode(path))
        if summary.state in (SessionState.ACTIVE, SessionState.INTERRUPTED):
            active = int(revision.split(":")[3]) >= newest
            state = SessionState.ACTIVE if active else SessionState.INTERRUPTED
            if state != summary.state:
                summary = msgspec.structs.replace(summary, state=state)
        out.append(summary)
    return out
