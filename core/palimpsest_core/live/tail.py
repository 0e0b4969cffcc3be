"""What ties a live session to its stored log: nothing is written that does not continue what is there."""

from __future__ import annotations

from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.live.session import LiveSession
from palimpsest_core.writer.behind import WriteBehind
from palimpsest_core.writer.errors import WriteRefused
from palimpsest_core.writer.store import JsonlStore


class DurableTail:
    """Writes one session to one store, from where its stored log ends.

    `blocked` says why nothing is ever written: the stored log of this id cannot be continued by this session.
    """

    def __init__(self, session: LiveSession, store: JsonlStore, window_seconds: float | None) -> None:
        self.session = session
        self.store = store
        self.blocked: WriteRefused | SessionQueryError | None = None
        self._behind = WriteBehind(lambda rows: store.append(session.id, rows), window_seconds=window_seconds)
        self._taken = 0
        try:
            self._taken = store.resume_as(session.header_row, session.events)
        except (WriteRefused, SessionQueryError) as error:
            self.blocked = error

    def take(self) -> None:
        """Queue what the session holds and the queue does not have yet."""
        if self.blocked is None:
            rows = self.session.rows(self._taken)
            self._taken += len(rows)
            self._behind.add(rows)

    def flush(self) -> None:
        """Make everything durable. Raises why it is blocked, or what the disk refused."""
        if self.blocked is not None:
            raise self.blocked
        with self.session.lock:
            self.take()
        self._behind.flush()

    def release(self) -> None:
        """Let the store forget the session; what was not flushed stays unwritten."""
        if self.blocked is None:
            self._behind.cancel()
            self.store.release(self.session.id)
