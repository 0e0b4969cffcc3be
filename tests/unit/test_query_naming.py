"""Sessions are found by title, prompt, id, working directory and path."""

from __future__ import annotations

from palimpsest_core.model.session import SessionState, SessionSummary
from palimpsest_core.query.naming import named_sessions


def row(name: str, last_time: int = 0, **more: str) -> SessionSummary:
    path = more.pop("path", f"/root/--p--/{name}/session.jsonl")
    return SessionSummary(name, path, SessionState.COMPLETE, last_time=last_time, **more)


def test_every_name_of_a_session_finds_it_latest_first() -> None:
    rows = [
        row("s1", 1, title="Fix the Parser"),
        row("s2", 5, title="Other", first_prompt="fix  the parser please"),
        row("fix-the-parser", 3),
        row("s4", 2, project="/home/mo/fix the parser"),
        row("s5", 4, path="/odd/Fix The Parser/session.jsonl"),
        row("s6", 9, title="unrelated"),
    ]
    found = named_sessions(rows, " fix the\nPARSER ")
    assert [(named.summary.id, named.where) for named in found] == [
        ("s2", "prompt"),
        ("s5", "path"),
        ("s4", "project"),
        ("s1", "title"),
    ]
    assert [named.where for named in named_sessions(rows, "fix-the")] == ["id"]


def test_a_blank_text_finds_nothing() -> None:
    assert named_sessions([row("s1", title="x")], " \n") == []
