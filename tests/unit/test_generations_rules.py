"""The rules for a tolerant reader (session format, section 10) that no other test holds: what is accepted and never
dropped, in every generation; and lanes and forked closers in the later ones."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, packed, prompt, row, text_of, write

from palimpsest_core import Engine, FindingCode
from palimpsest_core.query.secondlook import LANE_FIRST, LANE_NONE, LANE_SECOND, second_look

AT = {"turn": 1, "step": 1}
END = row(1, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})
SOUND = [prompt(0, "needle"), END]
FIRST = [prompt(seq, "first") for seq in range(5)]
STARTED = "The history inherited by this branch records this tool call starting but does not include its result."
NOT_STARTED = "The history inherited by this branch has no record of this tool call starting."


def found(engine: Engine, session_id: str, words: str) -> list[int]:
    return sorted(hit.seq for hit in engine.search_events(session_id, words).items)


# -- lanes: two writers in generations that nobody knows yet, too ----------------------------------------


@pytest.mark.parametrize("version", [4, 5, 6, 9])
@pytest.mark.parametrize(
    ("second", "lanes"),
    [
        ([prompt(seq, "second") for seq in range(3, 8)], [LANE_SECOND] * 5),
        (
            [row(2), row(5), row(3), row(6), row(4), row(20)],
            [LANE_SECOND, LANE_FIRST, LANE_SECOND, LANE_FIRST, LANE_SECOND, LANE_NONE],
        ),
    ],
)
def test_two_writers_are_two_lanes_in_every_later_generation(
    tmp_path: Path, version: int, second: list[Any], lanes: list[int]
) -> None:
    write(tmp_path, frames([header(version, "s"), *FIRST, *second]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        codes = {finding.code for finding in summary.findings or ()}
        assert FindingCode.OVERLAPPING_WRITERS in codes
        assert (FindingCode.UNSUPPORTED_VERSION in codes) == (version > 4)
        assert (summary.rows_shown, summary.rows_withheld) == (5, len(second))
        with engine.open_log("s").closing() as log:
            log.load()
            look = second_look(log.table, log.findings)
            assert look is not None
            assert look.two_lanes
            assert [look.lane(index) for index in range(look.refused, look.stop)] == lanes
            assert look.twin(look.refused) == log.table.seqs[look.refused]


# -- forked closers: a branch inside an open turn, closed behind its marker ------------------------------


def forked(version: int) -> list[Any]:
    calls = [{"type": "tool-call", "id": name, "name": "t", "arguments": "{}"} for name in ("c1", "c2")]
    answer = {"id": "a", "role": "assistant", "source": {"kind": "model"}, "content": calls}

    def closer(seq: int, call: str, text: str, code: str, **more: Any) -> dict[str, Any]:
        message = {
            "id": f"forked-tool-result-{call}-{seq}",
            "role": "tool",
            "source": {"kind": "tool", "callId": call},
            "toolCallId": call,
            "isError": True,
            "content": [{"type": "text", "text": text}],
        }
        data = {**AT, "message": message, "error": {"name": "E", "code": code}}
        return row(seq, "tool/result", data, surfaceOp="append", **more)

    return [
        header(version, "s", parentSession="p", isSeeded=True),
        row(0),
        row(1, "step/start", AT),
        prompt(2, "asked by the parent"),
        row(3, "assistant/message", {**AT, "message": answer, "stream": []}, surfaceOp="append"),
        row(4, "tool/call", {**AT, "callId": "c1", "name": "t", "arguments": "{}"}),
        row(5, "session/end-seed", {"inherited": True}),
        closer(6, "c1", STARTED, "TOOL_OUTCOME_UNKNOWN", sourceEventSeqs=[4]),
        closer(7, "c2", NOT_STARTED, "TOOL_NOT_STARTED"),
        row(8, "step/end", AT),
        row(9, "turn/end", {"turn": 1, "reason": {"kind": "forked"}}),
        prompt(10, "asked by the branch"),
    ]


@pytest.mark.parametrize("version", [4, 5, 7])
def test_the_closers_of_a_branch_are_its_own_events_and_close_what_was_inherited(tmp_path: Path, version: int) -> None:
    write(tmp_path, frames(forked(version)), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        assert (summary.inherited_cut, summary.own, summary.inherited) == (5, 6, 5)
        codes = {finding.code for finding in summary.findings or ()}
        assert codes - {FindingCode.UNSUPPORTED_VERSION} == {FindingCode.DANGLING_PARENT}
        assert found(engine, "s", "does not include its result") == [6]
        assert found(engine, "s", "no record of this tool call") == [7]
        with engine.open_log("s").closing() as log:
            log.load()
            assert log.fold.surface == [2, 3, 6, 7, 10]
            assert not log.open_turn
            assert not any(log.lacks_result(index) for index in range(len(log)))
            assert len(log) == 11


# -- 10.1 and 10.2: what is accepted ---------------------------------------------------------------------


@pytest.mark.parametrize("version", range(7))
def test_both_encodings_in_one_root_are_both_read(tmp_path: Path, version: int) -> None:
    write(tmp_path, frames([header(version, "z"), *SOUND]), version=version, session_id="z")
    write(tmp_path, text_of([header(version, "p"), *SOUND]), version=version, session_id="p", plain=True)
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert {hit.header.id for hit in engine.search_sessions("needle").items} == {"z", "p"}
        newer = [FindingCode.UNSUPPORTED_VERSION] if version > 4 else []
        assert all([finding.code for finding in row.findings or ()] == newer for row in engine.sessions())


@pytest.mark.parametrize("version", range(7))
def test_a_log_with_a_header_alone_is_a_session(tmp_path: Path, version: int) -> None:
    write(tmp_path, frames([header(version, "s")]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        assert (summary.events, summary.rows_shown, summary.rows_withheld) == (0, 0, 0)
        with engine.open_log("s").closing() as log:
            log.load()
            assert len(log) == 0


_ODD: list[tuple[str, Any, dict[str, Any]]] = [
    ("turn/end", {"turn": 1, "reason": {"kind": "abducted"}}, {}),
    ("subagent/descriptor", {"version": 77, "mode": "one-shot", "provider": "p", "label": "walrus"}, {}),
    ("subagent/descriptor", {"mode": "one-shot", "provider": "p", "label": "walrus"}, {}),
    (
        "user/message",
        {"id": "m", "role": "user", "source": {"kind": "acme"}, "content": [{"type": "text", "text": "walrus"}]},
        {"surfaceOp": "append"},
    ),
    (
        "user/message",
        {"id": "m", "role": "user", "source": {"kind": "user"}, "content": [{"type": "odd", "x": ["walrus"]}]},
        {"surfaceOp": "append"},
    ),
    ("acme/thing", {"deep": [{"er": "walrus"}]}, {"ignorable": True}),
]


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize(("kind", "data", "marks"), _ODD)
def test_kinds_that_nobody_knows_are_shown_and_searched_and_no_finding(
    tmp_path: Path, version: int, kind: str, data: Any, marks: dict[str, Any]
) -> None:
    rows = [prompt(0, "a"), row(1, kind, data, **marks)]
    write(tmp_path, frames([header(version, "s"), *rows]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        assert {finding.code for finding in summary.findings or ()} <= {FindingCode.UNSUPPORTED_VERSION}
        if "walrus" in str(data):
            assert found(engine, "s", "walrus") == [1]
        with engine.open_log("s").closing() as log:
            log.load()
            assert json.loads(log.raw(1)) == rows[1]


def test_pairs_in_the_sources_of_the_oldest_generation_and_packed_rows_of_one_are_read(tmp_path: Path) -> None:
    replaced = {"op": "replace", "start": 0, "end": 2}
    rows = [*(prompt(seq, "x") for seq in range(3)), packed(3, ["lone"])]
    rows.append({**prompt(4, "instead"), "surfaceOp": replaced, "sourceEventSeqs": [[0, 2]]})
    write(tmp_path, frames([header(0, "s"), *rows]), session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        assert (summary.events, summary.findings) == (5, [])
        assert (summary.current, summary.shadowed) == (1, 3)


# -- 10.4: what is never dropped -------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
def test_text_that_only_streamed_pieces_hold_is_found(tmp_path: Path, version: int) -> None:
    rows = [row(0), row(1, "step/start", AT), packed(2, ["wal", "rus ", "song"])]
    write(tmp_path, frames([header(version, "s"), *rows]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert found(engine, "s", "walrus song") != []


@pytest.mark.parametrize("version", range(7))
def test_what_a_replacement_hides_is_still_found_and_read(tmp_path: Path, version: int) -> None:
    names = ("start", "end") if version < 3 else ("startSeq", "endSeq")
    op = {"op": "replace", names[0]: 0, names[1]: 0}
    rows = [prompt(0, "walrus"), {**prompt(1, "short"), "surfaceOp": op, "sourceEventSeqs": [0]}]
    write(tmp_path, frames([header(version, "s"), *rows]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (hit,) = engine.search_events("s", "walrus").items
        assert (hit.seq, hit.surface.value) == (0, "shadowed")
        assert [record.seq for record in engine.list_events("s")] == [0, 1]


@pytest.mark.parametrize("version", range(7))
def test_the_inherited_prefix_is_found_and_marked(tmp_path: Path, version: int) -> None:
    seeded = {"seedLength": 1} if version < 2 else {"isSeeded": True}
    marker = row(1, "session/end-seed", {"inherited": True} if version > 1 else {})
    rows = [prompt(0, "walrus of the parent"), marker, prompt(2, "own walrus")]
    head = header(version, "s", parentSession="gone", **seeded)
    write(tmp_path, frames([head, *rows]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert found(engine, "s", "walrus") == [0, 2]
        (summary,) = engine.sessions()
        assert (summary.inherited, summary.own) == (1, 2)
        assert FindingCode.DANGLING_PARENT in {finding.code for finding in summary.findings or ()}


@pytest.mark.parametrize("version", [0, 2, 4])
def test_a_session_that_the_harness_would_refuse_is_read_and_the_event_at_fault_named(
    tmp_path: Path, version: int
) -> None:
    rows = [prompt(0, "a"), row(1, "acme/needed", {"note": "walrus"}), prompt(2, "b")]
    write(tmp_path, frames([header(version, "s"), *rows]), version=version, session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        (finding,) = summary.findings or []
        assert (finding.code, finding.seq) == (FindingCode.UNKNOWN_REQUIRED_EVENT, 1)
        assert found(engine, "s", "walrus") == [1]
        assert summary.events == 3


def test_a_lower_generation_is_found_by_what_only_it_holds(tmp_path: Path) -> None:
    write(tmp_path, frames([header(3, "s"), *SOUND]), version=3, session_id="s")
    old = [header(0, "s"), prompt(0, "walrus of old"), END]
    write(tmp_path, frames(old), session_id="s")
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert {each.generation for each in engine.logs_of("s")} == {0, 3}
        with engine.open_log("s", generation=0).closing() as log:
            log.load()
            assert b"walrus" in log.raw(0)


@pytest.mark.parametrize("present", [True, False])
def test_a_missing_attachment_is_no_defect_of_the_log(tmp_path: Path, present: bool) -> None:
    digest = sha256(b"png").hexdigest()
    attachment = {"attachmentId": f"sha256:{digest}", "mediaType": "image/png", "bytes": 3, "width": 1, "height": 1}
    message = prompt(0, "look")
    message["data"]["content"].append({"type": "image", "attachment": attachment})
    root = tmp_path / "sessions"
    write(root, frames([header(4, "s"), message, END]), version=4, session_id="s")
    if present:
        stored = tmp_path / "attachments" / "v1" / "objects" / digest[:2] / digest
        stored.parent.mkdir(parents=True)
        stored.write_bytes(b"png")
    with Engine(root, index=":memory:") as engine:
        engine.refresh()
        (summary,) = engine.sessions()
        assert summary.state.value == "complete"
        plan = engine.plan_export("s")
        assert (len(plan.images), len(plan.missing)) == ((1, 0) if present else (0, 1))
