"""The search worker: a warm process that answers searches, so that a rendering process never waits for its own lock.

    python -m palimpsest_core.sync.searchworker --root ROOT --index FILE [--config JSON]

One JSON object a line on standard input: `{"id": 7, "op": "searchSessions", "args": {...}}` (the arguments of the batch
protocol), or `{"cancel": 7}`. One a line on standard output: `{"id": 7, "value": {...}}` or `{"id": 7, "error":
{"code": ..., "message": ...}}`. The operation `scanText` (`text`, `sessionFilters`, `eventFilters`) tells its hits on
the way: `{"id": 7, "hits": [...], "done": 96, "total": 400}` (logs looked through), and ends with a value of null. The
worker only reads: bringing the index up to date is the indexer's task.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import threading
import time
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jstext import well_formed
from palimpsest_core.model.config import Config, parse_config
from palimpsest_core.model.search import EventHit, EventPage, SessionPage
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.fts5.searcher import Options
from palimpsest_core.search.request import ABSENT, event_search, literal_scan, session_search
from palimpsest_core.sync.lifeline import read_orders, stop_on_signals, stop_with_parent
from palimpsest_core.sync.logtext import LogTexts

_TELL_SECONDS = 0.1


class Order(msgspec.Struct):
    """One line of standard input."""

    id: int = -1
    op: str = ""
    args: dict[str, Any] = {}
    cancel: int | None = None


class Answer(msgspec.Struct, omit_defaults=True):
    """One line of standard output."""

    id: int
    value: msgspec.Raw | None = None
    error: dict[str, str] | None = None
    hits: list[EventHit] | None = None
    done: int = -1
    total: int = -1


class SearchWorker:
    """Answers orders one after the other, in the thread that calls `serve`."""

    def __init__(self, root: str, index: str, config: Config, *, own_path: bool = False) -> None:
        self._root = os.path.realpath(root)
        self._index = index
        self._config = config
        self._own_path = own_path
        self._orders: queue.Queue[Order | None] = queue.Queue()
        self._tokens: dict[int, CancelToken] = {}
        self._lock = threading.Lock()
        self._provider: Fts5Provider | None = None

    def take(self, line: bytes) -> None:
        """Take one line of standard input, from any thread. A line that is no order is passed over."""
        try:
            order = msgspec.json.decode(line, type=Order)
        except msgspec.DecodeError:
            return
        if order.cancel is not None:
            with self._lock:
                token = self._tokens.get(order.cancel)
            if token is not None:
                token.set()
            return
        with self._lock:
            self._tokens[order.id] = CancelToken()
        self._orders.put(order)

    def stop(self) -> None:
        """End `serve` after the order at hand, which is cancelled."""
        with self._lock:
            tokens = list(self._tokens.values())
        for token in tokens:
            token.set()
        self._orders.put(None)

    def serve(self) -> None:
        """Answer orders on standard output until `stop`."""
        try:
            while (order := self._orders.get()) is not None:
                answer = self._answer(order)
                with self._lock:
                    self._tokens.pop(order.id, None)
                _write(answer)
        except BrokenPipeError:
            return
        finally:
            if self._provider is not None:
                self._provider.close()

    def _answer(self, order: Order) -> Answer:
        with self._lock:
            cancel = self._tokens[order.id]
        try:
            if order.op == "scanText":
                self._scan(order, cancel)
                return Answer(order.id, value=msgspec.Raw(b"null"))
            page = self._search(order.op, order.args, cancel)
        except SessionQueryError as error:
            if error.code is ErrorCode.INDEX_FAILED:
                self._let_go()
            return Answer(order.id, error={"code": error.code.value, "message": well_formed(error.message)})
        return Answer(order.id, value=msgspec.Raw(msgspec.json.encode(page)))

    def _search(self, op: str, args: dict[str, Any], cancel: CancelToken) -> SessionPage | EventPage:
        cancel.raise_if_set()
        given = {"limit": args.get("limit"), "cursor": args.get("cursor", ABSENT), "config": self._config}
        if op == "searchSessions":
            filters = args.get("sessionFilters"), args.get("eventFilters")
            return self._open().search_sessions(session_search(args.get("query"), *filters, **given), cancel)
        if op == "searchEvents":
            request = event_search(args.get("sessionId"), args.get("query"), args.get("filters"), **given)
            return self._open().search_events(request, cancel)
        raise SessionQueryError(ErrorCode.INVALID_QUERY, f'The search worker does not know "{op}".')

    def _scan(self, order: Order, cancel: CancelToken) -> None:
        """Tell hits as they are found, a few times a second at most."""
        args = order.args
        request = literal_scan(
            args.get("text"), args.get("sessionFilters"), args.get("eventFilters"), config=self._config
        )
        waiting: list[EventHit] = []
        told = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal waiting, told
            now = time.monotonic()
            if now - told >= _TELL_SECONDS or done == total:
                told = now
                _write(Answer(order.id, hits=waiting, done=done, total=total))
                waiting = []

        for hit in self._open().scan(request, cancel, progress):
            waiting += (hit,)
        if waiting:
            _write(Answer(order.id, hits=waiting))

    def _open(self) -> Fts5Provider:
        """The index; opened again when another file has taken its place."""
        if self._provider is not None and self._provider.superseded:
            self._let_go()
        if self._provider is None:
            self._provider = Fts5Provider(
                self._index,
                root=self._root,
                config=self._config,
                options=Options(fold_inherited=True, count_matches=True),
                own_path=self._own_path,
                text_source=None if self._config.store_text else LogTexts(self._config),
            )
        return self._provider

    def _let_go(self) -> None:
        provider, self._provider = self._provider, None
        if provider is not None:
            provider.close()


def _write(answer: Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def main(arguments: list[str] | None = None) -> int:
    """The process."""
    parser = argparse.ArgumentParser(prog="palimpsest-search-worker")
    parser.add_argument("--root", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--config", default="{}")
    parser.add_argument("--own-path", action="store_true")
    given = parser.parse_args(arguments)
    worker = SearchWorker(
        given.root, given.index, parse_config(msgspec.json.decode(given.config)), own_path=given.own_path
    )
    cancel = CancelToken()
    stop_on_signals(cancel)
    stop_with_parent(cancel)
    with cancel.on_set(worker.stop):
        read_orders(cancel, worker.take)
        worker.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
