"""Live sessions: what is accepted, what is refused, and what reaches the disk when."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.live.session import LiveSession
from palimpsest_core.live.store import SessionStore
from palimpsest_core.model.event import Event, event_json
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.store import JsonlStore

WORK = {"cwd": "/work"}


def prompt(name: str, words: str = "hello") -> dict[str, Any]:
    return {"id": name, "role": "user", "source": {"kind": "user"}, "content": [{"type": "text", "text": words}]}


def live(store: JsonlStore | None = None) -> SessionStore:
    return SessionStore(now=lambda: 1000, window_seconds=None, store=store)


def turn(sessions: SessionStore, session_id: str, number: int = 1) -> None:
    sessions.append(session_id, "turn/start", {"turn": number})
    sessions.append(session_id, "user/message", prompt(f"m{number}"), surface_op="append")
    sessions.append(session_id, "turn/end", {"turn": number, "reason": {"kind": "completed"}})


def stored_seqs(root: Path, session_id: str) -> list[int]:
    return [event.seq for event in JsonlStore(root).read_from(session_id, 0).events]


def test_the_log_numbers_and_dates_events() -> None:
    sessions = live()
    session = sessions.create("a", WORK, now=5)
    first = sessions.append("a", "turn/start", {"turn": 1}, now=7)
    second = sessions.append("a", "turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    assert (session.header.created_at, session.header.delegation_depth) == (5, None)
    assert [(e.seq, e.time) for e in (first, second)] == [(0, 7), (1, 1000)]
    assert session.events == (first, second)
    assert session.version == 2


def test_what_was_handed_in_can_change_without_changing_the_log() -> None:
    sessions = live()
    data = {"turn": 1, "list": [1]}
    sessions.create("a")
    event = sessions.append("a", "turn/start", data)
    data["list"].append(2)  # type: ignore[attr-defined]
    assert event.data == {"turn": 1, "list": [1]}


def test_a_snapshot_of_events_stays_as_it_was() -> None:
    sessions = live()
    session = sessions.create("a")
    turn(sessions, "a")
    before = session.events
    turn(sessions, "a", 2)
    assert len(before) == 3
    assert len(session.events) == 6


def test_a_seed_gets_its_end_marker_unless_it_has_one() -> None:
    sessions = live()
    event = {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}
    marker = {"type": "session/end-seed", "seq": 0, "time": 3, "data": {}}
    assert [e.type for e in sessions.create("a", seed=[event]).events] == ["turn/start", "session/end-seed"]
    assert [event_json(e) for e in sessions.create("b", seed=[marker]).events] == [marker]
    assert [e.time for e in sessions.create("c", seed=[], now=8).events] == [8]
    assert sessions.create("d").events == ()


@pytest.mark.parametrize(
    "seed",
    [
        [{"type": "turn/start", "seq": 1, "time": 1, "data": {}}],
        [{"type": "turn/start", "seq": 0, "time": 1}],
        [{"type": "turn/start", "seq": 0, "time": 1, "data": {}, "note": 1}],
        [{"type": "user/message", "seq": 0, "time": 1, "data": prompt("m")}],
        [{"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": float("nan")}}],
        ["text"],
    ],
)
def test_a_seed_that_breaks_the_rules_opens_nothing(seed: list[Any]) -> None:
    sessions = live()
    with pytest.raises(WriteRefused):
        sessions.create("a", seed=seed)
    assert sessions.get("a") is None


def test_a_refused_append_leaves_the_log_as_it_was() -> None:
    sessions = live()
    session = sessions.create("a")
    turn(sessions, "a")
    before = session.events
    for kind, data, marks in (
        ("user/message", prompt("x"), {}),
        ("turn/start", {"turn": 2}, {"surface_op": "append"}),
        ("user/message", prompt("x"), {"surface_op": {"op": "replace", "start": 9, "end": 9}}),
        ("turn/start", {"turn": object()}, {}),
        ("request/header", {"header": {}, "reason": "fallback"}, {}),
    ):
        with pytest.raises(WriteRefused):
            sessions.append("a", kind, data, **marks)  # type: ignore[arg-type]
    assert session.events == before


def test_an_id_that_is_live_cannot_be_opened_again() -> None:
    sessions = live()
    sessions.create("a")
    with pytest.raises(WriteRefused) as caught:
        sessions.create("a")
    assert caught.value.reason is Refusal.ID_TAKEN


def test_a_fork_takes_the_prefix_and_the_folder_and_nothing_else() -> None:
    sessions = live()
    sessions.create("a", {"cwd": "/work", "agentPreset": "scout", "delegationDepth": 3})
    turn(sessions, "a")
    turn(sessions, "a", 2)
    child = sessions.fork("a", "b", boundary=2, now=50)
    assert child.header_row == {
        "version": 0,
        "id": "b",
        "createdAt": 50,
        "cwd": "/work",
        "parentSession": "a",
        "seedLength": 3,
    }
    assert [e.type for e in child.events] == ["turn/start", "user/message", "turn/end", "session/end-seed"]


@pytest.mark.parametrize("boundary,reason", [(0, Refusal.OPEN_TURN), (9, Refusal.BAD_EVENT), (-1, Refusal.BAD_EVENT)])
def test_a_fork_ends_outside_a_turn_at_an_event_that_exists(boundary: int, reason: Refusal) -> None:
    sessions = live()
    sessions.create("a")
    turn(sessions, "a")
    with pytest.raises(WriteRefused) as caught:
        sessions.fork("a", "b", boundary=boundary)
    assert caught.value.reason is reason


def test_a_seed_is_durable_at_once_and_appended_events_when_flushed(tmp_path: Path) -> None:
    sessions = live(JsonlStore(tmp_path))
    sessions.create("a", WORK, seed=[])
    assert stored_seqs(tmp_path, "a") == [0]
    turn(sessions, "a")
    assert stored_seqs(tmp_path, "a") == [0]
    sessions.flush("a")
    assert stored_seqs(tmp_path, "a") == [0, 1, 2, 3]


def test_a_session_without_events_has_no_log(tmp_path: Path) -> None:
    sessions = live(JsonlStore(tmp_path))
    sessions.create("a", WORK)
    sessions.flush("a")
    sessions.dispose("a")
    assert not JsonlStore(tmp_path).exists("a")


def test_the_window_writes_what_was_appended(tmp_path: Path) -> None:
    written = threading.Event()

    class Telling(JsonlStore):
        def append(self, session_id: str, events: Any) -> None:
            super().append(session_id, events)
            written.set()

    sessions = SessionStore(window_seconds=0.01, store=Telling(tmp_path))
    sessions.create("a", WORK)
    turn(sessions, "a")
    assert written.wait(30)
    sessions.dispose("a")
    assert stored_seqs(tmp_path, "a") == [0, 1, 2]


def test_mounting_writes_what_sessions_hold_and_unmounting_too(tmp_path: Path) -> None:
    sessions = live()
    sessions.create("a", WORK)
    turn(sessions, "a")
    sessions.mount(JsonlStore(tmp_path))
    assert stored_seqs(tmp_path, "a") == [0, 1, 2]
    turn(sessions, "a", 2)
    sessions.unmount()
    assert stored_seqs(tmp_path, "a") == [0, 1, 2, 3, 4, 5]
    turn(sessions, "a", 3)
    sessions.mount(JsonlStore(tmp_path))
    assert len(stored_seqs(tmp_path, "a")) == 9


def test_a_session_that_does_not_continue_the_stored_log_is_never_written(tmp_path: Path) -> None:
    first = live(JsonlStore(tmp_path))
    first.create("a", WORK)
    turn(first, "a")
    first.dispose("a")
    before = JsonlStore(tmp_path).locate({"id": "a", **WORK}).read_bytes()
    other = live()
    other.create("a", WORK)
    other.append("a", "step/start", {"turn": 7, "step": 1})
    other.mount(JsonlStore(tmp_path))
    with pytest.raises(WriteRefused) as caught:
        other.flush("a")
    assert caught.value.reason is Refusal.OTHER_CONTENT
    other.dispose("a")
    assert JsonlStore(tmp_path).locate({"id": "a", **WORK}).read_bytes() == before


def test_another_folder_is_another_session_to_the_store(tmp_path: Path) -> None:
    first = live(JsonlStore(tmp_path))
    first.create("a", WORK, seed=[])
    first.dispose("a")
    second = live(JsonlStore(tmp_path))
    second.create("a", {"cwd": "/elsewhere"})
    with pytest.raises(WriteRefused):
        second.flush("a")


def test_resuming_repairs_marks_and_a_second_time_adds_nothing(tmp_path: Path) -> None:
    sessions = live(JsonlStore(tmp_path))
    sessions.create("a", WORK)
    sessions.append("a", "turn/start", {"turn": 1})
    sessions.append("a", "step/start", {"turn": 1, "step": 1})
    sessions.dispose("a")
    resumed = sessions.resume("a", now=2000)
    assert [e.type for e in resumed.events] == [
        "turn/start",
        "step/start",
        "step/end",
        "turn/end",
        "session/end-seed",
    ]
    assert stored_seqs(tmp_path, "a") == [0, 1, 2, 3, 4]
    assert resumed.events[-1].time == 2000
    sessions.dispose("a")
    assert len(sessions.resume("a", now=3000).events) == 5
    turn(sessions, "a", 2)
    sessions.flush("a")
    assert len(stored_seqs(tmp_path, "a")) == 8


def test_only_a_stored_session_that_is_not_live_can_be_resumed(tmp_path: Path) -> None:
    sessions = live()
    with pytest.raises(WriteRefused) as caught:
        sessions.resume("a")
    assert caught.value.reason is Refusal.NO_STORE
    sessions.mount(JsonlStore(tmp_path))
    with pytest.raises(SessionQueryError) as absent:
        sessions.resume("a")
    assert absent.value.code is ErrorCode.SESSION_NOT_FOUND
    sessions.create("a")
    with pytest.raises(WriteRefused) as twice:
        sessions.resume("a")
    assert twice.value.reason is Refusal.ID_TAKEN


def test_an_unknown_type_is_accepted_live_and_refused_cold(tmp_path: Path) -> None:
    sessions = live(JsonlStore(tmp_path))
    sessions.create("a", WORK)
    sessions.append("a", "vendor/note", {"free": [1, None]})
    sessions.dispose("a")
    with pytest.raises(SessionQueryError) as caught:
        sessions.resume("a")
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED


def test_listeners_hear_each_append_and_their_failures_hinder_nobody(caplog: pytest.LogCaptureFixture) -> None:
    sessions = live()
    heard: list[tuple[str, int]] = []

    def fail(session: LiveSession, events: Any) -> None:
        raise ValueError("broken listener")

    sessions.subscribe(fail)
    leave = sessions.subscribe(lambda session, events: heard.extend((session.id, e.seq) for e in events))
    sessions.create("a")
    with caplog.at_level(logging.WARNING):
        turn(sessions, "a")
    leave()
    turn(sessions, "a", 2)
    assert heard == [("a", 0), ("a", 1), ("a", 2)]
    assert "broken listener" in caplog.text


def test_a_listener_must_not_append_to_the_session_it_hears() -> None:
    sessions = live()
    refused: list[WriteRefused] = []

    def echo(session: LiveSession, events: Any) -> None:
        try:
            sessions.append(session.id, "todo/write", {"todos": []})
        except WriteRefused as error:
            refused.append(error)

    sessions.subscribe(echo)
    session = sessions.create("a")
    sessions.append("a", "turn/start", {"turn": 1})
    assert len(refused) == 1
    assert len(session.events) == 1


def test_opening_and_disposing_is_told() -> None:
    sessions = live()
    told: list[tuple[str, bool]] = []
    leave = sessions.watch(lambda session, opened: told.append((session.id, opened)))
    sessions.create("a")
    sessions.dispose("a")
    leave()
    sessions.create("a")
    assert told == [("a", True), ("a", False)]


def test_each_opening_has_a_life_of_its_own() -> None:
    sessions = live()
    one = sessions.create("a").life
    sessions.dispose("a")
    assert sessions.create("a").life != one


def test_a_failing_disk_is_told_by_flush_and_the_events_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = live(JsonlStore(tmp_path))
    sessions.create("a", WORK, seed=[])
    turn(sessions, "a")

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("palimpsest_core.writer.logfile._write_all", refuse)
        with pytest.raises(SessionQueryError) as caught:
            sessions.flush("a")
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED
    sessions.flush("a")
    assert stored_seqs(tmp_path, "a") == [0, 1, 2, 3]


def test_appends_from_many_threads_are_all_logged_and_written_in_order(tmp_path: Path) -> None:
    sessions = SessionStore(window_seconds=0.002, store=JsonlStore(tmp_path))
    sessions.create("a", WORK)

    def work() -> None:
        for _ in range(50):
            sessions.append("a", "todo/write", {"todos": []})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sessions.dispose("a")
    assert stored_seqs(tmp_path, "a") == list(range(200))


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.append("x", "turn/start", {}),
        lambda s: s.flush("x"),
        lambda s: s.dispose("x"),
        lambda s: s.fork("x", "y"),
        lambda s: s.unmount(),
    ],
)
def test_what_is_absent_is_refused(call: Callable[[SessionStore], Event]) -> None:
    with pytest.raises(WriteRefused):
        call(live())
