"""One log as the app shows it: loading, growing, damage and links."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, line, packed, prompt, row, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.event import Surface
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.query.openlog import OpenLog
from palimpsest_core.query.table import Flag
from palimpsest_core.storage.layout import LogFile


def opened(file: LogFile) -> OpenLog:
    log = OpenLog.start(file)
    log.load()
    return log


def append(file: LogFile, content: bytes) -> None:
    with Path(file.path).open("ab") as stored:
        stored.write(content)


def answer(seq: int, text: str = "fine", **data: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}, *data.pop("calls", [])]
    message = {"id": f"m{seq}", "role": "assistant", "source": {"kind": "model"}, "content": content}
    return row(seq, "assistant/message", {"turn": 1, "step": 1, "message": message}, surfaceOp="append")


def call_block(call_id: str) -> dict[str, Any]:
    return {"type": "tool-call", "id": call_id, "name": "grep", "arguments": "{}"}


def call(seq: int, call_id: str) -> dict[str, Any]:
    return row(seq, "tool/call", {"turn": 1, "step": 1, "callId": call_id, "name": "grep", "arguments": "{}"})


def result(seq: int, call_id: str, source: int, *, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": call_id, "content": [{"type": "text", "text": "out"}]}
    if failed:
        block["isError"] = True
    source_of = {"kind": "tool", "callId": call_id}
    message = {"id": f"m{seq}", "role": "user", "source": source_of, "content": [block]}
    data = {"turn": 1, "step": 1, "message": message}
    return row(seq, "tool/result", data, surfaceOp="append", sourceEventSeqs=[source])


def replacement(seq: int, start: int, end: int, sources: list[int]) -> dict[str, Any]:
    found = prompt(seq, "summary")
    found["data"]["source"] = {"kind": "plugin", "plugin": "compact"}
    return {**found, "surfaceOp": {"op": "replace", "start": start, "end": end}, "sourceEventSeqs": sources}


def ended(seq: int, kind: str = "completed") -> dict[str, Any]:
    return row(seq, "turn/end", {"turn": 1, "reason": {"kind": kind}})


WHOLE = [header(), row(0), prompt(1, "hello"), answer(2), ended(3)]


@pytest.mark.parametrize("plain", [True, False])
def test_rows_tell_type_time_and_surface_without_decoding(tmp_path: Path, plain: bool) -> None:
    content = b"".join(map(line, WHOLE)) if plain else frames(WHOLE)
    log = opened(write(tmp_path, content, plain=plain))
    assert [log.row(index).type for index in range(len(log))] == [item["type"] for item in WHOLE[1:]]
    assert [log.row(index).surface.value for index in range(4)] == ["log-only", "current", "current", "log-only"]
    assert log.row(1).flags == Flag.PROMPT
    assert log.row(0).flags == Flag.TURN
    assert log.complete
    assert not log.open_turn
    assert log.first_prompt == "hello"
    assert log.findings == []
    assert log.record(2).session_id == "sess"
    assert (log.rows_shown, log.rows_withheld) == (4, 0)


def test_events_are_decoded_on_demand_and_raw_lines_are_the_stored_bytes(tmp_path: Path) -> None:
    log = opened(write(tmp_path, frames(WHOLE)))
    assert log.event(1).data == WHOLE[2]["data"]
    assert log.raw(1) == line(WHOLE[2])[:-1]
    with pytest.raises(IndexError):
        log.event(4)


def test_packed_rows_give_one_row_a_member_and_share_their_line(tmp_path: Path) -> None:
    rows = [header(), row(0), packed(1, ["a", "b", "c"]), ended(4)]
    log = opened(write(tmp_path, frames(rows)))
    assert [log.row(index).seq for index in range(len(log))] == [0, 1, 2, 3, 4]
    assert [log.row(index).time for index in (1, 2, 3)] == [1001, 1003, 1005]
    assert [log.event(index).data["chunk"]["text"] for index in (1, 2, 3)] == ["a", "b", "c"]
    assert log.row(2).flags == Flag.CHUNK
    assert log.raw(1) == log.raw(3) == line(rows[2])[:-1]
    assert log.rows_shown == 3


def test_failures_are_flagged_where_they_stand(tmp_path: Path) -> None:
    rows = [
        header(),
        row(0),
        answer(1, calls=[call_block("c1"), call_block("c2")]),
        call(2, "c1"),
        result(3, "c1", 2),
        call(4, "c2"),
        result(5, "c2", 4, failed=True),
        row(6, "command/done", {"commandId": "x", "kind": "error"}),
        ended(7, "error"),
    ]
    log = opened(write(tmp_path, frames(rows)))
    assert list(log.table.select(flags=Flag.ERROR)) == [5, 6, 7]


def test_a_call_without_a_result_is_a_failure_once_its_turn_is_over(tmp_path: Path) -> None:
    rows = [header(), row(0), answer(1, calls=[call_block("c1")]), call(2, "c1")]
    file = write(tmp_path, frames(rows))
    log = opened(file)
    assert not log.lacks_result(2)
    with Path(file.path).open("ab") as end:
        end.write(frame(row(3, "turn/start", {"turn": 2})))
    assert log.grow().changed == [2]
    assert log.lacks_result(2)
    assert list(log.table.select(flags=Flag.ERROR, without=Flag.SYNTHETIC)) == [2]
    with Path(file.path).open("ab") as end:
        end.write(frame(result(4, "c1", 2)))
    assert log.grow().changed == [2]
    assert not log.lacks_result(2)


def test_a_message_that_breaks_the_rules_is_a_failure(tmp_path: Path) -> None:
    lost = {**prompt(1, "b"), "surfaceOp": {"op": "replace", "start": 90, "end": 95}, "sourceEventSeqs": [0]}
    rows = [header(), prompt(0, "a"), lost, {**prompt(2, "c"), "sourceEventSeqs": [77]}, prompt(3, "d")]
    log = opened(write(tmp_path, frames(rows)))
    assert list(log.table.select(flags=Flag.ERROR)) == [1, 2]


def test_two_calls_of_one_id_are_answered_by_what_cites_them(tmp_path: Path) -> None:
    rows = [header(), row(0), answer(1), call(2, "c1"), call(3, "c1"), result(4, "c1", 3), ended(5)]
    log = opened(write(tmp_path, frames(rows)))
    assert [index for index in range(6) if log.lacks_result(index)] == [2]


def test_no_closers_are_made_up_where_the_turn_goes_on_behind_damage(tmp_path: Path) -> None:
    rows = [header(), row(0), prompt(1, "before the gap"), row(5, "step/start"), ended(6)]
    log = opened(write(tmp_path, frames(rows)))
    assert [log.row(index).seq for index in range(len(log))] == [0, 1, 5, 6]
    assert not log.open_turn
    assert {finding.code.value for finding in log.findings} == {"sequence-gap"}


def test_an_open_turn_is_closed_by_synthetic_rows(tmp_path: Path) -> None:
    rows = [
        header(),
        row(0),
        row(1, "step/start", {"turn": 1, "step": 1}),
        answer(2, calls=[call_block("c1")]),
        call(3, "c1"),
    ]
    log = opened(write(tmp_path, frames(rows)))
    assert [log.row(index).type for index in (4, 5, 6)] == ["tool/result", "step/end", "turn/end"]
    assert all(log.row(index).flags & Flag.SYNTHETIC for index in (4, 5, 6))
    assert log.row(4).surface is Surface.CURRENT
    assert log.event(4).data["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
    assert log.raw(4) == b""
    assert log.index_of_seq(6) == 6
    assert log.sources(4) == [3]
    assert log.cited_by(3) == [4]
    assert log.open_turn
    assert [finding.code for finding in log.findings] == [FindingCode.OPEN_TURN]


def test_growth_replaces_the_closers_by_what_really_came(tmp_path: Path) -> None:
    rows = [header(), row(0), answer(1, calls=[call_block("c1")]), call(2, "c1")]
    file = write(tmp_path, frames(rows))
    log = opened(file)
    assert len(log) == 5
    append(file, frame(result(3, "c1", 2)))
    growth = log.grow()
    assert (growth.first_new, growth.count, growth.changed) == (3, 2, [])
    assert [log.row(index).type for index in range(3, len(log))] == ["tool/result", "turn/end"]
    append(file, frame(ended(4)))
    growth = log.grow()
    assert (growth.first_new, growth.count) == (4, 1)
    assert len(log) == 5
    assert not log.row(4).flags & Flag.SYNTHETIC
    assert not log.open_turn


def test_growth_tells_which_earlier_rows_are_shadowed_now(tmp_path: Path) -> None:
    file = write(tmp_path, frames(WHOLE))
    log = opened(file)
    append(file, frame(replacement(4, 1, 2, [1, 2])))
    growth = log.grow()
    assert growth.changed == [1, 2]
    assert log.row(1).surface is log.row(2).surface is Surface.SHADOWED
    assert log.row(4).flags & Flag.REPLACES
    assert log.replaces(4) == [1, 2]
    assert log.replaced_by(1) == 4
    assert log.surface_at(3) == [1, 2]
    assert log.surface_at(4) == [4] == log.fold.surface
    assert log.boundaries() == [4]
    assert log.cited_by(1) == [4]


def test_a_chain_of_replacers_is_followed_to_the_last(tmp_path: Path) -> None:
    rows = [*WHOLE, replacement(4, 1, 1, [1]), replacement(5, 4, 2, [4, 2])]
    log = opened(write(tmp_path, frames(rows)))
    assert log.replacement_chain(1) == [4, 5]
    assert log.surface_at(4) == [4, 2]
    assert log.surface_at(5) == [5]


def test_nothing_new_costs_nothing_and_says_so(tmp_path: Path) -> None:
    log = opened(write(tmp_path, frames(WHOLE)))
    growth = log.grow()
    assert (growth.first_new, growth.count, growth.changed) == (4, 0, [])


@pytest.mark.parametrize("plain", [True, False])
def test_a_torn_tail_is_told_anew_once_it_is_whole(tmp_path: Path, plain: bool) -> None:
    last = replacement(4, 1, 2, [1, 2])
    stored = b"".join(map(line, WHOLE)) if plain else frames(WHOLE)
    whole = line(last) if plain else frame(last)
    file = write(tmp_path, stored + whole[:-3], plain=plain)
    log = opened(file)
    assert any(finding.code is FindingCode.TORN_TAIL for finding in log.findings)
    append(file, whole[-3:])
    log.grow()
    fresh = opened(file)
    assert [log.row(index) for index in range(len(log))] == [fresh.row(index) for index in range(len(fresh))]
    assert log.fold.surface == fresh.fold.surface == [4]
    assert log.findings == []


def test_what_a_torn_frame_yields_is_taken_back_when_the_log_goes_on_differently(tmp_path: Path) -> None:
    torn = frame(replacement(4, 1, 2, [1, 2]), prompt(5, "lost"), checksum=True)[:-2]
    file = write(tmp_path, frames(WHOLE) + torn)
    log = opened(file)
    shown = len(log)
    assert shown > 4
    # A writer that comes back cuts the torn frame off and appends its own.
    Path(file.path).write_bytes(frames(WHOLE) + frame(prompt(4, "something else " * 20)))
    growth = log.grow()
    assert not growth.replaced_file
    assert log.event(4).data["content"][0]["text"].startswith("something else")
    assert log.row(1).surface is Surface.CURRENT
    assert set(growth.changed) == {1, 2}
    assert log.fold.surface == [1, 2, 4]


def test_withheld_rows_are_shown_last_and_counted(tmp_path: Path) -> None:
    rows = [*WHOLE, row(9, "hook/invoked", {"turn": 1}), b"no json\n", prompt(10, "beyond")]
    log = opened(write(tmp_path, frames(rows)))
    assert (log.rows_shown, log.rows_withheld) == (4, 3)
    assert [bool(log.row(index).flags & Flag.WITHHELD) for index in range(len(log))] == [False] * 4 + [True] * 3
    assert log.row(4).seq == 9
    assert log.row(5).seq == -1
    assert log.event(6).data["content"][0]["text"] == "beyond"
    assert log.event(5).data == "no json"
    assert log.raw(5) == b"no json"
    assert log.index_of_seq(9) is None


def test_a_removed_log_keeps_what_is_shown(tmp_path: Path) -> None:
    file = write(tmp_path, frames(WHOLE))
    log = opened(file)
    os.unlink(file.path)
    assert log.grow().gone
    assert len(log) == 4


def test_another_log_under_the_name_is_noticed(tmp_path: Path) -> None:
    file = write(tmp_path, frames(WHOLE))
    log = opened(file)
    other = Path(file.path).with_suffix(".new")
    other.write_bytes(frames([header(), row(0), prompt(1, "another"), ended(2)]))
    other.replace(file.path)
    assert log.grow().replaced_file


def test_a_shorter_file_is_noticed(tmp_path: Path) -> None:
    file = write(tmp_path, frames(WHOLE))
    log = opened(file)
    os.truncate(file.path, os.path.getsize(file.path) // 2)
    growth = log.grow()
    assert growth.truncated or growth.replaced_file


def test_a_file_that_is_no_log_shows_its_lines_as_withheld_with_the_reason(tmp_path: Path) -> None:
    file = write(tmp_path, b"hello\n", plain=True)
    log = opened(file)
    assert all(log.row(index).flags & Flag.WITHHELD for index in range(len(log)))
    assert log.header is None
    assert log.session_id == "sess"
    assert log.findings[0].code is FindingCode.UNREADABLE
    assert log.fold.surface == []
    assert log.grow().count == 0


def test_loading_can_be_cancelled_and_taken_up_again(tmp_path: Path) -> None:
    rows = [header(), *(prompt(seq, "x" * 2000) for seq in range(600))]
    file = write(tmp_path, frames(rows, each=7))
    log = OpenLog.start(file)
    cancel = CancelToken()
    with pytest.raises(SessionQueryError) as caught:
        log.load(cancel, lambda count: cancel.set())
    assert caught.value.code is ErrorCode.ABORTED
    assert not log.complete
    assert 0 < len(log) < 600
    counts: list[int] = []
    log.load(None, counts.append)
    assert log.complete
    assert counts == sorted(counts)
    assert len(log) == 600
    assert log.fold.surface == list(range(600))
    assert [log.event(index).seq for index in range(0, 600, 50)] == list(range(0, 600, 50))


def test_a_fork_tells_its_cut_and_its_boundary(tmp_path: Path) -> None:
    made = header(version=3, isSeeded=True, parentSession="p")
    rows = [made, row(0), ended(1), row(2, "session/end-seed", {"inherited": True}), row(3), ended(4)]
    log = opened(write(tmp_path, frames(rows), version=3))
    assert log.cut == 2
    assert log.boundaries() == [2]
    assert log.lineage is not None
    assert log.lineage.value == "fork"


def test_turns_are_listed_with_their_prompt(tmp_path: Path) -> None:
    log = opened(write(tmp_path, frames(WHOLE)))
    (turn,) = log.turns()
    assert (turn.first_seq, turn.last_seq, turn.prompt_seq, turn.reason) == (0, 3, 1, "completed")
