"""Who answers searches: a warm process of its own, so that counting never holds up the screen; or this very process,
where the index lives in its memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from palimpsest_core import ErrorCode, Flag, SessionQueryError, call_of, tool_result
from palimpsest_core.model.search import EventHit

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Engine, OpenLog, SearchClient
    from palimpsest_core.model.search import EventPage, SessionPage

PAGE = 100
_BATCH = 64
_MEMORY = ":memory:"
Filters = list[dict[str, Any]]
OnHits = Callable[[list[EventHit], int, int], None]
"""Some hits, and of how many logs how many have been looked through. Called from any thread."""


class Seeker:
    """Searches the index as it is; another process keeps it up to date. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._elsewhere = engine.root is not None and str(engine.index) != _MEMORY
        """Whether a process of its own answers."""
        self._making = threading.Lock()
        self._made: SearchClient | None = None
        self._closed = False

    @property
    def _client(self) -> SearchClient | None:
        """The way to the process, loaded by the first worker that asks."""
        if not self._elsewhere:
            return None
        with self._making:
            if self._made is None:
                if self._closed:
                    raise SessionQueryError(ErrorCode.ABORTED, "The app is closing.")
                from palimpsest_core import SearchClient

                engine = self._engine
                self._made = SearchClient(
                    root=str(engine.root),
                    index=engine.index_path,
                    config=engine.config,
                    own_path=engine.index is None,
                )
            return self._made

    def warm(self, cancel: CancelToken) -> None:
        """Start the process, so that the first search finds it there."""
        cancel.raise_if_set()
        if (client := self._client) is not None:
            client.start()

    def close(self) -> None:
        """Stop the process."""
        with self._making:
            self._closed = True
        if self._made is not None:
            self._made.close()

    def sessions(
        self, phrase: str, sessions: Filters, events: Filters, cursor: str | None, cancel: CancelToken
    ) -> SessionPage:
        """A page of sessions with hits."""
        if self._client is None:
            return self._engine.search_sessions(phrase, sessions, events, PAGE, cursor, cancel, fresh=False)
        more: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        return self._client.search_sessions(phrase, sessions, events, PAGE, cancel=cancel, **more)

    def events(
        self, session_id: str, phrase: str, events: Filters, cursor: str | None, cancel: CancelToken
    ) -> EventPage:
        """A page of one session's hits."""
        if self._client is None:
            return self._engine.search_events(session_id, phrase, events, PAGE, cursor, cancel, fresh=False)
        more: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        return self._client.search_events(session_id, phrase, events, PAGE, cancel=cancel, **more)

    def scan(self, text: str, sessions: Filters, events: Filters, on_hits: OnHits, cancel: CancelToken) -> None:
        """Look for the characters themselves, in the sessions with the latest activity first."""
        if self._client is not None:
            self._client.scan_text(text, on_hits, sessions, events, cancel)
            return
        place = [0, 0]

        def progress(done: int, total: int) -> None:
            place[:] = [done, total]

        some: list[EventHit] = []
        for hit in self._engine.scan_text(text, sessions, events, cancel, progress, fresh=False):
            some.append(hit)
            if len(some) >= _BATCH:
                on_hits(some, *place)
                some = []
        on_hits(some, *place)

    def events_of_tool(self, session_id: str, name: str, cancel: CancelToken) -> frozenset[int]:
        """The numbers of a session's calls of tools whose name holds `name`, in any case, and of their results."""
        log = self._engine.open_log(session_id)
        try:
            log.load(cancel)
            return _events_of_tool(log, name.casefold())
        except OSError:
            return frozenset()  # it went away; so will its hits
        finally:
            log.close()


def _events_of_tool(log: OpenLog, name: str) -> frozenset[int]:
    calls: set[str] = set()
    seqs: set[int] = set()
    for index in log.table.select(types=("tool/call", "tool/result"), without=Flag.WITHHELD):
        event = log.event(index)
        call, result = call_of(event), tool_result(event)
        if call is not None and name in call.name.casefold():
            calls |= {call.id} - {""}
            seqs.add(log.table.seqs[index])
        elif result is not None and result.call_id in calls:
            seqs.add(log.table.seqs[index])
    return frozenset(seqs)
