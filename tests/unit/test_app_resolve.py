"""Filter words against the sessions that are known: what is left, what the engine is asked, what is wrong."""

from __future__ import annotations

import pytest

from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Lineage, SessionState, SessionSummary
from palimpsest_tui.searching.resolve import Resolved, resolve
from palimpsest_tui.searching.vocabulary import vocabulary
from palimpsest_tui.searching.words import read_words

DAY = 86_400_000
NOW = 1_790_000_000_000


def session(session_id: str, **fields: object) -> SessionSummary:
    cwd = fields.pop("cwd", None)
    header = Header(version=0, id=session_id, created_at=NOW, cwd=cwd)  # type: ignore[arg-type]
    known = {"state": SessionState.COMPLETE, "header": header, "last_time": NOW, "created_at": NOW, **fields}
    return SessionSummary(id=session_id, path=f"/r/{session_id}", **known)  # type: ignore[arg-type]


SESSIONS = [
    session("aa-1", project="web", cwd="/home/u/web", model="deepseek-v4"),
    session("ab-2", project="api", cwd="/home/u/api", parent="aa-1", lineage=Lineage.FORK),
    session("ac-3", project="api", parent="ab-2", lineage=Lineage.SUBAGENT_FRESH, state=SessionState.ACTIVE),
    session("b-4", last_time=NOW - 30 * DAY, created_at=NOW - 40 * DAY, state=SessionState.DAMAGED),
]


def left(text: str) -> list[str]:
    return [found.id for found in asked(text).sessions(SESSIONS)]


def asked(text: str) -> Resolved:
    return resolve(read_words(text), SESSIONS, NOW)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", ["aa-1", "ab-2", "ac-3", "b-4"]),
        ("project:ap", ["ab-2", "ac-3"]),
        ("project:HOME/u", ["aa-1", "ab-2"]),
        ("-project:api", ["aa-1", "b-4"]),
        ("project:web project:api", ["aa-1", "ab-2", "ac-3"]),
        ("project:api is:active", ["ac-3"]),
        ("is:root", ["aa-1", "b-4"]),
        ("is:fork", ["ab-2"]),
        ("is:sub", ["ac-3"]),
        ("is:damaged", ["b-4"]),
        ("-is:root -is:sub", ["ab-2"]),
        ("id:A", ["aa-1", "ab-2", "ac-3"]),
        ("parent:ab", ["ac-3"]),
        ("model:v4", ["aa-1"]),
        ("since:7d", ["aa-1", "ab-2", "ac-3"]),
        ("until:20d", ["b-4"]),
        ("-since:7d", ["b-4"]),
    ],
)
def test_session_words_leave_the_right_sessions(text: str, ids: list[str]) -> None:
    assert left(text) == ids


def test_event_words_become_filters_of_the_engine() -> None:
    found = asked("x is:current is:log type:user/message")
    assert {"kind": "surface", "values": ["current", "log-only"]} in found.event_filters
    assert {"kind": "type", "values": ["user/message"]} in found.event_filters
    assert found.test is None


def test_excluded_surfaces_leave_the_others() -> None:
    assert asked("x -is:shadowed").event_filters == [{"kind": "surface", "values": ["current", "log-only", "withheld"]}]


def test_a_part_of_a_type_names_all_types_that_hold_it() -> None:
    values = asked("x type:compaction").event_filters[0]["values"]
    assert "compaction/summary" in values
    assert "user/message" not in values


def test_days_bound_the_events_when_there_are_words() -> None:
    found = asked("x since:2026-01-01 until:2026-01-31")
    (clause,) = found.event_filters
    assert clause["kind"] == "time"
    assert clause["from"] < clause["to"]
    assert found.test is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("project:nowhere", "no such project"),
        ("since:soon", "no such day"),
        ("type:nonsense", "no such type"),
        ("is:blue", "one of current"),
        ("since:today until:yesterday", "ends before it begins"),
    ],
)
def test_invalid_words_take_no_part_and_say_why(text: str, reason: str) -> None:
    found = asked(text)
    assert any(reason in problem for problem in found.problems.values())
    assert len(found.sessions(SESSIONS)) == len(SESSIONS)


def test_the_vocabulary_knows_the_projects_most_frequent_first() -> None:
    assert vocabulary(SESSIONS)["project"] == ["api", "web"]
    assert vocabulary(SESSIONS)["parent"] == ["aa-1", "ab-2"]
