"""The open sessions of this process, and their way to a durable store that may come and go."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.live.session import END_SEED, Listener, LiveSession
from palimpsest_core.live.tail import DurableTail
from palimpsest_core.model.event import UNSET, Event, UnsetType, event_json
from palimpsest_core.writer.behind import WINDOW_SECONDS
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.headers import HEADER_KEYS
from palimpsest_core.writer.store import JsonlStore

_log = logging.getLogger(__name__)


def clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


class SessionStore:
    """Holds open sessions: create, append, fork, resume, flush, dispose. Thread-safe.

    With a `JsonlStore` mounted every session is written behind: a seed at once, appended events within `window_seconds`
    (None: only when flushed). Without one sessions live in memory alone; mounting writes what they hold. A session
    whose id has another stored log is never written. What breaks a rule raises `WriteRefused` and changes nothing.

        store = SessionStore()
        store.mount(JsonlStore(Path("sessions")))
        store.create("s1", {"cwd": "/work"})
        store.append("s1", "turn/start", {"turn": 1})
        store.flush("s1")
    """

    def __init__(
        self,
        *,
        now: Callable[[], int] = clock,
        window_seconds: float | None = WINDOW_SECONDS,
        store: JsonlStore | None = None,
    ) -> None:
        self._now = now
        self._window = window_seconds
        self._lock = threading.RLock()
        self._sessions: dict[str, LiveSession] = {}
        self._tails: dict[str, DurableTail] = {}
        self._store: JsonlStore | None = None
        self._listeners: list[Listener] = []
        self._life_listeners: list[Callable[[LiveSession, bool], None]] = []
        if store is not None:
            self.mount(store)

    # --- looking -------------------------------------------------------------------------------------------------

    @property
    def mounted(self) -> JsonlStore | None:
        """The durable store, when there is one."""
        return self._store

    def get(self, session_id: str) -> LiveSession | None:
        """The open session of that id."""
        return self._sessions.get(session_id)

    def sessions(self) -> list[LiveSession]:
        """All open sessions, in the order of their opening."""
        with self._lock:
            return list(self._sessions.values())

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(session, events)` after each append; returns what ends it.

        A listener runs in the appending thread; its failure is logged and hinders nobody. It must not append to the
        session it is told about.
        """
        return _joined(self._lock, self._listeners, listener)

    def watch(self, listener: Callable[[LiveSession, bool], None]) -> Callable[[], None]:
        """Call `listener(session, open)` when a session becomes live (true) or is disposed (false)."""
        return _joined(self._lock, self._life_listeners, listener)

    # --- opening and closing -------------------------------------------------------------------------------------

    def create(
        self,
        session_id: str,
        header: Mapping[str, Any] | None = None,
        *,
        seed: Sequence[Mapping[str, Any]] | None = None,
        now: int | None = None,
    ) -> LiveSession:
        """Open a new session.

        `header` may hold `cwd`, `parentSession`, `createdAt` (default `now`), `seedLength`, `delegationDepth`,
        `agentPreset`, `origin`. `seed` holds whole events from seq 0 on; unless it ends in `session/end-seed` that
        marker is appended, also to an empty one. Without a seed the log is empty. With a store mounted the seed is
        durable on return.
        """
        at = self._now() if now is None else now
        given = dict(header or {})
        given.setdefault("createdAt", at)
        session = LiveSession({**given, "id": session_id})
        if seed is not None:
            session.plant(seed, at)
        return self._open(session)

    def fork(
        self, source_id: str, session_id: str, *, boundary: int | None = None, now: int | None = None
    ) -> LiveSession:
        """Open a new session seeded with the events `0..boundary` of a live one (all of them without a boundary).

        Its header names the source as parent, takes over its `cwd` and nothing else. Refused (`OPEN_TURN`) when the
        prefix ends inside a turn.
        """
        at = self._now() if now is None else now
        source = self._live(source_id)
        rows = source.cut_after(boundary)
        header: dict[str, Any] = {"createdAt": at, "parentSession": source_id, "seedLength": len(rows)}
        if "cwd" in source.header_row:
            header["cwd"] = source.header_row["cwd"]
        return self.create(session_id, header, seed=rows, now=at)

    def resume(self, session_id: str, *, now: int | None = None) -> LiveSession:
        """Make a stored session live: repaired on disk first, then marked as resumed unless its log ends in the marker.

        Raises `WriteRefused` (`ID_TAKEN` when it is live, `NO_STORE`), `SESSION_NOT_FOUND`, and the store's refusals.
        """
        at = self._now() if now is None else now
        with self._lock:
            if session_id in self._sessions:
                # Asking for a stored log writes what its live session holds first, also when the answer is no.
                if session_id in self._tails:
                    self._settle(self._tails[session_id])
                raise WriteRefused(Refusal.ID_TAKEN, f"The session {session_id!r} is live already.")
            if self._store is None:
                raise WriteRefused(Refusal.NO_STORE, "No durable store is mounted, so there is nothing to resume from.")
            loaded = self._store.load(session_id)
            self._store.release(session_id)
            session = LiveSession({key: value for key, value in loaded.header.items() if key in HEADER_KEYS})
            session.adopt([event_json(event) for event in loaded.events], loaded.events)
            if not loaded.events or loaded.events[-1].type != END_SEED:
                session.append(END_SEED, {}, time=at)
            return self._open(session, required=True)

    def dispose(self, session_id: str) -> None:
        """Close a session: it is gone from here first, then written. A failed write is logged and not raised."""
        with self._lock:
            session = self._live(session_id)
            del self._sessions[session_id]
            tail = self._tails.pop(session_id, None)
        self._tell_life(session, False)
        if tail is not None:
            self._settle(tail)
            tail.release()

    def dispose_all(self) -> None:
        """Dispose every session."""
        for session in self.sessions():
            self.dispose(session.id)

    # --- writing -------------------------------------------------------------------------------------------------

    def append(
        self,
        session_id: str,
        type: str,
        data: Any,
        *,
        surface_op: Any = UNSET,
        source_event_seqs: Any = UNSET,
        ignorable: bool | UnsetType = UNSET,
        now: int | None = None,
    ) -> Event:
        """Append one event; the log gives it its seq, `now` its time. Returns it as logged."""
        at = self._now() if now is None else now
        session = self._live(session_id)
        event = session.append(
            type, data, time=at, surface_op=surface_op, source_event_seqs=source_event_seqs, ignorable=ignorable
        )
        tail = self._tails.get(session_id)
        if tail is not None and tail.session is session:
            with session.lock:
                tail.take()
        for failure in session.tell([event], list(self._listeners)):
            _log.warning("A listener of session %r failed: %s", session_id, failure)
        return event

    def flush(self, session_id: str) -> None:
        """Return when everything the session holds is durable.

        Without a store there is nothing to do. Raises why the session is never written, or what the disk refused.
        """
        self._live(session_id)
        tail = self._tails.get(session_id)
        if tail is not None:
            tail.flush()

    def mount(self, store: JsonlStore) -> None:
        """Bring a durable store; returns when all that open sessions hold is written, where it may be."""
        with self._lock:
            if self._store is not None:
                raise WriteRefused(Refusal.NO_STORE, "A durable store is mounted already.")
            self._store = store
            for session in self._sessions.values():
                self._attach(session, store)

    def unmount(self) -> JsonlStore:
        """Write what open sessions hold, then take the durable store away; returns it."""
        with self._lock:
            store = self._store
            if store is None:
                raise WriteRefused(Refusal.NO_STORE, "No durable store is mounted.")
            self._store = None
            tails, self._tails = list(self._tails.values()), {}
            for tail in tails:
                self._settle(tail)
                tail.release()
            return store

    # --- inside --------------------------------------------------------------------------------------------------

    def _live(self, session_id: str) -> LiveSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise WriteRefused(Refusal.NOT_LIVE, f"The session {session_id!r} is not live.")
        return session

    def _open(self, session: LiveSession, *, required: bool = False) -> LiveSession:
        with self._lock:
            if session.id in self._sessions:
                raise WriteRefused(Refusal.ID_TAKEN, f"The session {session.id!r} is live already.")
            if self._store is not None:
                tail = self._attach(session, self._store)
                if required:
                    try:
                        tail.flush()
                    except BaseException:
                        del self._tails[session.id]
                        tail.release()
                        raise
            self._sessions[session.id] = session
        self._tell_life(session, True)
        return session

    def _attach(self, session: LiveSession, store: JsonlStore) -> DurableTail:
        tail = DurableTail(session, store, self._window)
        self._tails[session.id] = tail
        self._settle(tail)
        return tail

    def _settle(self, tail: DurableTail) -> None:
        """Write what may be written; a failure is told again by the next flush."""
        if tail.blocked is not None:
            return
        try:
            tail.flush()
        except (WriteRefused, SessionQueryError) as error:
            _log.warning("The session %r could not be written: %s", tail.session.id, error)

    def _tell_life(self, session: LiveSession, opened: bool) -> None:
        for listener in list(self._life_listeners):
            try:
                listener(session, opened)
            except Exception as failure:
                _log.warning("A listener failed when session %r changed: %s", session.id, failure)


def _joined(lock: threading.RLock, listeners: list[Any], listener: Any) -> Callable[[], None]:
    with lock:
        listeners.append(listener)

    def leave() -> None:
        with lock:
            if listener in listeners:
                listeners.remove(listener)

    return leave


__all__ = ["LiveSession", "SessionStore", "clock"]
