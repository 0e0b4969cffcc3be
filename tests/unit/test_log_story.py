"""Titles, turns, token counts, lineage and gists."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.log.gist import gist
from palimpsest_core.log.lineage import CutFinder, inherited_cut, lineage_of
from palimpsest_core.log.titles import (
    TitleFold,
    UnreadableTitle,
    current_title,
    is_inherited,
    reference_title,
    short_title,
    title_source,
)
from palimpsest_core.log.turns import TurnIndex, turns_of
from palimpsest_core.log.usage import Usage, UsageTotals, parse_usage, usage_of
from palimpsest_core.model.event import Event
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Lineage


def log(*rows: tuple[str, Any]) -> list[Event]:
    return [Event(kind, seq, 100 + seq, data) for seq, (kind, data) in enumerate(rows)]


def prompt(text: str, kind: str = "user") -> tuple[str, Any]:
    return "user/message", {"content": [{"type": "text", "text": text}], "source": {"kind": kind}}


def title(text: Any, kind: str = "user", **more: Any) -> tuple[str, Any]:
    return "session/title", {"title": text, "messageSeqs": [0], "source": {"kind": kind, **more}}


class TestTitles:
    def test_the_last_one_counts_whoever_wrote_it(self) -> None:
        events = log(title("first", "fallback"), title("second", "provider", provider="p", secret=1), title(5))
        found = current_title(events)
        assert found is not None
        assert (found.title, found.event_seq, found.updated_at) == ("second", 1, 101)
        assert found.source == {"kind": "provider", "provider": "p"}
        assert title_source(found) == "provider"

    def test_one_before_the_cut_names_the_ancestor(self) -> None:
        found = current_title(log(title("parent's")))
        assert found is not None
        assert is_inherited(found, 1)
        assert not is_inherited(found, 0)
        assert not is_inherited(found, None)

    def test_without_one_the_first_human_prompt_stands_in(self) -> None:
        fold = TitleFold()
        for event in log(prompt("injected", "plugin"), prompt(" \t"), prompt("Fix the\nbuild"), prompt("later")):
            fold.push(event)
        assert fold.shown == "Fix the build"
        fold.push(log(title("Named"))[0])
        assert fold.shown == "Named"

    def test_what_the_reference_cannot_read_is_said(self) -> None:
        (good, bad, odd) = log(title("a"), ("session/title", {"title": "b"}), title("c", "acme"))
        assert reference_title(good).title == "a"
        with pytest.raises(UnreadableTitle, match="does not list"):
            reference_title(bad)
        with pytest.raises(UnreadableTitle, match="unknown kind"):
            reference_title(odd)

    @pytest.mark.parametrize(
        ("text", "short"),
        [
            ("plain", "plain"),
            ("\x1b[31mred\x1b[0m \x1b]0;x\x07bell\x00", "red bell"),
            ("word " * 40, "word " * 14 + "word…"),
            ("x" * 100, "x" * 77 + "…"),
            ("é" * 60, "é" * 38 + "…"),
            ("\ud800 half", "\ud800 half"),
        ],
    )
    def test_a_prompt_becomes_one_short_line(self, text: str, short: str) -> None:
        assert short_title(text) == short
        assert len(short.encode("utf-8", "replace")) <= 80


class TestTurns:
    ROWS = (
        ("turn/start", {"turn": 1}),
        prompt("injected", "plugin"),
        prompt("go"),
        ("step/start", {"turn": 1, "step": 1}),
        ("step/end", {"turn": 1, "step": 1}),
        ("step/start", {"turn": 1, "step": 2}),
        ("turn/end", {"turn": 1, "reason": {"kind": "aborted"}}),
        ("session/title", {"title": "t"}),
        ("turn/start", {"turn": 2}),
        ("step/start", {"turn": 2, "step": 1}),
    )

    def test_turns_know_their_steps_prompt_and_end(self) -> None:
        first, second = turns_of(log(*self.ROWS))
        assert (first.number, first.first_seq, first.last_seq, first.reason, first.prompt_seq) == (
            1,
            0,
            6,
            "aborted",
            2,
        )
        assert [(step.number, step.first_seq, step.last_seq) for step in first.steps] == [(1, 3, 4), (2, 5, 6)]
        assert (second.number, second.last_seq, second.reason, second.prompt_seq) == (2, None, None, None)

    def test_what_stands_between_turns_belongs_to_none(self) -> None:
        index = TurnIndex()
        for event in log(*self.ROWS):
            index.push(event)
        places = [index.turn_at(seq) for seq in range(-1, 12)]
        assert [turn.number if turn else None for turn in places] == [None, *[1] * 7, None, 2, 2, 2, 2]

    def test_a_turn_that_never_ended_ends_where_the_next_begins(self) -> None:
        first, second = turns_of(log(("turn/start", {}), ("step/start", {}), ("turn/start", {"turn": 2.0})))
        assert (first.number, first.last_seq, first.steps[0].last_seq) == (None, 1, 1)
        assert second.number == 2


COUNTS = {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 3}


class TestUsage:
    def test_holes_and_nonsense_are_nobody_s_count(self) -> None:
        assert parse_usage(None) is None
        assert parse_usage({"inputTokens": None, "outputTokens": "5", "totalTokens": -1}) is None
        assert parse_usage({"inputTokens": 2.0, "outputTokens": True}) == Usage(input=2)

    def test_the_reported_total_wins_over_the_sum(self) -> None:
        assert parse_usage(COUNTS) == Usage(10, 5, 3)
        assert Usage(10, 5, 3).total == 18
        assert Usage(10, 5, reported_total=99).total == 99
        assert (Usage(10) + Usage(output=5, reported_total=7)).total == 17

    def test_a_request_that_is_reported_twice_counts_once(self) -> None:
        chunk = ("assistant/chunk", {"chunk": {"type": "usage", "usage": COUNTS}})
        message = ("assistant/message", {"usage": COUNTS, "message": {}})
        totals = UsageTotals()
        for event in log(chunk, message, chunk, ("assistant/message", {}), chunk, ("llm/retry", {}), ("step/end", {})):
            totals.push(event)
        assert totals.requests == 3
        assert totals.total.input == 30

    def test_an_attempt_was_paid_for_too(self) -> None:
        stream = [{"type": "chunk", "chunk": {"type": "usage", "usage": COUNTS}}]
        (attempt, message) = log(("assistant/attempt", {"stream": stream}), ("assistant/message", {"stream": stream}))
        assert usage_of(attempt) == usage_of(message) == Usage(10, 5, 3)
        totals = UsageTotals()
        totals.push(attempt)
        totals.push(message)
        assert totals.settle() is None
        assert totals.total.total == 36


def header(version: int = 0, **more: Any) -> Header:
    return Header(version=version, id="s", created_at=0, **more)


class TestLineage:
    @pytest.mark.parametrize(
        ("head", "kind"),
        [
            (header(), Lineage.ORDINARY),
            (header(origin="automation"), Lineage.ORDINARY),
            (header(parent_session="p", seed_length=0), Lineage.FORK),
            (header(4, parent_session="p", is_seeded=True), Lineage.FORK),
            (
                header(4, parent_session="p", is_seeded=False, origin="subagent", delegation_depth=1),
                Lineage.SUBAGENT_FRESH,
            ),
            (header(parent_session="p", seed_length=3, origin="subagent", delegation_depth=2), Lineage.SUBAGENT_FORKED),
            (header(parent_session="p"), None),
            (header(seed_length=3), None),
            (header(origin="subagent"), None),
        ],
    )
    def test_the_header_tells_the_kind(self, head: Header, kind: Lineage | None) -> None:
        assert lineage_of(head) is kind

    def test_old_headers_count_and_markers_say_nothing(self) -> None:
        events = log(("session/end-seed", {}), ("turn/start", {}), ("session/end-seed", {"inherited": True}))
        assert inherited_cut(header(1, seed_length=1), events) == 1
        assert inherited_cut(header(1), events) is None

    def test_new_logs_are_cut_at_the_last_tagged_marker(self) -> None:
        tagged, plain = ("session/end-seed", {"inherited": True}), ("session/end-seed", {})
        events = log(("turn/start", {}), tagged, ("turn/end", {}), tagged, plain)
        assert inherited_cut(header(2, is_seeded=True), events) == 3

    @pytest.mark.parametrize(
        ("head", "rows", "missing"),
        [
            (header(3, is_seeded=True), (), True),
            (header(3, is_seeded=False), (("session/end-seed", {"inherited": True}),), True),
            (header(3, is_seeded=False), (("session/end-seed", {}),), False),
            (header(0, seed_length=2), (("turn/start", {}),), True),
            (header(0, seed_length=1), (("turn/start", {}),), False),
        ],
    )
    def test_a_cut_that_contradicts_the_log_is_said(self, head: Header, rows: Any, missing: bool) -> None:
        finder = CutFinder(head)
        for event in log(*rows):
            finder.push(event)
        assert finder.missing is missing


GISTS = [
    (prompt("Fix\n the  build"), ("user", "Fix the build")),
    (prompt("a summary", "compact-checkpoint"), ("summary", "a summary")),
    (prompt("\x1b[31mred [bold]"), ("user", "\u241b[31mred [bold]")),
    (("tool/call", {"name": "grep", "arguments": '{"q":1}'}), ("call", "grep 1")),
    (
        ("tool/call", {"name": "edit", "arguments": '{"path": "a.py", "at": [1, null]}'}),
        ("call", "edit path=a.py at=[1, null]"),
    ),
    (("tool/call", {"name": "odd", "arguments": "{broken"}), ("call", "odd {broken")),
    (("tool/result", {"message": {"content": []}}), ("result", "(empty)")),
    (("assistant/chunk", {"chunk": {"type": "usage", "usage": COUNTS}}), ("usage", "in 10 out 5 cached 3")),
    (("tool/ptc-dispatch", {"name": "grep", "arguments": {"q": "x"}, "content": "y"}), ("nested", "grep x →")),
    (
        ("tool/result", {"message": {"content": [{"type": "text", "text": "no"}]}, "error": {"code": "FAILED"}}),
        ("result", "FAILED: no"),
    ),
    (("assistant/message", {"message": {"content": []}, "usage": {"inputTokens": 3}}), ("asst", "(empty, 3 tokens)")),
    (("turn/start", {"turn": 3}), ("turn", "turn 3 starts")),
    (
        ("turn/end", {"turn": 3, "reason": {"kind": "error", "error": {"message": "boom"}}}),
        ("turn", "turn 3 error: boom"),
    ),
    (("todo/write", {"todos": [{"content": "a", "status": "completed"}, {"content": "b"}]}), ("todo", "1/2 done")),
    (("compaction/prune", {"shadowedSeqs": [1, 2]}), ("prune", "2 results shortened")),
    (("compaction/end", {"error": "no room"}), ("compact", "compaction failed: no room")),
    (("session/end-seed", {"inherited": True}), ("seed", "inherited history ends")),
    (("llm/retry", {"retry": 1, "failure": {"code": "X", "message": "m"}}), ("retry", "1 X m")),
    (("acme/own", {"deep": {"x": "said"}}), ("other", "acme/own: said")),
    (("turn/start", None), ("turn", "turn starts")),
]


@pytest.mark.parametrize(("row", "wanted"), GISTS)
def test_a_gist_says_what_happened(row: tuple[str, Any], wanted: tuple[str, str]) -> None:
    assert gist(log(row)[0]) == wanted


def test_a_gist_of_megabytes_looks_at_their_beginning_only() -> None:
    (event,) = log(prompt("x" * 5_000_000))
    assert gist(event, 20).text == "x" * 19 + "…"
