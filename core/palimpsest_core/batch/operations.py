"""The protocol's operations as calls of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.engine import Engine
from palimpsest_core.model.jsonable import to_json

Args = dict[str, Any]
Operation = Callable[[Engine, Args, CancelToken | None], Any]


class ProtocolError(Exception):
    """A refusal of the protocol itself, not of the engine."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class _Null:
    """Stands for a JSON null where the Python call takes None for an absent argument, so that null is refused there."""


def _cursor(args: Args) -> Any:
    if "cursor" not in args:
        return None
    return _Null() if args["cursor"] is None else args["cursor"]


def _known(engine: Engine, cancel: CancelToken | None) -> None:
    """In tolerant mode records tell what the index knows, so the index is brought up to date first."""
    if engine.config.mode == "tolerant" and engine.config.open_at != "never":
        engine.refresh(cancel)


def _list_sessions(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    _known(engine, cancel)
    return to_json(engine.list_sessions(cancel))


def _filter_sessions(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    _known(engine, cancel)
    return to_json(engine.filter_sessions(args.get("filters"), cancel))


def _filter_events(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return to_json(engine.filter_events(args.get("sessionId"), args.get("filters"), generation=args.get("generation")))


def _list_events(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return to_json(engine.list_events(args.get("sessionId"), generation=args.get("generation")))


def _read_session(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return to_json(engine.read_session(args.get("sessionId"), generation=args.get("generation")))


def _read_surface(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return engine.read_surface(args.get("sessionId"), generation=args.get("generation")).as_json()


def _read_event(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    window = {key: args[key] for key in ("before", "after") if key in args}
    generation = args.get("generation")
    return to_json(
        engine.read_event(args.get("sessionId"), args.get("seq"), **window, cancel=cancel, generation=generation)
    )


def _trace_session(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    _known(engine, cancel)
    return engine.trace_session(args.get("sessionId"), cancel).as_json()


def _trace_event(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    generation = args.get("generation")
    return to_json(engine.trace_event(args.get("sessionId"), args.get("seq"), cancel, generation=generation))


def _read_title(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return to_json(engine.read_title(args.get("sessionId"), cancel))


def _read_title_snapshot(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return to_json(engine.read_title_snapshot(args.get("sessionId"), cancel))


def _read_title_snapshots(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    return [settled.as_json() for settled in engine.read_title_snapshots(args.get("sessionIds"), cancel)]


def _search_sessions(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    page = engine.search_sessions(
        args.get("query"),
        args.get("sessionFilters"),
        args.get("eventFilters"),
        args.get("limit"),
        _cursor(args),
        cancel,
    )
    return to_json(page)


def _search_events(engine: Engine, args: Args, cancel: CancelToken | None) -> Any:
    page = engine.search_events(
        args.get("sessionId"), args.get("query"), args.get("filters"), args.get("limit"), _cursor(args), cancel
    )
    return to_json(page)


OPERATIONS: dict[str, Operation] = {
    "listSessions": _list_sessions,
    "filterSessions": _filter_sessions,
    "filterEvents": _filter_events,
    "listEvents": _list_events,
    "readSession": _read_session,
    "readSurface": _read_surface,
    "readEvent": _read_event,
    "traceSession": _trace_session,
    "traceEvent": _trace_event,
    "readTitle": _read_title,
    "readTitleSnapshot": _read_title_snapshot,
    "readTitleSnapshots": _read_title_snapshots,
    "searchSessions": _search_sessions,
    "searchEvents": _search_events,
}
