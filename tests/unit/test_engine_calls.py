"""The engine as a Python library: sources that come and go, order of checks, cancelling, people's calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, row, write

from palimpsest_core import (
    CancelToken,
    Config,
    Engine,
    ErrorCode,
    Event,
    JsonlStore,
    SessionQueryError,
    SessionState,
    SessionStore,
    parse_config,
    to_json,
)

STRICT = parse_config({}, mode="strict")
END = {"turn": 1, "reason": {"kind": "completed"}}


def session(root: Path, session_id: str, text: str = "needle", **head: Any) -> None:
    rows = [
        header(session_id=session_id, **head),
        row(0),
        prompt(1, text),
        row(2, "turn/end", END),
    ]
    write(root, frames(rows), session_id=session_id, **({"cwd": head["cwd"]} if "cwd" in head else {}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "sessions"
    session(place, "alpha", createdAt=3)
    session(place, "beta", "other words", createdAt=2, parentSession="alpha")
    session(place, "gamma", createdAt=1, parentSession="beta")
    return place


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    with Engine(root, index=":memory:", config=STRICT) as opened:
        yield opened


def code_of(call: Any, *args: Any, **kwargs: Any) -> ErrorCode:
    with pytest.raises(SessionQueryError) as caught:
        call(*args, **kwargs)
    return caught.value.code


def live_store(root: Path, **made: dict[str, Any]) -> SessionStore:
    store = SessionStore(window_seconds=None)
    for session_id, head in made.items():
        store.create(session_id, {"createdAt": 9, "cwd": "/srv/a", **head})
        store.append(session_id, "turn/start", {"turn": 1}, now=1)
        message = {
            "id": "m",
            "role": "user",
            "source": {"kind": "user"},
            "content": [{"type": "text", "text": "needle"}],
        }
        store.append(session_id, "user/message", message, surface_op="append", now=2)
    return store


def test_sessions_are_listed_newest_first(engine: Engine) -> None:
    assert [record.header.id for record in engine.list_sessions()] == ["alpha", "beta", "gamma"]


def test_filters_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with Engine(blocked, index=":memory:", config=STRICT) as engine:
        assert code_of(engine.filter_sessions, [{"kind": "nope"}]) is ErrorCode.INVALID_FILTER
        assert code_of(engine.filter_events, "x", None) is ErrorCode.INVALID_FILTER
        assert code_of(engine.read_event, "x", 0, -1) is ErrorCode.INVALID_WINDOW
        assert code_of(engine.list_sessions) is ErrorCode.PERSISTENCE_FAILED


def test_a_blank_text_is_found_only_after_the_session(engine: Engine) -> None:
    blank = [{"kind": "text", "text": " "}]
    assert code_of(engine.filter_events, "absent", blank) is ErrorCode.SESSION_NOT_FOUND
    assert code_of(engine.filter_events, "alpha", blank) is ErrorCode.INVALID_FILTER


@pytest.mark.parametrize("session_id", [None, 5, "", ["alpha"], "Alpha"])
def test_an_id_of_any_other_kind_is_simply_not_found(engine: Engine, session_id: Any) -> None:
    assert code_of(engine.list_events, session_id) is ErrorCode.SESSION_NOT_FOUND


@pytest.mark.parametrize("seq", [-1, 3, 1.5, "0", None, True, 1e300])
def test_a_seq_of_any_other_kind_is_no_event(engine: Engine, seq: Any) -> None:
    assert code_of(engine.read_event, "alpha", seq) is ErrorCode.EVENT_NOT_FOUND
    assert code_of(engine.trace_event, "alpha", seq) is ErrorCode.EVENT_NOT_FOUND


def test_a_window_is_clipped_to_the_log(engine: Engine) -> None:
    window = engine.read_event("alpha", 1.0, 50, 50)
    assert (window.start_seq, window.end_seq, window.target["seq"], len(window.events)) == (0, 2, 1, 3)


def test_values_are_detached_from_a_live_session(root: Path) -> None:
    store = live_store(root, fresh={})
    with Engine(root, index=":memory:", config=STRICT, store=store) as engine:
        log = engine.read_session("fresh")
        log.events[1]["data"]["content"][0]["text"] = "changed"
        assert engine.read_session("fresh").events[1]["data"]["content"][0]["text"] == "needle"
        assert engine.read_surface("fresh").captured_through_seq == 1


def test_a_surface_that_breaks_the_rules_is_never_guessed_at_in_strict_mode(root: Path) -> None:
    store = live_store(root, fresh={})
    session = store.get("fresh")
    assert session is not None
    # What a store of somebody else might hand out: an event that replaces what is not there.
    broken = Event("user/message", 2, 3, {}, surface_op={"op": "replace", "start": 0, "end": 0}, source_event_seqs=[0])
    session._events.append(broken)
    session._snapshot = None
    with Engine(root, index=":memory:", config=STRICT, store=store) as strict:
        for call in (strict.list_events, strict.read_surface):
            assert code_of(call, "fresh") is ErrorCode.INVALID_SURFACE
        assert code_of(strict.read_session, "fresh") is ErrorCode.CORRUPT_SESSION
    with Engine(root, index=":memory:", store=store) as tolerant:
        assert [item["seq"] for item in tolerant.read_surface("fresh").events] == [1, 2]


def test_a_live_session_hides_the_stored_one_and_both_are_told(root: Path) -> None:
    store = live_store(root, alpha={"createdAt": 3, "delegationDepth": 0})
    with Engine(root, index=":memory:", config=STRICT, store=store) as engine:
        record = engine.list_sessions()[0]
        assert (record.header.id, record.live, record.persisted) == ("alpha", True, True)
        assert len(engine.list_events("alpha")) == 2


def test_sources_that_disagree_about_a_header_conflict_wherever_both_are_looked_at(root: Path) -> None:
    store = live_store(root, alpha={"createdAt": 4})
    with Engine(root, index=":memory:", config=STRICT, store=store) as engine:
        assert code_of(engine.list_sessions) is ErrorCode.SOURCE_CONFLICT
        assert code_of(engine.trace_session, "beta") is ErrorCode.SOURCE_CONFLICT
        assert code_of(engine.search_sessions, "needle") is ErrorCode.SOURCE_CONFLICT
        assert len(engine.list_events("alpha")) == 2
        engine.unmount()
        assert [item.header.id for item in engine.list_sessions()] == ["alpha"]


def test_a_broken_disk_cannot_hide_a_live_session(root: Path) -> None:
    store = live_store(root, fresh={})
    (root / "--srv-a--" / "old.jsonl").write_text("a log of the old layout")
    with Engine(root, index=":memory:", config=STRICT, store=store) as engine:
        assert code_of(engine.list_sessions) is ErrorCode.PERSISTENCE_FAILED
        assert code_of(engine.list_events, "alpha") is ErrorCode.PERSISTENCE_FAILED
        assert len(engine.list_events("fresh")) == 2
        settled = engine.read_title_snapshots(["alpha", "fresh", "absent"])
        assert [item.reason.code if item.reason else None for item in settled] == [
            ErrorCode.PERSISTENCE_FAILED,
            None,
            ErrorCode.PERSISTENCE_FAILED,
        ]


def test_unmounting_hides_the_stored_sessions_and_mounting_brings_them_back(engine: Engine) -> None:
    assert len(engine.search_sessions("needle").items) == 2
    engine.unmount()
    assert engine.list_sessions() == []
    assert code_of(engine.list_events, "alpha") is ErrorCode.SESSION_NOT_FOUND
    assert engine.search_sessions("needle").items == []
    engine.mount()
    assert len(engine.search_sessions("needle").items) == 2


def test_titles_settle_one_by_one_in_the_order_asked_for(engine: Engine) -> None:
    settled = engine.read_title_snapshots(["beta", 5, "absent", "beta", None, "alpha"])
    assert [item.session_id for item in settled] == ["beta", 5, "absent", None, "alpha"]
    assert [item.as_json()["status"] for item in settled] == ["fulfilled", *["rejected"] * 3, "fulfilled"]
    assert engine.read_title_snapshots(None) == []


def test_every_call_with_a_token_stops_when_it_is_set(engine: Engine) -> None:
    cancel = CancelToken()
    cancel.set()
    calls = [
        lambda: engine.list_sessions(cancel),
        lambda: engine.filter_sessions([], cancel),
        lambda: engine.trace_session("alpha", cancel),
        lambda: engine.read_session("alpha", cancel),
        lambda: engine.list_events("alpha", cancel),
        lambda: engine.filter_events("alpha", [], cancel),
        lambda: engine.read_surface("alpha", cancel),
        lambda: engine.read_event("alpha", 0, cancel=cancel),
        lambda: engine.trace_event("alpha", 0, cancel),
        lambda: engine.read_title("alpha", cancel),
        lambda: engine.read_title_snapshots([], cancel),
        lambda: engine.search_sessions("needle", cancel=cancel),
        lambda: engine.search_events("absent", "needle", cancel=cancel),
        lambda: engine.sessions(cancel),
        lambda: engine.lineage("alpha", cancel),
        lambda: engine.plan_export("alpha", True, cancel),
    ]
    assert [code_of(call) for call in calls] == [ErrorCode.ABORTED] * len(calls)


def test_search_that_is_switched_off_says_so_before_anything_else(root: Path) -> None:
    config = parse_config({"openAt": "never"}, mode="strict")
    with Engine(root, index=":memory:", config=config) as engine:
        assert code_of(engine.search_sessions, "") is ErrorCode.SEARCH_DISABLED
        assert code_of(engine.search_events, 5, "") is ErrorCode.SEARCH_DISABLED
        assert len(engine.list_sessions()) == 3
        assert engine.index_status().open is False


def test_strict_mode_refuses_a_damaged_log_and_tolerant_mode_reads_its_prefix(root: Path) -> None:
    rows = [header(session_id="hurt"), row(0), prompt(1, "needle here"), b"no json\n", row(3, "turn/end", END)]
    write(root, frames(rows), session_id="hurt")
    with Engine(root, index=":memory:", config=STRICT) as strict:
        assert code_of(strict.list_events, "hurt") is ErrorCode.PERSISTENCE_FAILED
        assert code_of(strict.search_sessions, "needle") is ErrorCode.PERSISTENCE_FAILED
        assert len(strict.list_events("alpha")) == 3
    with Engine(root, index=":memory:") as tolerant:
        assert [item.type for item in tolerant.list_events("hurt")] == ["turn/start", "user/message", "turn/end"]
        assert "hurt" in [hit.header.id for hit in tolerant.search_sessions("needle").items]
        (damaged,) = [item for item in tolerant.list_sessions() if item.header.id == "hurt"]
        assert damaged.findings is not None
        assert "corrupt" in damaged.findings


def test_the_list_for_people_holds_what_cannot_be_read_with_its_reason(root: Path) -> None:
    write(root, b"", session_id="empty")
    write(root, frames([header(9, "future"), row(0)]), version=9, session_id="future")
    with Engine(root, index=":memory:") as engine:
        for rows in (engine.sessions(), (engine.refresh(), engine.sessions())[1]):
            by_id = {item.id: item for item in rows}
            assert set(by_id) == {"alpha", "beta", "gamma", "empty", "future"}
            assert by_id["empty"].state is SessionState.UNREADABLE
            assert by_id["empty"].reason
            assert by_id["future"].state is SessionState.NEWER
        assert all(item.indexed for item in rows if item.id in ("alpha", "beta", "gamma"))


def test_a_log_that_changed_since_it_was_indexed_is_listed_from_its_header(root: Path) -> None:
    with Engine(root, index=":memory:") as engine:
        engine.refresh()
        session(root, "alpha", "grown " * 50, createdAt=3)
        session(root, "delta", createdAt=8)
        rows = {item.id: item for item in engine.sessions()}
        assert (rows["alpha"].indexed, rows["beta"].indexed, rows["delta"].indexed) == (False, True, False)
        known = {item.id for item in engine.sessions(fresh=False)}
        assert known == {"alpha", "beta", "gamma"}


def test_a_log_that_grew_keeps_the_title_it_had_and_counts_as_active(root: Path) -> None:
    with Engine(root, index=":memory:") as engine:
        engine.refresh()
        before = next(item for item in engine.sessions() if item.id == "alpha")
        path = Path(before.path)
        with path.open("ab") as log:
            log.write(path.read_bytes()[-40:])
        grown = next(item for item in engine.sessions() if item.id == "alpha")
    assert before.indexed
    assert (grown.indexed, grown.title, grown.events) == (False, before.title, before.events)
    assert grown.state is SessionState.ACTIVE
    assert grown.size == before.size + 40


def test_ids_may_be_shortened_while_unique(root: Path) -> None:
    session(root, "alphabet")
    with Engine(root, index=":memory:") as engine:
        assert engine.resolve_id("ga") == "gamma"
        assert engine.resolve_id("alpha") == "alpha"
        assert code_of(engine.resolve_id, "alp") is ErrorCode.INVALID_FILTER
        assert code_of(engine.resolve_id, "x") is ErrorCode.SESSION_NOT_FOUND


def test_lineage_for_people_ends_with_a_reason(root: Path) -> None:
    session(root, "lost", parentSession="nowhere")
    session(root, "round", parentSession="trip")
    session(root, "trip", parentSession="round")
    with Engine(root, index=":memory:") as engine:
        assert [item.header.id for item in engine.lineage("gamma").ancestors] == ["beta", "alpha"]
        lost = engine.lineage("lost")
        assert (lost.complete, lost.unresolved_parent_id) == (False, "nowhere")
        assert lost.reason
        assert "circle" in (engine.lineage("round").reason or "")
        (row_of_lost,) = [item for item in engine.sessions() if item.id == "lost"]
        assert [finding.code.value for finding in row_of_lost.findings or []] == ["dangling-parent"]


def test_a_log_is_opened_by_id_indexed_or_not(root: Path) -> None:
    with Engine(root, index=":memory:") as engine:
        for _ in range(2):
            log = engine.open_log("beta")
            log.load()
            assert log.session_id == "beta"
            assert len(log) == 3
            log.close()
            engine.refresh()
        assert code_of(engine.open_log, "absent") is ErrorCode.SESSION_NOT_FOUND
        assert code_of(engine.open_log, "beta", 3) is ErrorCode.SESSION_NOT_FOUND


def test_a_generation_names_another_file_of_the_session(root: Path) -> None:
    newer = [header(3, "alpha", createdAt=3), row(0), row(1, "turn/end", END)]
    write(root, frames(newer), version=3, session_id="alpha")
    with Engine(root, index=":memory:") as engine:
        counts = {number: len(engine.list_events("alpha", generation=number)) for number in (0, 3)}
        assert counts == {0: 3, 3: 2}
        assert code_of(engine.list_events, "alpha", generation=2) is ErrorCode.SESSION_NOT_FOUND


def test_an_export_takes_the_session_and_everything_below_it(root: Path, tmp_path: Path) -> None:
    with Engine(root, index=":memory:") as engine:
        plan = engine.plan_export("beta")
        assert [log.session_id for log in plan.logs] == ["beta", "gamma"]
        done = engine.export(plan, tmp_path / plan.file_name)
        assert Path(done.path).is_file()
        assert [log.session_id for log in engine.plan_export("beta", False).logs] == ["beta"]
        assert code_of(engine.plan_export, "absent") is ErrorCode.SESSION_NOT_FOUND


def test_a_live_session_is_flushed_before_it_is_exported(root: Path) -> None:
    store = SessionStore(window_seconds=None, store=JsonlStore(root))
    store.create("fresh", {"cwd": "/srv/a"})
    store.append("fresh", "turn/start", {"turn": 1})
    with Engine(root, index=":memory:", store=store) as engine:
        assert [log.session_id for log in engine.plan_export("fresh").logs] == ["fresh"]
    store.dispose_all()


def test_the_index_can_be_thrown_away_and_made_again(root: Path, tmp_path: Path) -> None:
    with Engine(root, index=tmp_path / "index.sqlite") as engine:
        assert engine.refresh().logs == 3
        assert engine.index_status().logs == 3
        engine.rebuild_index()
        assert engine.index_status().logs == 0
        assert len(engine.refresh().added) == 3
        assert engine.index_status().bytes > 0


def test_an_engine_without_a_root_has_nothing_to_show() -> None:
    with Engine(None, index=":memory:") as engine:
        assert engine.list_sessions() == []
        assert engine.sessions() == []
        assert to_json(engine.search_sessions("x").items) == []
        assert code_of(engine.open_log, "x") is ErrorCode.SESSION_NOT_FOUND


def test_a_missing_root_is_an_empty_one(tmp_path: Path) -> None:
    for config in (STRICT, Config()):
        with Engine(tmp_path / "nowhere", index=":memory:", config=config) as engine:
            assert engine.list_sessions() == []
            assert engine.search_sessions("x").items == []
