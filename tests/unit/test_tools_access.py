"""Who may see what: every boundary of the tools, against an engine that gives out everything."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import EventRecord, EventTrace, EventWindow, Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import EventHit, EventPage, SessionHit, SessionPage
from palimpsest_core.model.session import (
    LineageNode,
    SessionRecord,
    SessionState,
    SessionSummary,
    SessionTrace,
    Title,
    TitleSnapshot,
)
from palimpsest_core.tools import Caller, Toolbox, ToolConfig, ToolError, ToolErrorCode

HERE, THERE = "/home/mo/parser", "/home/mo/parser/"
SECRET = ["hidden", "cousin", "nowhere", "grandparent", "orphan-parent"]


def header(name: str, cwd: str | None = HERE, parent: str | None = None) -> Header:
    return Header(version=0, id=name, created_at=1_600_000_000_000, cwd=cwd, parent_session=parent)


HEADERS = {
    item.id: item
    for item in (
        header("grandparent", THERE),
        header("parent", HERE, "grandparent"),
        header("me", HERE, "parent"),
        header("child", HERE, "me"),
        header("hidden", THERE, "me"),
        header("cousin", HERE, "hidden"),
        header("orphan", HERE, "orphan-parent"),
        header("nowhere", None),
    )
}
CALLS: dict[str, dict[str, Any]] = {
    "session_event_search": {"query": "x"},
    "session_trace": {},
    "session_event_trace": {"seq": 1},
    "session_event_read": {"seq": 1},
}


class Everything:
    """An engine that hides nothing; `changed` replaces headers between the check and the read."""

    config = Config()

    def __init__(self, changed: dict[str, Header] | None = None, before_read: Callable[[], None] | None = None) -> None:
        self.changed = changed or {}
        self.before_read = before_read or (lambda: None)
        self.indexed: list[str] = []
        self.asked: list[tuple[Any, ...]] = []
        self.pages: list[SessionPage] = []

    def read(self, name: str) -> Header:
        self.before_read()
        return self.changed.get(name, HEADERS[name])

    def record(self, name: str) -> SessionRecord:
        return SessionRecord(header=self.read(name), live=False, persisted=True)

    def filter_sessions(self, filters: Any, cancel: Any = None) -> list[SessionRecord]:
        (clause,) = filters
        return [SessionRecord(HEADERS[n], live=False, persisted=True) for n in clause["values"] if n in HEADERS]

    def sessions(self, cancel: Any = None) -> list[SessionSummary]:
        return [self.row(name) for name in self.indexed]

    def row(self, name: str) -> SessionSummary:
        return SessionSummary(
            id=name, path="", state=SessionState.COMPLETE, header=self.read(name), title="Known", indexed=True
        )

    def header_of(self, session_id: str, cancel: Any = None) -> Header:
        return HEADERS[session_id]

    def read_title_snapshots(self, ids: Any, cancel: Any = None) -> list[Any]:
        title = Title(title="A\ntitle", message_seqs=[], source={}, event_seq=0, updated_at=0)
        return [
            SimpleNamespace(session_id=name, value=TitleSnapshot(self.read(name), title), reason=None) for name in ids
        ]

    def list_events(self, session_id: str, cancel: Any = None) -> list[EventRecord]:
        kinds = ["turn/start", "step/start", "user/message", "step/start", "assistant/message"]
        return [EventRecord(session_id, seq, kind, 0, Surface.CURRENT) for seq, kind in enumerate(kinds)]

    def read_event(self, session_id: str, seq: Any, before: Any = 0, after: Any = 0, cancel: Any = None) -> EventWindow:
        event = {"type": "user/message", "seq": seq, "time": 0, "data": {"content": [{"type": "text", "text": "hi"}]}}
        session = {"id": session_id, "cwd": self.read(session_id).cwd}
        return EventWindow(session=session, target=event, events=[event], start_seq=seq, end_seq=seq)

    def trace_session(self, session_id: str, cancel: Any = None) -> SessionTrace:
        def below(name: str) -> list[LineageNode]:
            return [LineageNode(self.record(n), below(n)) for n, h in HEADERS.items() if h.parent_session == name]

        above: list[SessionRecord] = []
        parent = HEADERS[session_id].parent_session
        while parent is not None and parent in HEADERS:
            above.append(self.record(parent))
            parent = HEADERS[parent].parent_session
        return SessionTrace(
            target=self.record(session_id),
            ancestors=above,
            descendants=below(session_id),
            complete=parent is None,
            unresolved_parent_id=parent,
        )

    def trace_event(self, session_id: str, seq: Any, cancel: Any = None) -> EventTrace:
        return EventTrace(
            session={"id": session_id, "cwd": self.read(session_id).cwd},
            target=EventRecord(session_id, seq, "user/message", 0, Surface.CURRENT),
            replacement_chain=[],
            replaced_event_seqs=[],
            source_event_seqs=[],
            derived_event_seqs=[],
        )

    def search_sessions(self, *asked: Any) -> SessionPage:
        self.asked.append(asked)
        if self.pages:
            return self.pages.pop(0)
        return page(*(name for name in HEADERS))

    def search_events(self, session_id: str, *asked: Any) -> EventPage:
        self.asked.append((session_id, *asked))
        hit = EventHit(session_id, 2, "user/message", 0, Surface.CURRENT, "hi")
        return EventPage(provider_id="x", session=self.read(session_id), items=[hit])


def page(*names: str, cursor: str | None = None) -> SessionPage:
    hits = [
        SessionHit(HEADERS[n], False, True, EventHit(n, 7, "user/message", 0, Surface.CURRENT, "hi")) for n in names
    ]
    return SessionPage(provider_id="x", items=hits, next_cursor=cursor)


def box(engine: Any, caller: str | None = "me", **config: Any) -> Toolbox:
    return Toolbox(engine, Caller(caller) if caller is not None else None, ToolConfig(**config))


def refusal(toolbox: Toolbox, tool: str, arguments: dict[str, Any]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        toolbox.call(tool, arguments)
    return caught.value


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]+", text))


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("target", ["hidden", "nowhere", "missing", "grandparent", ""])
def test_hidden_and_missing_sessions_give_one_and_the_same_answer(tool: str, target: str) -> None:
    error = refusal(box(Everything()), tool, {**CALLS[tool], "session_id": target})
    assert error.code is ToolErrorCode.UNAUTHORIZED
    assert error.message == refusal(box(Everything()), tool, {**CALLS[tool], "session_id": "other"}).message


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("target", ["child", "me", "parent", "cousin"])
def test_sessions_of_the_same_workspace_may_be_read(tool: str, target: str) -> None:
    assert target in words(box(Everything()).call(tool, {**CALLS[tool], "session_id": target}))


@pytest.mark.parametrize("tool", CALLS)
def test_a_header_that_changed_between_check_and_read_fails_the_call(tool: str) -> None:
    engine = Everything(changed={"child": header("child", THERE)})
    assert refusal(box(engine), tool, {**CALLS[tool], "session_id": "child"}).code is ToolErrorCode.UNAUTHORIZED


@pytest.mark.parametrize("tool", CALLS)
def test_the_callers_own_header_is_checked_after_reading_too(tool: str) -> None:
    engine = Everything(changed={"me": header("me", THERE)})
    assert refusal(box(engine), tool, CALLS[tool]).code is ToolErrorCode.UNAUTHORIZED


@pytest.mark.parametrize("tool", CALLS)
def test_a_caller_without_a_workspace_sees_only_itself(tool: str) -> None:
    toolbox = box(Everything(), "nowhere")
    assert "nowhere" in words(toolbox.call(tool, CALLS[tool]))
    for target in ("me", "hidden", "missing"):
        assert refusal(toolbox, tool, {**CALLS[tool], "session_id": target}).code is ToolErrorCode.UNAUTHORIZED


def test_a_caller_without_a_workspace_is_refused_a_search_before_its_query_is_looked_at() -> None:
    assert refusal(box(Everything(), "nowhere"), "session_search", {"query": " "}).code is ToolErrorCode.UNAUTHORIZED


def test_without_a_caller_no_tool_runs() -> None:
    for tool, arguments in {**CALLS, "session_search": {"query": "x"}}.items():
        assert refusal(box(Everything(), None), tool, arguments).code is ToolErrorCode.MISSING_AGENT


def test_a_trace_shows_one_marker_for_the_hidden_ancestry_and_one_for_each_hidden_subtree() -> None:
    text = box(Everything()).call("session_trace", {"session_id": "parent"})
    assert text.count("outside workspace") == 2
    assert {"parent", "me", "child"} <= words(text)
    assert words(text).isdisjoint(SECRET)


def test_an_ancestry_that_leaves_the_corpus_is_a_marker_too() -> None:
    text = box(Everything()).call("session_trace", {"session_id": "orphan"})
    assert text.count("outside workspace") == 1
    assert words(text).isdisjoint(SECRET)


def test_a_search_leaves_out_the_caller_and_shows_hidden_parents_as_markers() -> None:
    text = box(Everything()).call("session_search", {"query": "x"})
    assert "hidden" not in words(text)
    assert [line for line in text.split("\n") if "session" in line][1:] == [
        *("1. session parent", "2. session child", "3. session cousin", "4. session orphan")
    ]
    assert text.count("parent: (outside workspace)") == 3
    assert "parent: me" in text


def test_a_search_asks_the_engine_for_the_callers_workspace_only() -> None:
    engine = Everything()
    box(engine).call("session_search", {"query": "x", "session_ids": ["hidden", "child"]})
    (asked,) = engine.asked
    assert {"kind": "cwd", "values": [HERE]} in asked[1]


def test_parents_that_may_not_be_seen_never_reach_the_engine() -> None:
    engine = Everything()
    toolbox = box(engine)
    hidden = ["hidden", "nowhere", "missing"]
    assert "No other session" in toolbox.call("session_search", {"query": "x", "parent_session_ids": hidden})
    assert engine.asked == []
    toolbox.call("session_search", {"query": "x", "parent_session_ids": [*hidden, "me", "parent", "me"]})
    assert {"kind": "parent", "values": ["me", "parent"]} in engine.asked[-1][1]
    toolbox.call("session_search", {"query": "x", "parent_session_ids": hidden, "include_root_sessions": True})
    assert {"kind": "parent", "values": [None]} in engine.asked[-1][1]


def test_an_own_search_ends_before_the_last_step() -> None:
    engine = Everything()
    box(engine).call("session_event_search", {"query": "x", "seq_to": 99})
    assert engine.asked[-1][2] == [{"kind": "seq", "to": 2}]
    assert "No event matches" in box(engine).call("session_event_search", {"query": "x", "seq_from": 3})
    assert len(engine.asked) == 1


def test_a_workspace_without_a_session_searches_as_any_session_of_it_and_names_sessions_otherwise() -> None:
    toolbox = Toolbox(Everything(), Caller(None, HERE))
    assert {"me", "child", "parent"} <= words(toolbox.call("session_search", {"query": "x"}))
    for tool, arguments in CALLS.items():
        assert refusal(toolbox, tool, arguments).code is ToolErrorCode.INVALID_ARGUMENTS
        assert "child" in words(toolbox.call(tool, {**arguments, "session_id": "child"}))
        assert refusal(toolbox, tool, {**arguments, "session_id": "hidden"}).code is ToolErrorCode.UNAUTHORIZED


def test_one_hit_too_many_is_the_cap_and_hits_that_may_not_be_seen_do_not_count() -> None:
    engine = Everything()
    engine.pages = [page("hidden", "me", "parent", cursor="1"), page("nowhere", "child", cursor="2"), page("hidden")]
    text = box(engine, max_search_results=2).call("session_search", {"query": "x"})
    assert "Cap reached" not in text
    assert len(engine.asked) == 3
    engine.pages = [page("parent", "child", cursor="1"), page("me", "orphan")]
    assert "Cap reached" in box(engine, max_search_results=2).call("session_search", {"query": "x"})


def test_a_cursor_that_comes_twice_is_an_error_and_no_endless_loop() -> None:
    engine = Everything()
    engine.pages = [page("parent", cursor="1"), page("child", cursor="1"), page("orphan")]
    assert refusal(box(engine), "session_search", {"query": "x"}).code is ToolErrorCode.FAILED


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (SessionQueryError(ErrorCode.SOURCE_CONFLICT, "hidden at /secret"), ToolErrorCode.FAILED),
        (SessionQueryError(ErrorCode.INVALID_CONFIG, "hidden at /secret"), ToolErrorCode.FAILED),
        (SessionQueryError(ErrorCode.PERSISTENCE_FAILED, "hidden at /secret"), ErrorCode.PERSISTENCE_FAILED),
        (OSError("hidden at /secret"), ToolErrorCode.FAILED),
        (KeyError("hidden"), ToolErrorCode.FAILED),
    ],
)
def test_no_message_of_the_engine_reaches_the_model(raised: Exception, code: Any) -> None:
    def fail() -> None:
        raise raised

    error = refusal(box(Everything(before_read=fail)), "session_trace", {"session_id": "child"})
    assert error.code is code
    assert "hidden" not in error.message
    assert "/secret" not in error.message


def test_cancelling_goes_through_untouched() -> None:
    cancel = CancelToken()
    cancel.set()
    for tool, arguments in {**CALLS, "session_search": {"query": "x"}}.items():
        with pytest.raises(SessionQueryError) as caught:
            box(Everything()).call(tool, arguments, cancel)
        assert caught.value.code is ErrorCode.ABORTED


def test_a_search_that_takes_too_long_says_so() -> None:
    class Slow(Everything):
        def search_sessions(self, *asked: Any) -> SessionPage:
            token: CancelToken = asked[-1]
            stopped = threading.Event()
            with token.on_set(stopped.set):
                stopped.wait(30)
            token.raise_if_set()
            raise AssertionError("the deadline did not set the token")

    error = refusal(box(Slow(), search_timeout_ms=20), "session_search", {"query": "x"})
    assert error.code is ToolErrorCode.TIMED_OUT


def test_searches_wait_for_each_other() -> None:
    running, most = 0, 0
    gate = threading.Lock()

    class Counting(Everything):
        def search_sessions(self, *asked: Any) -> SessionPage:
            nonlocal running, most
            with gate:
                running += 1
                most = max(most, running)
            threading.Event().wait(0.01)  # room for another one to come in, if it could
            with gate:
                running -= 1
            return page()

    toolbox = box(Counting())
    threads = [threading.Thread(target=toolbox.call, args=("session_search", {"query": "x"})) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("session_search", {}),
        ("session_search", {"query": 5}),
        ("session_search", {"query": "x", "session_ids": "child"}),
        ("session_search", {"query": "x", "session_ids": [1]}),
        ("session_search", {"query": "x", "availability": ["archived"]}),
        ("session_search", {"query": "x", "event_surfaces": ["hidden"]}),
        ("session_search", {"query": "x", "event_seq_to": 1.5}),
        ("session_search", {"query": "x", "event_seq_to": True}),
        ("session_search", {"query": "x", "include_root_sessions": "yes"}),
        ("session_search", {"query": "x", "created_at_from": 5}),
        ("session_event_read", {}),
        ("session_event_read", {"seq": None}),
        ("session_trace", {"session_id": 5}),
        ("session_trace", []),
        ("no_such_tool", {}),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(tool: str, arguments: Any) -> None:
    assert refusal(box(Everything()), tool, arguments).code is ToolErrorCode.INVALID_ARGUMENTS


def test_a_negative_number_is_refused_before_authorisation_and_a_blank_query_after_it() -> None:
    toolbox = box(Everything())
    assert refusal(toolbox, "session_event_read", {"session_id": "hidden", "seq": -1}).code is ErrorCode.INVALID_FILTER
    late = {"session_id": "hidden", "query": " ", "event_types": []}
    assert refusal(toolbox, "session_event_search", late).code is ToolErrorCode.UNAUTHORIZED
    assert refusal(toolbox, "session_event_search", {"query": "\ufeff"}).code is ErrorCode.INVALID_QUERY


def test_unknown_arguments_such_as_a_limit_are_ignored_and_whole_floats_are_integers() -> None:
    toolbox = box(Everything())
    assert "parent" in words(toolbox.call("session_search", {"query": "x", "limit": 1, "cursor": "x"}))
    assert "seq 1" in toolbox.call("session_event_read", {"seq": 1.0})


def test_text_of_a_log_cannot_forge_a_line_of_an_answer() -> None:
    text = box(Everything()).call("session_trace", {"session_id": "child"})
    assert "title: A title" in text


def test_titles_the_index_knows_are_not_read_again_and_their_headers_are_checked_all_the_same() -> None:
    engine = Everything()
    engine.indexed = ["me", "child"]
    text = box(engine).call("session_trace", {"session_id": "me"})
    assert text.count("title: Known") == 2
    assert text.count("title: A title") == 1
    changed = Everything(changed={"child": header("child", THERE)})
    changed.indexed = ["child"]
    assert refusal(box(changed), "session_search", {"query": "x"}).code is ToolErrorCode.UNAUTHORIZED


def test_the_tools_are_plain_functions_too() -> None:
    trace = box(Everything()).callables()["session_trace"]
    assert trace.__doc__
    assert "child" in words(trace(session_id="child"))
