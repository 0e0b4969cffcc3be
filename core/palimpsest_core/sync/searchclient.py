"""The other end of the search worker: a client that behaves like a provider's two searches, from any thread."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, TypeVar

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError, aborted
from palimpsest_core.base.jstext import storable_value
from palimpsest_core.model.config import Config
from palimpsest_core.model.search import EventHit, EventPage, SessionPage
from palimpsest_core.search.request import ABSENT
from palimpsest_core.sync.lifeline import config_json

_Page = TypeVar("_Page", SessionPage, EventPage)
_CLOSE_SECONDS = 2.0


HitSink = Callable[[list[EventHit], int, int], None]
"""Takes hits of a scan on their way, how many logs have been looked through, and of how many (-1: not told)."""


class _Line(msgspec.Struct):
    id: int
    value: msgspec.Raw = msgspec.Raw(b"")
    error: dict[str, str] | None = None
    hits: list[EventHit] | None = None
    done: int = -1
    total: int = -1


class _Waiting:
    """A question to one worker process that has not been answered."""

    def __init__(self, process: subprocess.Popen[bytes], on_hits: HitSink | None = None) -> None:
        self.process = process
        self.on_hits = on_hits
        self.done = threading.Event()
        self.line: _Line | None = None


class SearchClient:
    """Searches through a worker process, which is started with the first search and again should it die.

        client = SearchClient(root="/logs", index="/cache/index.sqlite", config=config)
        page = client.search_sessions("needle", limit=20, cancel=token)
        client.close()

    Raises what the engine's searches raise; `INDEX_FAILED` when the worker died over a search.
    """

    def __init__(self, *, root: str, index: str, config: Config, own_path: bool = False) -> None:
        self._command = [
            *(sys.executable, "-m", "palimpsest_core.sync.searchworker"),
            *("--root", root, "--index", index, "--config", config_json(config)),
            *(["--own-path"] if own_path else []),
        ]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._next_id = 0

    def start(self) -> None:
        """Start the worker now, so that the first search finds it warm."""
        with self._lock:
            self._running()

    def search_sessions(
        self,
        query: Any,
        session_filters: Any = None,
        event_filters: Any = None,
        limit: Any = None,
        cursor: Any = ABSENT,
        cancel: CancelToken | None = None,
    ) -> SessionPage:
        """A page of sessions; see `Engine.search_sessions`. The index is taken as it is."""
        args = {"query": query, "sessionFilters": session_filters, "eventFilters": event_filters, "limit": limit}
        return self._ask("searchSessions", _with_cursor(args, cursor), SessionPage, cancel)

    def search_events(
        self,
        session_id: str,
        query: Any,
        filters: Any = None,
        limit: Any = None,
        cursor: Any = ABSENT,
        cancel: CancelToken | None = None,
    ) -> EventPage:
        """A page of one session's events; see `Engine.search_events`. The index is taken as it is."""
        args = {"sessionId": session_id, "query": query, "filters": filters, "limit": limit}
        return self._ask("searchEvents", _with_cursor(args, cursor), EventPage, cancel)

    def scan_text(
        self,
        text: Any,
        on_hits: HitSink,
        session_filters: Any = None,
        event_filters: Any = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Look for a literal text in all that is indexed; see `Engine.scan_text`. Returns when all has been told.

        `on_hits` is called from another thread, while this one waits; it must return at once.
        """
        args = {"text": text, "sessionFilters": session_filters, "eventFilters": event_filters}
        self._checked(self._answer("scanText", args, cancel, on_hits))

    def _ask(self, op: str, args: dict[str, Any], kind: type[_Page], cancel: CancelToken | None) -> _Page:
        return msgspec.json.decode(self._checked(self._answer(op, args, cancel)).value, type=kind)

    def _checked(self, line: _Line | None) -> _Line:
        if line is None:
            raise SessionQueryError(ErrorCode.INDEX_FAILED, "The search process ended before it answered.")
        if line.error is not None:
            raise SessionQueryError(ErrorCode(line.error["code"]), line.error["message"])
        return line

    def _answer(
        self, op: str, args: dict[str, Any], cancel: CancelToken | None, on_hits: HitSink | None = None
    ) -> _Line | None:
        if cancel is not None:
            cancel.raise_if_set()
        with self._lock:
            process = self._running()
            waiting = _Waiting(process, on_hits)
            number, self._next_id = self._next_id, self._next_id + 1
            self._waiting[number] = waiting
            self._send(process, {"id": number, "op": op, "args": args})
        if cancel is None:
            waiting.done.wait()
            return waiting.line
        with cancel.on_set(waiting.done.set):
            waiting.done.wait()
        if cancel.is_set():
            with self._lock:
                self._waiting.pop(number, None)
                self._send(process, {"cancel": number})
            raise aborted()
        return waiting.line

    def _running(self) -> subprocess.Popen[bytes]:
        """The worker process; the lock is held."""
        if self._process is None or self._process.poll() is not None:
            # Its own session and no standard error: neither an interrupt meant for a pager nor a warning of the
            # interpreter may reach the terminal that the app draws on.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            assert self._process.stdout is not None
            threading.Thread(
                target=self._listen, args=(self._process, self._process.stdout), name="search-answers", daemon=True
            ).start()
        return self._process

    def _send(self, process: subprocess.Popen[bytes], order: dict[str, Any]) -> None:
        """Write one line; the lock is held. A dead worker is noticed by the listening thread."""
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            process.stdin.write(_encoded(order) + b"\n")
            process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes], answers: IO[bytes]) -> None:
        for raw in answers:
            line = msgspec.json.decode(raw, type=_Line)
            with self._lock:
                waiting = self._waiting.get(line.id)
                if line.hits is None:
                    self._waiting.pop(line.id, None)
            if waiting is None:
                continue
            if line.hits is not None:
                if waiting.on_hits is not None:
                    waiting.on_hits(line.hits, line.done, line.total)
                continue
            waiting.line = line
            waiting.done.set()
        process.wait()
        with self._lock:
            left = {number: waiting for number, waiting in self._waiting.items() if waiting.process is process}
            for number in left:
                del self._waiting[number]
        for waiting in left.values():
            waiting.done.set()

    def close(self) -> None:
        """End the worker. Nothing may be asked afterwards."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _with_cursor(args: dict[str, Any], cursor: Any) -> dict[str, Any]:
    return args if cursor is ABSENT else {**args, "cursor": cursor}


def _encoded(order: dict[str, Any]) -> bytes:
    """JSON of an order. Lone surrogates, which JSON cannot carry, match what U+FFFD matches."""
    try:
        return msgspec.json.encode(order)
    except UnicodeEncodeError:
        return msgspec.json.encode(storable_value(order))
