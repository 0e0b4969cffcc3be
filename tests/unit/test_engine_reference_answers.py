"""What the reference answered to questions that no corpus asks; every value here was recorded from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, header, prompt, row, write

from palimpsest_core.batch import run_job


def ask(root: Path, *requests: dict[str, Any], **config: Any) -> list[Any]:
    """The value or error code of each request, from a strict engine."""
    numbered = [{"id": str(number), **request} for number, request in enumerate(requests)]
    results = run_job({"root": str(root), "index_path": ":memory:", "config": config, "requests": numbered})
    return [result["value"] if "value" in result else result["error"]["code"] for result in results]


def title_of(root: Path, data: Any) -> Any:
    """The title that a log with one sound title and then one with this payload has."""
    sound = row(0, "session/title", {"title": "first", "messageSeqs": [], "source": {"kind": "user"}})
    write(root, frame(header()) + frame(sound, {**row(1, "session/title"), "data": data}))
    (answer,) = ask(root, {"op": "readTitle", "args": {"sessionId": "sess"}})
    return answer


USER = {"kind": "user"}


@pytest.mark.parametrize("title", [5, None, True, {}, [1], ""])
def test_a_title_is_told_whatever_its_type(tmp_path: Path, title: Any) -> None:
    told = title_of(tmp_path, {"title": title, "messageSeqs": [0], "source": USER})
    assert told == {"title": title, "messageSeqs": [0], "source": USER, "eventSeq": 1, "updatedAt": 1001}


def test_a_title_that_is_missing_stays_missing(tmp_path: Path) -> None:
    told = title_of(tmp_path, {"messageSeqs": [0], "source": USER})
    assert told == {"messageSeqs": [0], "source": USER, "eventSeq": 1, "updatedAt": 1001}


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "x",
        [],
        {"title": "a"},
        {"title": "a", "messageSeqs": []},
        {"title": "a", "messageSeqs": {}, "source": USER},
        {"title": "a", "messageSeqs": 5, "source": USER},
        {"title": "a", "messageSeqs": [], "source": "provider"},
        {"title": "a", "messageSeqs": "x", "source": {"kind": "odd"}},
    ],
)
def test_a_last_title_that_cannot_be_told_is_a_fault_even_after_a_sound_one(tmp_path: Path, data: Any) -> None:
    assert title_of(tmp_path, data) == "SESSION_QUERY_CORRUPT_SESSION"


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("ab", {"0": "a", "1": "b"}),
        ("", {}),
        ("\U0001f600", {"0": "\ud83d", "1": "\ude00"}),
        ([1, "x"], {"0": 1, "1": "x"}),
        ({"a": 1, "b": None}, {"a": 1, "b": None}),
        (5, {}),
        (None, {}),
        (True, {}),
    ],
)
def test_the_model_of_a_title_is_told_as_an_object(tmp_path: Path, model: Any, told: Any) -> None:
    source = {"kind": "provider", "provider": "p", "model": model, "other": 1}
    answer = title_of(tmp_path, {"title": "a", "messageSeqs": [], "source": source})
    assert answer["source"] == {"kind": "provider", "provider": "p", "model": told}


def test_the_message_seqs_of_a_title_may_be_a_text(tmp_path: Path) -> None:
    answer = title_of(tmp_path, {"title": "a", "messageSeqs": "\U0001f600x", "source": USER})
    assert answer["messageSeqs"] == ["\U0001f600", "x"]


READS = ("listEvents", "readSession", "readSurface", "readTitle", "readTitleSnapshot", "readEvent", "traceEvent")
NO_IDS = (None, 5, [], {}, True)


@pytest.mark.parametrize("op", [*READS, "filterEvents", "traceSession"])
def test_an_id_that_is_no_text_is_found_to_be_absent_only_after_the_root_was_listed(tmp_path: Path, op: str) -> None:
    requests = [{"op": op, "args": {"sessionId": each, "filters": [], "seq": 0}} for each in NO_IDS]
    write(tmp_path, frame(header()))
    assert ask(tmp_path, *requests) == ["SESSION_QUERY_SESSION_NOT_FOUND"] * len(NO_IDS)
    write(tmp_path, frame(header(session_id="other", cwd="/elsewhere")), session_id="moved")
    assert ask(tmp_path, *requests) == ["SESSION_QUERY_PERSISTENCE_FAILED"] * len(NO_IDS)
    assert ask(tmp_path, *requests, mounted=False) == ["SESSION_QUERY_SESSION_NOT_FOUND"] * len(NO_IDS)


def test_title_snapshots_settle_ids_of_any_kind_each_distinct_one_once(tmp_path: Path) -> None:
    ids = [1, True, 1.0, None, None, "1", [], []]
    (settled,) = ask(tmp_path, {"op": "readTitleSnapshots", "args": {"sessionIds": ids}})
    assert [each["sessionId"] for each in settled] == [1, True, None, "1", [], []]
    assert {each["reason"]["code"] for each in settled} == {"SESSION_QUERY_SESSION_NOT_FOUND"}


@pytest.mark.parametrize(("ids", "told"), [(None, []), ("", []), ({}, None), (5, None), (True, None)])
def test_title_snapshots_of_what_cannot_be_gone_through_are_refused(tmp_path: Path, ids: Any, told: Any) -> None:
    assert ask(tmp_path, {"op": "readTitleSnapshots", "args": {"sessionIds": ids}}) == [told]


def test_an_empty_cursor_is_looked_at_after_the_corpus_like_every_other(tmp_path: Path) -> None:
    search = {"query": "x", "cursor": ""}
    absent, corpus = ({"sessionId": "absent", **search}, search)
    requests = ({"op": "searchEvents", "args": absent}, {"op": "searchSessions", "args": corpus})
    assert ask(tmp_path, *requests) == ["SESSION_QUERY_SESSION_NOT_FOUND", "SESSION_QUERY_INVALID_CURSOR"]
    write(tmp_path, frame(header(version=7)))
    assert ask(tmp_path, *requests) == ["SESSION_QUERY_PERSISTENCE_FAILED"] * 2


def created(name: str, *events: dict[str, Any]) -> list[dict[str, Any]]:
    """Operations that make a live session and append these events to it."""
    head = {"cwd": "/srv/a", "version": 3, "sandboxMode": "x", "other": 1}
    return [
        {"op": "$liveCreate", "args": {"id": name, "header": head, "now": 5}},
        {"op": "$liveAppend", "args": {"id": name, "events": list(events), "now": 6}},
    ]


def event(kind: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, **more}


SOUND = event("user/message", prompt(0, "x")["data"], surfaceOp="append")
NAMELESS = event("user/message", {**SOUND["data"], "id": 5}, surfaceOp="append")
NO_HEADER = event("request/header", {"header": {}})


def test_unknown_keys_of_a_live_header_and_marks_of_a_live_append_are_passed_over(tmp_path: Path) -> None:
    read = {"op": "readSession", "args": {"sessionId": "live"}}
    *_, told = ask(tmp_path, *created("live", event("turn/start", {"turn": 1}, ignorable=5, seq=7, other=1)), read)
    assert told["session"] == {"version": 0, "id": "live", "createdAt": 5, "cwd": "/srv/a"}
    assert told["events"] == [{"type": "turn/start", "seq": 0, "time": 6, "data": {"turn": 1}}]


def test_an_append_without_data_is_refused_and_those_before_it_stay(tmp_path: Path) -> None:
    count = {"op": "readSurface", "args": {"sessionId": "live"}}
    _, refused, told = ask(tmp_path, *created("live", SOUND, {"type": "turn/start"}, SOUND), count)
    assert refused is None
    assert told["capturedThroughSeq"] == 0


def test_a_malformed_message_of_a_live_session_fails_the_reads_that_would_show_it(tmp_path: Path) -> None:
    def read(op: str, **more: Any) -> dict[str, Any]:
        return {"op": op, "args": {"sessionId": "live", **more}}

    refused = [
        read("readSession"),
        read("readSurface"),
        read("readEvent", seq=1),
        read("readEvent", seq=0, after=1),
        read("readEvent", seq=2, before=2),
    ]
    fine = [
        read("readEvent", seq=2),
        read("listEvents"),
        read("traceEvent", seq=1),
        read("filterEvents", filters=[]),
        read("readTitle"),
        {"op": "searchSessions", "args": {"query": "x"}},
    ]
    answers = ask(tmp_path, *created("live", SOUND, NAMELESS, SOUND), *refused, *fine)[2:]
    assert answers[: len(refused)] == ["SESSION_QUERY_CORRUPT_SESSION"] * len(refused)
    assert not [answer for answer in answers[len(refused) :] if isinstance(answer, str)]


def test_a_live_session_that_could_not_be_a_seed_cannot_be_read_as_a_whole(tmp_path: Path) -> None:
    reads = [{"op": op, "args": {"sessionId": "live", "seq": 1}} for op in ("readSession", "readSurface", "readEvent")]
    answers = ask(tmp_path, *created("live", SOUND, NO_HEADER), *reads)[2:]
    assert answers[0] == "SESSION_QUERY_CORRUPT_SESSION"
    assert [answer["session"]["id"] for answer in answers[1:]] == ["live", "live"]


@pytest.mark.parametrize("kind", [5, None, [1], {}, True])
@pytest.mark.parametrize(
    ("others", "ignorable", "code"),
    [
        ({}, {}, "PERSISTENCE_FAILED"),
        ({}, {"ignorable": True}, "CORRUPT_SESSION"),
        ({2: {"type": "x/y", "data": {}}}, {"ignorable": True}, "PERSISTENCE_FAILED"),
        ({0: NAMELESS}, {}, "CORRUPT_SESSION"),
        ({2: NAMELESS}, {}, "CORRUPT_SESSION"),
    ],
)
def test_a_row_whose_type_is_no_text_is_an_unknown_event_among_the_faults_of_a_log(
    tmp_path: Path, kind: Any, others: dict[int, Any], ignorable: dict[str, Any], code: str
) -> None:
    rows = [SOUND, {"type": kind, "data": {}, **ignorable}, SOUND]
    stored = [{**others.get(seq, each), "seq": seq, "time": 5} for seq, each in enumerate(rows)]
    write(tmp_path, frame(header()) + frame(*stored))
    assert ask(tmp_path, {"op": "readSession", "args": {"sessionId": "sess"}}) == [f"SESSION_QUERY_{code}"]


def test_a_tool_looks_at_negative_numbers_before_it_asks_who_calls(tmp_path: Path) -> None:
    numbers = [{"op": "tool:session_event_read", "args": {"seq": seq}} for seq in (-1, 1)]
    search = {"op": "tool:session_event_search", "args": {"query": " ", "seq_from": -1}}
    assert ask(tmp_path, *numbers, search) == [
        "SESSION_QUERY_INVALID_FILTER",
        "SESSION_QUERY_TOOL_MISSING_AGENT",
        "SESSION_QUERY_TOOL_MISSING_AGENT",
    ]


@pytest.mark.parametrize(
    ("argument", "before_the_step"),
    [
        ({"query": " "}, "SESSION_QUERY_INVALID_QUERY"),
        ({"seq_from": -1}, "SESSION_QUERY_INVALID_FILTER"),
        ({"seq_from": 5, "seq_to": 1}, "SESSION_QUERY_INVALID_FILTER"),
        ({"event_types": []}, "SESSION_QUERY_TOOL_NO_CURRENT_STEP"),
        ({"surfaces": []}, "SESSION_QUERY_TOOL_NO_CURRENT_STEP"),
        ({"time_from": "x"}, "SESSION_QUERY_TOOL_NO_CURRENT_STEP"),
    ],
)
def test_a_search_of_the_callers_own_events_looks_for_the_step_after_query_and_numbers(
    tmp_path: Path, argument: dict[str, Any], before_the_step: str
) -> None:
    caller = {"op": "$caller", "args": {"sessionId": "live"}}
    search = {"op": "tool:session_event_search", "args": {"query": "x", **argument}}
    assert ask(tmp_path, *created("live", SOUND), caller, search)[-1] == before_the_step


def test_nulls_of_live_operations_are_refused_except_the_time_of_creation(tmp_path: Path) -> None:
    def create(**more: Any) -> dict[str, Any]:
        return {"op": "$liveCreate", "args": {"id": "other", "now": 5, **more}}

    fork = {"op": "$liveFork", "args": {"from": "live", "id": "fork", "now": 9, "boundary": None}}
    results = run_job(
        {
            "root": str(tmp_path),
            "index_path": ":memory:",
            "requests": [
                {"id": number, **request}
                for number, request in enumerate(
                    [
                        *created("live", SOUND),
                        fork,
                        *(create(seed=seed) for seed in (None, "", {}, 5)),
                        *(create(header={key: None}) for key in ("cwd", "parentSession", "seedLength", "origin")),
                        create(header={"createdAt": None}),
                    ]
                )
            ],
        }
    )
    assert ["value" in result for result in results] == [True, True, *[False] * 9, True]


def test_a_live_event_without_its_text_fails_a_tools_search_without_a_reason(tmp_path: Path) -> None:
    caller = {"op": "$caller", "args": {"sessionId": "live"}}
    search = {"op": "tool:session_search", "args": {"query": "x"}}
    answers = ask(tmp_path, *created("live", event("tool/call", {"name": "n"})), caller, search)
    assert answers[-1] == "SESSION_QUERY_TOOL_FAILED"


def test_minus_zero_is_a_time_that_only_the_whole_session_cannot_be_read_with(tmp_path: Path) -> None:
    write(tmp_path, frame(header()) + frame({**SOUND, "seq": 0, "time": -0.0}))
    reads = [{"op": op, "args": {"sessionId": "sess", "seq": 0}} for op in ("listEvents", "readSurface", "readEvent")]
    listed, *others, whole = ask(tmp_path, *reads, {"op": "readSession", "args": {"sessionId": "sess"}})
    assert listed[0]["time"] == 0
    assert not [answer for answer in others if isinstance(answer, str)]
    assert whole == "SESSION_QUERY_CORRUPT_SESSION"


@pytest.mark.parametrize("key", ["compression", "openAt", "journalMode", "defaultLimit", "maxLimit", "readWindowMax"])
def test_a_null_setting_of_the_engine_is_an_absent_one(tmp_path: Path, key: str) -> None:
    write(tmp_path, frame(header()))
    config: dict[str, Any] = {key: None}
    (listed,) = ask(tmp_path, {"op": "listSessions"}, **config)
    assert [record["header"]["id"] for record in listed] == ["sess"]
    assert ask(tmp_path, {"op": "listSessions"}, mounted=None) == [[]]


ASKS = {
    "message": {
        "id": "a",
        "role": "assistant",
        "content": [{"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}],
        "source": {"kind": "model", "provider": "p", "model": "m"},
    }
}


def open_log(root: Path, *events: dict[str, Any]) -> tuple[Any, Any]:
    """What `readSession` and `listEvents` say of a log that ends in these events."""
    write(root, frame(header()) + frame(*({**each, "seq": seq, "time": 5} for seq, each in enumerate(events))))
    read, listed = ask(root, *({"op": op, "args": {"sessionId": "sess"}} for op in ("readSession", "listEvents")))
    return read, listed


TURN, STEP = event("turn/start", {"turn": 1}), event("step/start", {"turn": 1, "step": 1})


@pytest.mark.parametrize(
    "events",
    [
        *([event("turn/start", data)] for data in ({}, [1], 5, "x", True, [])),
        *([TURN, event("step/start", data)] for data in ({}, {"turn": 1}, [1], 5, "x", True)),
        [TURN, STEP, event("assistant/message", {"turn": 1, **ASKS}, surfaceOp="append")],
    ],
)
def test_an_open_turn_without_numbers_is_closed_for_every_read_but_that_of_the_whole(
    tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    read, listed = open_log(tmp_path, *events)
    assert read == "SESSION_QUERY_CORRUPT_SESSION"
    assert listed[-1]["type"] == "turn/end"


def test_the_result_of_an_open_call_has_the_null_that_its_step_is(tmp_path: Path) -> None:
    asked = event("assistant/message", {"turn": 1, "step": None, **ASKS}, surfaceOp="append")
    read, _ = open_log(tmp_path, TURN, STEP, asked)
    closers = read["events"][3:]
    assert [(each["type"], each["data"]["turn"], each["data"].get("step")) for each in closers] == [
        ("tool/result", 1, None),
        ("step/end", 1, 1),
        ("turn/end", 1, None),
    ]
    assert "step" in closers[0]["data"]
