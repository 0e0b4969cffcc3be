"""The closed set of error codes: each one can be met, and each message is one sentence that names no code."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, header, prompt, row, write

from palimpsest_core import Engine, ErrorCode, Event, SessionQueryError, SessionStore, parse_config
from palimpsest_core.base.cancel import CancelToken

STRICT = parse_config({}, mode="strict")


class Place:
    """A root with a sound log, a broken one on demand, and whatever else a fault needs."""

    def __init__(self, root: Path) -> None:
        self.root = root / "sessions"
        self.index = root / "index.sqlite"
        write(self.root, frame(header()) + frame(prompt(0, "needle"), prompt(1, "needle")))

    def open(self, **more: Any) -> Engine:
        return Engine(self.root, **{"index": ":memory:", "config": STRICT, **more})

    def ask(self, name: str, *args: Any, **more: Any) -> None:
        with self.open() as engine:
            getattr(engine, name)(*args, **more)


def aborted(place: Place) -> None:
    token = CancelToken()
    token.set()
    place.ask("list_sessions", token)


def corrupt(place: Place) -> None:
    write(place.root, frame(header()) + frame(row(0, "user/message", {}, surfaceOp="append")))
    place.ask("list_events", "sess")


def index_failed(place: Place) -> None:
    with sqlite3.connect(place.index) as other:
        other.execute("create table mine (a)")
    with place.open(index=place.index) as engine:
        engine.search_sessions("needle")


def invalid_lineage(place: Place) -> None:
    write(place.root, frame(header(parentSession="sess")) + frame(row(0)))
    place.ask("trace_session", "sess")


def invalid_surface(place: Place) -> None:
    store = SessionStore(window_seconds=None)
    session = store.create("live", {})
    # What a store of somebody else might hand out.
    session._events.append(Event("user/message", 0, 0, {}, surface_op={"op": "replace", "start": 5, "end": 5}))
    session._snapshot = None
    with place.open(store=store) as engine:
        engine.list_events("live")


def persistence_failed(place: Place) -> None:
    write(place.root, frame(header()) + frame(row(0, "acme/unknown")))
    place.ask("list_events", "sess")


def search_disabled(place: Place) -> None:
    with place.open(config=parse_config({"openAt": "never"}, mode="strict")) as engine:
        engine.search_sessions("needle")


def stale_cursor(place: Place) -> None:
    with place.open() as engine:
        cursor = engine.search_events("sess", "needle", limit=1).next_cursor
        write(place.root, frame(header()) + frame(prompt(0, "needle"), prompt(1, "needle"), row(2)))
        engine.search_events("sess", "needle", limit=1, cursor=cursor)


def source_conflict(place: Place) -> None:
    store = SessionStore(window_seconds=None)
    store.create("sess", {"cwd": "/elsewhere"})
    with place.open(store=store) as engine:
        engine.list_sessions()


WAYS: dict[ErrorCode, Callable[[Place], None]] = {
    ErrorCode.ABORTED: aborted,
    ErrorCode.CORRUPT_SESSION: corrupt,
    ErrorCode.EVENT_NOT_FOUND: lambda place: place.ask("read_event", "sess", 9),
    ErrorCode.INDEX_FAILED: index_failed,
    ErrorCode.INVALID_CONFIG: lambda place: place.open(config=parse_config({"maxLimit": 0})).close(),
    ErrorCode.INVALID_CURSOR: lambda place: place.ask("search_sessions", "needle", cursor="x"),
    ErrorCode.INVALID_FILTER: lambda place: place.ask("filter_sessions", [{"kind": "odd"}]),
    ErrorCode.INVALID_LIMIT: lambda place: place.ask("search_sessions", "needle", limit=0),
    ErrorCode.INVALID_QUERY: lambda place: place.ask("search_sessions", " "),
    ErrorCode.INVALID_LINEAGE: invalid_lineage,
    ErrorCode.INVALID_SURFACE: invalid_surface,
    ErrorCode.INVALID_WINDOW: lambda place: place.ask("read_event", "sess", 0, -1),
    ErrorCode.PERSISTENCE_FAILED: persistence_failed,
    ErrorCode.SEARCH_DISABLED: search_disabled,
    ErrorCode.SESSION_NOT_FOUND: lambda place: place.ask("list_events", "absent"),
    ErrorCode.STALE_CURSOR: stale_cursor,
    ErrorCode.SOURCE_CONFLICT: source_conflict,
}


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_can_be_met_and_says_why_in_a_sentence(tmp_path: Path, code: ErrorCode) -> None:
    with pytest.raises(SessionQueryError) as caught:
        WAYS[code](Place(tmp_path))
    assert caught.value.code is code
    assert caught.value.message.endswith(".")
    assert code.value not in caught.value.message
