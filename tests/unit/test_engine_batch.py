"""The conformance protocol: requests in, results out, whatever they hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, row, write

from palimpsest_core.batch import JobError, results_text, run_job
from palimpsest_core.batch.text import as_doubles

END = {"turn": 1, "reason": {"kind": "completed"}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    for number, session_id in enumerate(("one", "two", "three")):
        rows = [header(session_id=session_id, createdAt=number), row(0), prompt(1, "needle"), row(2, "turn/end", END)]
        write(place, frames(rows), session_id=session_id)
    return place


def ask(root: Path, *requests: dict[str, Any], **config: Any) -> list[dict[str, Any]]:
    numbered = [{"id": number, **request} for number, request in enumerate(requests)]
    return run_job({"root": str(root), "index_path": ":memory:", "config": config, "requests": numbered})


def code(result: dict[str, Any]) -> Any:
    return result["error"]["code"]


def test_each_request_gets_one_result_with_its_id(root: Path) -> None:
    results = ask(root, {"op": "listSessions"}, {"op": "listEvents", "args": {"sessionId": "absent"}})
    assert [result["id"] for result in results] == [0, 1]
    assert [item["header"]["id"] for item in results[0]["value"]] == ["three", "two", "one"]
    assert code(results[1]) == "SESSION_QUERY_SESSION_NOT_FOUND"


@pytest.mark.parametrize("op", ["nope", "$nope", "tool:nope", "", "list_sessions"])
def test_an_operation_that_is_not_offered_says_so(root: Path, op: str) -> None:
    assert code(ask(root, {"op": op})[0]) == "PROTOCOL_UNKNOWN_OP"


def test_a_config_that_is_refused_answers_every_request(root: Path) -> None:
    results = ask(root, {"op": "listSessions"}, {"op": "searchEvents", "args": {}}, {"op": "nope"}, maxLimit=0)
    assert [code(result) for result in results] == [
        "SESSION_QUERY_INVALID_CONFIG",
        "SESSION_QUERY_INVALID_CONFIG",
        "PROTOCOL_UNKNOWN_OP",
    ]


def test_a_cursor_may_stand_for_that_of_an_earlier_result(root: Path) -> None:
    search = {"op": "searchSessions", "args": {"query": "needle", "limit": 2}}
    results = ask(
        root,
        search,
        {"op": search["op"], "args": {**search["args"], "cursor": {"$cursorOf": 0}}},
        {"op": search["op"], "args": {**search["args"], "cursor": {"$cursorOf": 1}}},
        {"op": search["op"], "args": {**search["args"], "cursor": {"$cursorOf": "none"}}},
        {"op": search["op"], "args": {**search["args"], "cursor": {"$cursorOf": 0, "reversed": True}}},
        {"op": search["op"], "args": {**search["args"], "cursor": None}},
    )
    assert len(results[1]["value"]["items"]) == 1
    assert "nextCursor" not in results[1]["value"]
    assert [code(result) for result in results[2:]] == [
        "PROTOCOL_NO_CURSOR",
        "PROTOCOL_NO_CURSOR",
        "SESSION_QUERY_INVALID_CURSOR",
        "SESSION_QUERY_INVALID_CURSOR",
    ]


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_cancelled_request_is_aborted_after_its_arguments_were_checked(root: Path, when: str) -> None:
    results = ask(
        root,
        {"op": "listSessions", "cancel": when},
        {"op": "searchSessions", "args": {"query": "needle"}, "cancel": when},
        {"op": "searchSessions", "args": {"query": " "}, "cancel": when},
        {"op": "filterSessions", "args": {"filters": [{"kind": "nope"}]}, "cancel": when},
        {"op": "readEvent", "args": {"sessionId": "absent", "seq": 0, "before": -1}, "cancel": when},
        {"op": "listSessions"},
    )
    assert [code(result) for result in results[:5]] == [
        "SESSION_QUERY_ABORTED",
        "SESSION_QUERY_ABORTED",
        "SESSION_QUERY_INVALID_QUERY",
        "SESSION_QUERY_INVALID_FILTER",
        "SESSION_QUERY_INVALID_WINDOW",
    ]
    assert "value" in results[5]


def test_control_operations_change_the_root(root: Path, tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    write(extra, frames([header(session_id="four", createdAt=9), row(0)]), session_id="four")
    path = "--srv-a--/one/session.jsonl.zstd"
    before = os.stat(root / path).st_mtime_ns
    results = ask(
        root,
        {"op": "$overlay", "args": {"from": str(extra)}},
        {"op": "listSessions"},
        {"op": "$touch", "args": {"path": path}},
        {"op": "$remove", "args": {"path": "--srv-a--/two"}},
        {"op": "listSessions"},
        {"op": "$unmount"},
        {"op": "listSessions"},
        {"op": "$unmount"},
        {"op": "$mount"},
        {"op": "$mount"},
        {"op": "$reopen", "args": {"config": {"defaultLimit": 1}}},
        {"op": "searchSessions", "args": {"query": "needle"}},
    )
    listed = [[item["header"]["id"] for item in results[place]["value"]] for place in (1, 4, 6)]
    assert listed == [["four", "three", "two", "one"], ["four", "three", "one"], []]
    assert os.stat(root / path).st_mtime_ns - before == 1_000_000_000
    assert [result.get("value", "refused") for result in (results[5], results[7], results[8], results[9])] == [
        None,
        "refused",
        None,
        "refused",
    ]
    assert code(results[7]) is None
    assert len(results[11]["value"]["items"]) == 1


@pytest.mark.parametrize("path", ["..", ".", "", "../outside", "/etc/passwd", None, 5])
def test_no_control_operation_leaves_the_root(root: Path, tmp_path: Path, path: Any) -> None:
    (tmp_path / "outside").mkdir()
    assert code(ask(root, {"op": "$remove", "args": {"path": path}})[0]) is None
    assert (tmp_path / "outside").is_dir()
    assert root.is_dir()


def test_live_sessions_take_values_that_json_cannot_spell_only_to_refuse_them(root: Path) -> None:
    names = ["nan", "infinity", "negativeZero", "cycle", "object", "unheard-of"]
    requests = [{"op": "$liveCreate", "args": {"id": "live", "now": 5}}]
    for name in names:
        event = {"type": "hook/invoked", "data": {"held": [{"$value": name}]}}
        requests.append({"op": "$liveAppend", "args": {"id": "live", "events": [event], "now": 6}})
    sound = {"type": "turn/start", "data": {"turn": 1}}
    requests.append({"op": "$liveAppend", "args": {"id": "live", "events": [sound, sound], "now": 7, "tick": 2}})
    requests.append({"op": "listEvents", "args": {"sessionId": "live"}})
    *refused, appended, listed = ask(root, *requests)[1:]
    assert [code(result) for result in refused] == [None] * len(names)
    assert appended["value"] is None
    assert [(item["seq"], item["time"]) for item in listed["value"]] == [(0, 7), (1, 9)]


def test_a_job_goes_on_after_arguments_of_the_wrong_shape(root: Path) -> None:
    results = ask(
        root,
        {"op": "$liveAppend", "args": {"id": "x"}},
        {"op": "$liveFork", "args": {}},
        {"op": "readTitleSnapshots", "args": {"sessionIds": 5}},
        {"op": "listSessions", "args": None},
    )
    assert [code(result) for result in results[:3]] == [None] * 3
    assert len(results[3]["value"]) == 3


def test_what_json_does_not_have_is_printed_as_null_and_lone_halves_are_escaped() -> None:
    assert results_text([float("inf"), 1.0, "\ud83d", "é"]) == '[null,1,"\\ud83d","\\u00e9"]'
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert results_text({"a": deep, "b": 1}) == '{"a":' + "[" * 100_001 + "]" * 100_001 + ',"b":1}'


def test_numbers_beyond_the_safe_range_are_printed_as_the_doubles_they_are_there() -> None:
    given = [2**53 + 1, -(2**53) - 1, 123456789012345683968, 1.2345678901234568e20, 1e300, 2**53 - 1, True]
    assert as_doubles({"a": given})["a"] == [
        *(2**53, -(2**53), 123456789012345680000, 123456789012345680000),
        *(1e300, 2**53 - 1, True),
    ]


def test_the_module_answers_a_job_on_its_standard_input(root: Path) -> None:
    job = {"root": str(root), "index_path": ":memory:", "requests": [{"id": "x", "op": "listSessions"}]}
    command = [sys.executable, "-m", "palimpsest_core.batch"]
    done = subprocess.run(command, input=json.dumps(job).encode(), capture_output=True, check=True)
    assert len(json.loads(done.stdout)[0]["value"]) == 3


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ([], ["The job must be a JSON object"]),
        ({}, ["no root", "no index_path", "no requests"]),
        ({"root": 1, "index_path": None, "config": [], "requests": {}}, ["root", "index_path", "config", "requests"]),
        ({"root": "r", "index_path": "i", "requests": [1, {}, {"id": 7}]}, ["Request 0", "Request 1", "Request 7"]),
    ],
)
def test_what_is_no_job_is_told_key_by_key(job: Any, told: list[str]) -> None:
    with pytest.raises(JobError) as raised:
        run_job(job)
    assert len(raised.value.problems) == len(told)
    for problem, part in zip(raised.value.problems, told, strict=True):
        assert part in problem
