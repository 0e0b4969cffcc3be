"""Sessions in numbers: each event once, what was inherited apart, unknown parts unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import logmaking as make
import pytest

from palimpsest_core import Config, Counts, SessionQueryError, Tokens, statistics_of
from palimpsest_core.model.statistics import SessionStatistics

MODEL = {"kind": "model", "provider": "p", "model": "m"}


def answer(seq: int, usage: Any = None) -> dict[str, Any]:
    message = {"id": f"m{seq}", "role": "assistant", "source": MODEL, "content": []}
    data = {"turn": 1, "step": 1, "message": message}
    return make.row(seq, "assistant/message", data if usage is None else {**data, "usage": usage}, surfaceOp="append")


def counted(root: Path, rows: list[dict[str, Any]], **head: Any) -> SessionStatistics:
    head.setdefault("version", 0)
    file = make.write(root, make.frame(make.header(**head)) + make.frames(rows), **head)
    found = statistics_of(file.path, Config(mode="tolerant"))
    assert found is not None
    return found


def test_turns_prompts_answers_and_calls_are_counted(tmp_path: Path) -> None:
    rows = [
        make.row(0, "turn/start"),
        make.prompt(1, "go"),
        answer(2),
        make.row(3, "tool/call", {"callId": "c", "name": "x", "arguments": "{}"}),
        make.row(4, "tool/result", {"error": {"code": "NO"}, "message": {}}, surfaceOp="append"),
        make.row(5, "todo/write", {"todos": []}),
    ]
    own = counted(tmp_path, rows).own
    assert own == Counts(
        events=6, turns=1, messages=2, prompts=1, answers=1, tool_calls=1, failed_calls=1, silent_answers=1
    )


def test_a_message_that_no_person_wrote_is_no_prompt(tmp_path: Path) -> None:
    injected = make.prompt(0, "context")
    injected["data"]["source"] = {"kind": "robot"}
    assert counted(tmp_path, [injected, make.prompt(1, "go")]).own.prompts == 1


@pytest.mark.parametrize("cut", [0, 1, 3, 5, 6])
def test_what_an_old_fork_took_over_counts_apart(tmp_path: Path, cut: int) -> None:
    rows = [make.prompt(0, "a"), answer(1), make.packed(2, ["x", "y", "z"]), make.prompt(5, "b")]
    found = counted(tmp_path, rows, parentSession="p", seedLength=cut)
    assert (found.inherited.events, found.own.events) == (cut, 6 - cut)
    assert found.own.prompts == sum(seq >= cut for seq in (0, 5))


def test_what_a_newer_fork_took_over_ends_at_its_last_marker(tmp_path: Path) -> None:
    rows = [make.prompt(0, "a"), answer(1), make.row(2, "session/end-seed", {"inherited": True}), make.prompt(3, "b")]
    found = counted(tmp_path, rows, version=3, parentSession="p", isSeeded=True)
    assert (found.inherited.messages, found.own.messages, found.own.events) == (2, 1, 2)


def test_tokens_are_sums_of_what_is_known(tmp_path: Path) -> None:
    rows = [answer(0, {"inputTokens": 5}), answer(1, {"outputTokens": 2, "reasoningTokens": 1}), answer(2, {})]
    own = counted(tmp_path, rows).own
    assert own.tokens == Tokens(7, input=5, output=2, reasoning=1)
    assert (own.requests, own.silent_answers) == (2, 1)


def test_sums_of_sessions_leave_unknown_what_nobody_knows() -> None:
    one, other = Counts(events=1, tokens=Tokens(3, input=3)), Counts(events=2, tokens=Tokens(4, output=4))
    assert one + other == Counts(events=3, tokens=Tokens(7, input=3, output=4))
    assert Counts() + one == one == one + Counts()


def test_only_the_readable_prefix_counts_and_a_file_that_is_no_log_has_no_numbers(tmp_path: Path) -> None:
    rows = [make.prompt(0, "a"), make.prompt(1, "b"), make.prompt(7, "beyond a gap")]
    assert counted(tmp_path, rows).own.prompts == 2
    foreign = make.write(tmp_path, b"no log at all", id="other")
    assert statistics_of(foreign.path, Config(mode="tolerant")) is None
    with pytest.raises(SessionQueryError):
        statistics_of(str(tmp_path / "nowhere" / "session.jsonl"), Config(mode="tolerant"))
