"""The five tools behind one door: arguments in, one text out, only safe errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.tools.access import Caller, QueryEngine, Sight, sight_of
from palimpsest_core.tools.arguments import (
    AVAILABILITY,
    SURFACES,
    Argument,
    check_not_negative,
    check_types,
    object_schema,
)
from palimpsest_core.tools.errors import ToolError, ToolErrorCode, boundary, invalid_arguments
from palimpsest_core.tools.relations import read_event, trace_event, trace_session
from palimpsest_core.tools.search import deadline, search_events, search_sessions

_QUERY = Argument("text", "A literal phrase, matched by words; operators have no meaning.", required=True)
_SESSION = Argument("text", "The session's id; the caller's own session if left out.")
_SEQ = Argument("number", "The event's sequence number.", required=True)
_TYPES = Argument("texts", "Only events of these types, such as user/message or tool/result.")
_SURFACES = Argument("texts", "Only events in these states: what the model sees now, saw once, or never saw.", SURFACES)


def _seq_bound(word: str) -> Argument:
    return Argument("number", f"Only events {word} this sequence number, inclusive.")


def _time_bound(what: str, word: str) -> Argument:
    return Argument("text", f"Only {what} {word} this time, inclusive: ISO 8601 with Z or an offset.")


class Tool(msgspec.Struct, frozen=True):
    """One tool as a client sees it."""

    name: str
    description: str
    arguments: dict[str, Argument]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its input."""
        return object_schema(self.arguments)


TOOLS = (
    Tool(
        "session_search",
        "Find earlier sessions of this workspace that hold a phrase. One hit per session, its strongest event.",
        {
            "query": _QUERY,
            "session_ids": Argument("texts", "Only these sessions."),
            "created_at_from": _time_bound("sessions created", "from"),
            "created_at_to": _time_bound("sessions created", "up to"),
            "parent_session_ids": Argument("texts", "Only direct children of these sessions."),
            "include_root_sessions": Argument("flag", "Sessions without a parent too, or only they."),
            "availability": Argument("texts", "Only sessions that are open now, or stored.", AVAILABILITY),
            "event_seq_from": _seq_bound("from"),
            "event_seq_to": _seq_bound("up to"),
            "event_time_from": _time_bound("events", "from"),
            "event_time_to": _time_bound("events", "up to"),
            "event_types": _TYPES,
            "event_surfaces": _SURFACES,
        },
    ),
    Tool(
        "session_event_search",
        "Find the events of one session that hold a phrase. In the caller's own session: before the current step.",
        {
            "query": _QUERY,
            "session_id": _SESSION,
            "seq_from": _seq_bound("from"),
            "seq_to": _seq_bound("up to"),
            "time_from": _time_bound("events", "from"),
            "time_to": _time_bound("events", "up to"),
            "event_types": _TYPES,
            "surfaces": _SURFACES,
        },
    ),
    Tool(
        "session_trace",
        "Show where a session comes from (ancestors) and what came from it (forks and subagents).",
        {"session_id": _SESSION},
    ),
    Tool(
        "session_event_trace",
        "Show what replaced an event, what it replaced, what it cites and what cites it.",
        {"seq": _SEQ, "session_id": _SESSION},
    ),
    Tool(
        "session_event_read",
        "Read one event in full, with its neighbours in short.",
        {
            "seq": _SEQ,
            "session_id": _SESSION,
            "before": Argument("number", "How many events before it."),
            "after": Argument("number", "How many events after it."),
        },
    ),
)
"""All five, in the order in which clients list them."""

_BY_NAME = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True)
class ToolConfig:
    """How much a tool may do: hits held at most, and how long a search may take."""

    max_search_results: int = 100
    search_timeout_ms: int = 30_000


class Toolbox:
    """The tools of one engine on behalf of one caller at a time.

    Thread-safe: searches wait for each other, the other tools run side by side. `caller` may be changed between
    calls by whoever owns the box; an argument of a tool never changes it.
    """

    def __init__(self, engine: QueryEngine, caller: Caller | None = None, config: ToolConfig | None = None) -> None:
        self.caller = caller
        self._engine = engine
        self._config = config if config is not None else ToolConfig()
        self._searching = threading.Lock()

    def call(self, tool_name: str, arguments: Any, cancel: CancelToken | None = None) -> str:
        """Run a tool and return its text.

        Raises `ToolError` with a code and a message that are safe to show, or `SessionQueryError` with `ABORTED` when
        `cancel` was set. Checks come in this order: types of arguments, negative numbers, the caller, authorisation,
        then the rest.
        """
        with boundary(tool_name):
            tool = _BY_NAME.get(tool_name)
            if tool is None:
                raise invalid_arguments("There is no tool of that name.")
            checked = check_types(tool.arguments, arguments)
            check_not_negative(checked, "seq", "before", "after")
            if self.caller is None:
                raise ToolError(ToolErrorCode.MISSING_AGENT, "No session or workspace was named as the caller.")
            check(cancel)
            return self._run(tool_name, self.caller, checked, cancel)

    def _run(self, tool_name: str, caller: Caller, arguments: dict[str, Any], cancel: CancelToken | None) -> str:
        most = self._config.max_search_results
        if tool_name == "session_search":
            with self._one_search(cancel) as token:
                return search_sessions(self._engine, self._sight(caller, token), arguments, most, token)
        session_id: str | None = arguments.get("session_id", caller.session_id)
        if session_id is None:
            raise invalid_arguments("session_id is missing: the caller is a workspace, not a session.")
        if tool_name == "session_event_search":
            with self._one_search(cancel) as token:
                sight = self._sight(caller, token)
                return search_events(self._engine, sight, session_id, arguments, most, token)
        sight = self._sight(caller, cancel)
        if tool_name == "session_trace":
            return trace_session(self._engine, sight, session_id, cancel)
        if tool_name == "session_event_trace":
            return trace_event(self._engine, sight, session_id, arguments["seq"], cancel)
        return read_event(self._engine, sight, session_id, arguments, cancel)

    def _sight(self, caller: Caller, cancel: CancelToken | None) -> Sight:
        return sight_of(self._engine, caller, cancel)

    @contextmanager
    def _one_search(self, cancel: CancelToken | None) -> Iterator[CancelToken]:
        """Searches run one after the other, each under the deadline (waiting for its turn included)."""
        with deadline(self._config.search_timeout_ms, cancel) as token:
            while not self._searching.acquire(timeout=0.05):
                token.raise_if_set()
            try:
                token.raise_if_set()
                yield token
            finally:
                self._searching.release()

    def _callable(self, tool_name: str) -> Callable[..., str]:
        def run(*, cancel: CancelToken | None = None, **arguments: Any) -> str:
            return self.call(tool_name, arguments, cancel)

        run.__name__ = tool_name
        run.__doc__ = _BY_NAME[tool_name].description
        return run

    def callables(self) -> dict[str, Callable[..., str]]:
        """The tools as plain functions by name: `callables()["session_trace"](session_id="...")`."""
        return {tool.name: self._callable(tool.name) for tool in TOOLS}
