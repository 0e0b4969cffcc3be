"""Reading logs: rows, events, damage as findings, going on from a saved state."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from logmaking import CONFIG, frame, frames, header, line, packed, prompt, row, text_of, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.reader import LogChanged, LogReader, ReadState, read_header, read_log
from palimpsest_core.model.event import UNSET
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.storage.layout import LogFile

END = row(0, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})


def plain(root: Path, *rows: Any, **head: Any) -> LogFile:
    return write(root, text_of([header(**head), *rows]), plain=True, **head)


def told(file: LogFile) -> tuple[list[int], list[tuple[str, str | None]], int]:
    """Seqs, findings and number of withheld rows of a log."""
    log = read_log(file, config=CONFIG)
    return [e.seq for e in log.events], [(f.code.value, f.detail) for f in log.findings], log.withheld_rows


def test_both_encodings_give_the_same_events(tmp_path: Path) -> None:
    rows = [header(), row(0), prompt(1, "hello"), packed(2, ["a", "b", "c"]), row(5, "turn/end")]
    one = read_log(write(tmp_path, frames(rows)), config=CONFIG)
    two = read_log(write(tmp_path, text_of(rows), plain=True), config=CONFIG)
    assert one.events == two.events
    assert [e.seq for e in one.events] == [0, 1, 2, 3, 4, 5]
    assert one.findings == two.findings == []
    assert (one.rows, one.withheld_rows) == (4, 0)


def test_packed_rows_unfold_to_chunk_events(tmp_path: Path) -> None:
    tools = {
        "type": "tool-call-chunks",
        "seq0": 3,
        "time0": 50,
        "data": {"turn": 1, "step": 2, "index": 1, "id": "c1", "name": "grep", "dt": [-7], "args": ["{", "}"]},
    }
    events = read_log(plain(tmp_path, row(0), packed(1, ["a", "b"]), tools), config=CONFIG).events
    assert [(e.type, e.seq, e.time) for e in events[1:]] == [
        ("assistant/chunk", 1, 1001),
        ("assistant/chunk", 2, 1003),
        ("assistant/chunk", 3, 50),
        ("assistant/chunk", 4, 43),
    ]
    assert events[2].data == {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "b"}}
    assert events[4].data["chunk"] == {
        "type": "tool-call-delta",
        "index": 1,
        "id": "c1",
        "name": "grep",
        "argumentsDelta": "}",
    }


def test_generations_above_one_have_no_packed_rows(tmp_path: Path) -> None:
    seqs, findings, withheld = told(plain(tmp_path, row(0), packed(1, ["a"]), version=2))
    assert (seqs, withheld) == ([0], 1)
    assert findings == [("withheld-tail", "bad-row:tail")]


def test_source_pairs_are_expanded(tmp_path: Path) -> None:
    sources: list[Any] = [[1, 4], 6, [8, 9]]
    log = read_log(
        plain(tmp_path, *[row(n) for n in range(10)], {**prompt(10, "x"), "sourceEventSeqs": sources}), config=CONFIG
    )
    assert log.events[10].source_event_seqs == [1, 2, 3, 4, 6, 8, 9]


@pytest.mark.parametrize("sources", [[[4, 1]], [[1, 4], 2], [[1]], [[1, "4"]], "x", [[0, 10**15]], [3, [1, 2]]])
def test_malformed_sources_stay_as_stored(tmp_path: Path, sources: Any) -> None:
    log = read_log(plain(tmp_path, row(0), {**prompt(1, "x"), "sourceEventSeqs": sources}), config=CONFIG)
    assert log.events[1].source_event_seqs == sources


def test_unknown_envelope_keys_are_kept(tmp_path: Path) -> None:
    log = read_log(plain(tmp_path, row(0), row(1, vendor={"a": 1})), config=CONFIG)
    assert log.events[0].extra is UNSET
    assert log.events[1].extra == {"vendor": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (b'{"x":1e400}', {"x": float("inf")}),
        (b'{"x":"\\ud83d"}', {"x": "\ud83d"}),
        (b'{"x":"\xff\xed\xa0\x80"}', {"x": "\ufffd\ufffd\ufffd\ufffd"}),
        (b'{"x":1,"x":2}', {"x": 2}),
        (b'{"x":"\\u0000"}', {"x": "\0"}),
        (b' {"x":1.0}\t', {"x": 1}),
    ],
)
def test_json_is_read_as_the_harness_reads_it(tmp_path: Path, text: bytes, data: Any) -> None:
    raw = b'{"type":"todo/write","seq":0.0,"seq":1.0,"time":1e3,"data":' + text + b"}\r\n"
    log = read_log(plain(tmp_path, row(0), raw, row(2)), config=CONFIG)
    assert [e.seq for e in log.events] == [0, 1, 2]
    assert log.events[1].data == data
    assert log.events[1].time == 1000
    assert log.findings == []


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        (b'{"type":"a","seq":1,"time":1,"data":NaN}\n', "bad-json"),
        (b'\xef\xbb\xbf{"type":"a","seq":1,"time":1,"data":{}}\n', "bad-json"),
        (b'{"type":"a","seq":1}{"type":"b","seq":2}\n', "bad-json"),
        (b'{"type":"a",\n"seq":1}\n', "bad-json"),
        (b"\n", "blank-line"),
        (b" \t\n", "blank-line"),
        (b"7\n", "not-object"),
        (b'{"type":"turn/start","time":1,"data":{}}\n', "bad-row"),
        (b'{"type":"turn/start","seq":"1","time":1,"data":{}}\n', "bad-row"),
        (b'{"type":"turn/start","seq":-1,"time":1,"data":{}}\n', "bad-row"),
        (line(row(3)), "seq-gap"),
        (line(row(0)), "seq-overlap"),
        (line(packed(1, ["a", "b"], more=1)), "bad-packed"),
        (line({**packed(1, ["a"]), "seq0": 1.5}), "bad-packed"),
        (line({"type": "text-chunks", "seq": 1, "time": 1, "data": {}}), "bad-packed"),
        (line(packed(2, ["a", "b"])), "seq-gap"),
    ],
)
def test_the_first_bad_row_withholds_itself_and_all_that_follow(tmp_path: Path, bad: bytes, cause: str) -> None:
    more = [row(1), row(2)]
    seqs, findings, withheld = told(plain(tmp_path, row(0), bad, *more))
    lines = bad.count(b"\n")
    assert (seqs, withheld) == ([0], lines + 2)
    assert [detail for _, detail in findings] == [cause + ":tail"]
    # With a turn end behind it the defect lies before committed work.
    _, findings, _ = told(plain(tmp_path, row(0), bad, *more, END))
    assert [detail for _, detail in findings] == [cause]
    # So it does in a complete frame.
    _, findings, _ = told(write(tmp_path, frame(header()) + frame(row(0)) + frame(bad)))
    assert [detail for _, detail in findings] == [cause]


def test_a_null_row_is_never_excused(tmp_path: Path) -> None:
    assert told(plain(tmp_path, row(0), b"null\n"))[1] == [("corrupt", "null")]
    assert told(plain(tmp_path, row(0), row(5), b"null\n"))[1] == [("sequence-gap", "seq-gap")]


def test_rows_with_a_bad_time_or_no_data_are_shown_and_noted(tmp_path: Path) -> None:
    bad_time = {**row(1), "time": "soon"}
    no_data = {"type": "turn/start", "seq": 2, "time": 5}
    log = read_log(plain(tmp_path, row(0), bad_time, no_data, row(3)), config=CONFIG)
    assert [(e.seq, e.time) for e in log.events] == [(0, 1000), (1, 1000), (2, 5), (3, 1003)]
    assert [(f.code, f.detail, f.seq) for f in log.findings] == [(FindingCode.CORRUPT, "envelope", 1)]
    assert "1 more" in log.findings[0].message


def test_minus_zero_is_no_time_but_zero_is(tmp_path: Path) -> None:
    zero = b'{"type":"turn/start","seq":1,"time":0,"data":{}}\n'
    assert told(plain(tmp_path, row(0), zero))[1] == []
    assert told(plain(tmp_path, row(0), zero.replace(b'"time":0', b'"time":-0')))[1] == [("corrupt", "envelope")]


def test_unknown_required_types_are_named_once_with_their_places(tmp_path: Path) -> None:
    rows = [row(0), row(1, "web/foo"), row(2, "web/foo"), row(3, "nice/to-have", ignorable=True), row(4, "x/y")]
    log = read_log(plain(tmp_path, *rows, row(5)), config=CONFIG)
    assert [e.seq for e in log.events] == [0, 1, 2, 3, 4, 5]
    assert [(f.code, f.seq) for f in log.findings] == [
        (FindingCode.UNKNOWN_REQUIRED_EVENT, 1),
        (FindingCode.UNKNOWN_REQUIRED_EVENT, 4),
    ]
    assert "web/foo" in log.findings[0].message
    assert "1 to 2" in log.findings[0].message


def test_a_second_writer_is_told_by_what_it_repeats(tmp_path: Path) -> None:
    rows = [row(0), packed(1, ["a", "b", "c"])]
    same = read_log(plain(tmp_path, *rows, packed(2, ["b", "c", "d"]), row(5)), config=CONFIG).findings
    other = read_log(plain(tmp_path, *rows, packed(2, ["b", "x", "d"]), row(5)), config=CONFIG).findings
    assert [f.code for f in same + other] == [FindingCode.OVERLAPPING_WRITERS] * 2
    assert "identical" in same[0].message
    assert "differs" in other[0].message
    assert "expected sequence number 4, found 2" in same[0].message
    assert "2 to 5" in same[0].message


def test_an_overtaken_repair_has_a_finding_of_its_own(tmp_path: Path) -> None:
    closers = [
        row(2, "step/end", {"turn": 1, "step": 1}),
        row(3, "turn/end", {"turn": 1, "reason": {"kind": "interrupted"}}),
    ]
    log = read_log(plain(tmp_path, row(0), row(1, "step/start"), *closers, row(2, "tool/call"), row(3)), config=CONFIG)
    assert [f.code for f in log.findings] == [FindingCode.OVERLAPPED_REPAIR]
    assert "The closers 2 to 3" in log.findings[0].message
    assert [e.seq for e in log.events] == [0, 1, 2, 3]


def test_withheld_rows_say_what_they_claim_and_keep_their_bytes(tmp_path: Path) -> None:
    lost = [row(7, "tool/call"), b"garbage\n", packed(9, ["a", "b"])]
    with LogReader(plain(tmp_path, row(0), *lost), config=CONFIG) as reader:
        rows = [r for batch in reader.batches() for r in batch]
        assert [(r.type, r.seq, r.count, r.withheld, r.line) for r in rows] == [
            ("turn/start", 0, 1, False, 2),
            ("tool/call", 7, 0, True, 3),
            ("row", -1, 0, True, 4),
            ("text-chunks", 9, 0, True, 5),
        ]
        assert [reader.line_of(r) for r in rows[1:]] == [line(item) for item in lost]
        assert all(reader.expand(r) == [] for r in rows[1:])


def test_one_row_can_be_read_again_by_its_place(tmp_path: Path) -> None:
    rows = [row(0), prompt(1, "hello"), packed(2, ["a", "b"]), row(4)]
    for file in (plain(tmp_path, *rows), write(tmp_path, frames([header(), *rows], each=1))):
        with LogReader(file, config=CONFIG) as reader:
            stored = [r for batch in reader.batches() for r in batch]
            for r in stored:
                assert reader.events_at(r.offset, r.length, r.seq) == reader.expand(r)
            assert reader.events_at(stored[0].offset, stored[0].length, 3) == []


def test_a_log_of_one_huge_frame_is_read_batch_by_batch(tmp_path: Path) -> None:
    rows = [prompt(n, "word " * 50) for n in range(9000)]
    with LogReader(write(tmp_path, frame(header()) + frame(*rows)), config=CONFIG) as reader:
        sizes = [sum(r.length for r in batch) for batch in reader.batches()]
        assert len(sizes) > 5
        assert max(sizes) < 1 << 20
        assert reader.next_seq == 9000
        assert reader.events_at(len(line(header())), len(line(rows[0])), 0)[0].data == rows[0]["data"]


def test_reading_can_be_cancelled_between_batches(tmp_path: Path) -> None:
    token = CancelToken()
    rows = [prompt(n, "word " * 50) for n in range(4000)]
    with LogReader(plain(tmp_path, *rows), config=CONFIG) as reader:
        batches = reader.batches(token)
        next(batches)
        token.set()
        with pytest.raises(SessionQueryError) as caught:
            list(batches)
    assert caught.value.code == ErrorCode.ABORTED


def grown(file: LogFile, more: bytes) -> LogFile:
    with open(file.path, "ab") as out:
        out.write(more)
    return LogFile.at(file.path)


@pytest.mark.parametrize("as_json", [False, True])
def test_reading_goes_on_from_a_saved_state(tmp_path: Path, as_json: bool) -> None:
    file = write(tmp_path, frames([header(), row(0), prompt(1, "one"), row(2, "x/y")]))
    state = read_log(file, config=CONFIG).state
    if as_json:
        state = msgspec.json.decode(msgspec.json.encode(state), type=ReadState)
    file = grown(file, frame(prompt(3, "two"), row(4, "x/y")) + frame(row(9)))
    with LogReader(file, config=CONFIG, resume=state) as reader:
        rows = [r for batch in reader.batches() for r in batch]
        assert [(r.seq, r.line, r.withheld) for r in rows] == [(3, 5, False), (4, 6, False), (9, 7, True)]
        whole = read_log(file, config=CONFIG)
        assert reader.findings == whole.findings
        assert (reader.rows_read, reader.rows_withheld) == (whole.rows, whole.withheld_rows)
        assert reader.state == whole.state


def test_rows_of_a_torn_frame_are_provisional_and_told_again(tmp_path: Path) -> None:
    last = frame(row(2), row(3))
    file = write(tmp_path, frames([header(), row(0), row(1)]) + last[:-3])
    with LogReader(file, config=CONFIG) as reader:
        rows = [r for batch in reader.batches() for r in batch]
        assert [(r.seq, r.provisional) for r in rows] == [(0, False), (1, False), (2, True), (3, True)]
        assert (reader.state.next_seq, reader.next_seq) == (2, 4)
        assert [f.detail for f in reader.findings] == ["torn-frame"]
        grown(file, last[-3:] + frame(row(4)))
        reader.refresh()
        rows = [r for batch in reader.batches() for r in batch]
        assert [(r.seq, r.provisional) for r in rows] == [(2, False), (3, False), (4, False)]
        assert reader.findings == []
        assert reader.refresh().stat.size == os.stat(file.path).st_size
        assert list(reader.batches()) == []


def test_a_repair_may_cut_the_torn_tail_and_write_on(tmp_path: Path) -> None:
    good = frames([header(), row(0), row(1)])
    file = write(tmp_path, good + frame(row(2), row(3))[:-9])
    with LogReader(file, config=CONFIG) as reader:
        list(reader.batches())
        with open(file.path, "r+b") as out:
            out.truncate(len(good))
            out.seek(0, 2)
            out.write(frame(row(2, "turn/end")))
        reader.refresh()
        assert [r.type for batch in reader.batches() for r in batch] == ["turn/end"]


def test_another_file_under_the_name_is_noticed(tmp_path: Path) -> None:
    content = frames([header(), row(0), row(1)])
    file = write(tmp_path, content)
    state = read_log(file, config=CONFIG).state
    with LogReader(file, config=CONFIG) as reader:
        list(reader.batches())
        other = Path(file.path + ".new")
        other.write_bytes(content + frame(row(2)))
        os.replace(other, file.path)
        with pytest.raises(LogChanged) as caught:
            reader.refresh()
        assert caught.value.how == "replaced"
    with pytest.raises(LogChanged):
        LogReader(LogFile.at(file.path), config=CONFIG, resume=state)
    os.unlink(file.path)
    with pytest.raises(FileNotFoundError):
        LogReader(file, config=CONFIG)


@pytest.mark.parametrize("longer", [True, False])
def test_a_rewritten_file_is_noticed_whatever_its_size(tmp_path: Path, longer: bool) -> None:
    file = write(tmp_path, frames([header(), row(0), row(1)]))
    with LogReader(file, config=CONFIG) as reader:
        list(reader.batches())
        with open(file.path, "r+b") as out:
            out.truncate(0)
            out.write(frames([header(), *[prompt(n, "other") for n in range(9 if longer else 0)]]))
        with pytest.raises(LogChanged) as caught:
            reader.refresh()
    assert caught.value.how == ("replaced" if longer else "truncated")


def test_the_issue_of_a_log_is_remembered_when_it_grows(tmp_path: Path) -> None:
    file = plain(tmp_path, row(0), row(5))
    state = read_log(file, config=CONFIG).state
    assert state.issue is not None
    assert not state.issue.turn_end
    grown(file, line(row(6)) + line(END))
    with LogReader(file, config=CONFIG, resume=state) as reader:
        assert [r.withheld for batch in reader.batches() for r in batch] == [True, True]
        assert [(f.detail, f.line) for f in reader.findings] == [("seq-gap", 3)]
        assert (reader.rows_read, reader.rows_withheld) == (4, 3)


def test_limits_are_findings(tmp_path: Path) -> None:
    config = msgspec.structs.replace(CONFIG, row_max_bytes=2000)
    log = read_log(plain(tmp_path, row(0), prompt(1, "x" * 300_000), row(2)), config=config)
    assert [e.seq for e in log.events] == [0]
    assert [(f.code, f.detail) for f in log.findings] == [(FindingCode.LIMIT_EXCEEDED, "row-limit")]
    assert log.withheld_rows == 2


def test_a_header_is_read_from_its_frame_alone(tmp_path: Path) -> None:
    file = write(tmp_path, frame(header(3, "x")) + b"whatever" * 1000, version=3, session_id="x")
    peek = read_header(file, config=CONFIG)
    assert peek.header is not None
    assert (peek.header.id, peek.header.version, peek.version, peek.findings) == ("x", 3, 3, [])
    assert json.loads(peek.line) == peek.raw == header(3, "x")


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"", "empty"),
        (b"\x28\xb5\x2f\xfd", "torn-header"),
        (frame(header())[:-9], "torn-header"),
        (os.urandom(0) + b"noise" * 50, "foreign-bytes"),
        (frame(b"[1]\n"), "header-json"),
        (frame(row(0)), "header-type"),
        (frame({**header(), "id": 5}), "header-id"),
        (frame({**header(), "id": ""}), "header-id-empty"),
        (frame(b"x" * 99), "header-frame"),
    ],
)
def test_a_file_without_usable_header_is_unreadable_for_a_reason(tmp_path: Path, content: bytes, detail: str) -> None:
    log = read_log(write(tmp_path, content), config=CONFIG)
    assert log.header is None
    assert (log.events, log.rows) == ([], log.withheld_rows)
    assert log.findings[0].code == FindingCode.UNREADABLE
    assert detail in (f.detail for f in log.findings) or detail == "header-json"


@pytest.mark.parametrize("plain", [False, True])
def test_the_lines_of_a_log_without_usable_header_are_all_there_and_withheld(tmp_path: Path, plain: bool) -> None:
    lines = [{**header(), "id": 5}, row(0), packed(1, ["a", "b"]), row(3)]
    content = text_of(lines) if plain else frames(lines)
    with LogReader(write(tmp_path, content, plain=plain), config=CONFIG) as reader:
        rows = [r for batch in reader.batches() for r in batch]
        assert [(r.line, r.type, r.seq, r.withheld, r.problem) for r in rows[1:]] == [
            (2, "turn/start", 0, True, "no-header"),
            (3, "text-chunks", 1, True, "seq-gap"),
            (4, "turn/start", 3, True, "seq-gap"),
        ]
        assert b"".join(reader.line_of(r) for r in rows) == text_of(lines)
        assert (reader.rows_read, reader.rows_withheld, reader.next_seq) == (4, 4, 0)


def test_a_first_frame_with_more_than_the_header_is_read_and_noted(tmp_path: Path) -> None:
    seqs, findings, _ = told(write(tmp_path, frame(header(), row(0)) + frame(row(1))))
    assert seqs == [0, 1]
    assert findings == [("header-frame", "header-frame")]


def test_a_log_of_a_newer_generation_is_read_as_far_as_possible(tmp_path: Path) -> None:
    replaced = {
        **prompt(1, "x"),
        "surfaceOp": {"op": "replace", "startSeq": 0, "endSeq": 0},
        "sourceEventSeqs": [[0, 0]],
    }
    log = read_log(plain(tmp_path, prompt(0, "a"), replaced, version=9), config=CONFIG)
    assert [f.code for f in log.findings] == [FindingCode.UNSUPPORTED_VERSION]
    assert log.events[1].source_event_seqs == [0]


def test_strict_reading_tells_minus_zero_in_a_payload_from_zero_whatever_stands_beside_it(tmp_path: Path) -> None:
    signed = b'{"type":"turn/start","seq":0,"time":1000,"data":{"turn":1,"n":[-0],"day":"2026-01-02"}}\n'
    strict = msgspec.structs.replace(CONFIG, mode="strict")
    for others in ([], [b'{"type":"\\ud800","seq":1,"time":1,"data":{}}\n']):
        log = read_log(write(tmp_path, frames([header(), signed, *others])), config=strict)
        assert str(log.events[0].data["n"]) == "[-0.0]"


@pytest.mark.parametrize(
    "text", ["1" + "0" * 400, "-" + "9" * 299, "9" * 4_300, "-" + "9" * 4_300, "1e400", "2.50", "7.0"]
)
def test_a_value_does_not_depend_on_the_rows_beside_it(tmp_path: Path, text: str) -> None:
    held = json.dumps(row(0, "todo/write", {"todos": [], "n": "N"})).replace('"N"', text).encode() + b"\n"
    alone = read_log(plain(tmp_path, held, session_id="alone"), config=CONFIG)
    # The fast parser takes rows by the batch; one that it refuses sends all of them the slow way.
    beside = read_log(plain(tmp_path, held, b'{"type": 7}\n', session_id="beside"), config=CONFIG)
    assert alone.events == beside.events[:1]
    assert beside.withheld_rows == 1


@pytest.mark.parametrize("depth", [150, 250, 40_000])
def test_a_row_nested_too_deep_is_withheld_with_its_reason(tmp_path: Path, depth: int) -> None:
    deep = b'{"type":"turn/end","seq":1,"time":1,"data":' + b"[" * depth + b'"]"' + b"]" * depth + b"}\n"
    log = read_log(write(tmp_path, frames([header(), row(0), deep, row(2)])), config=CONFIG)
    assert log.rows == 3
    if depth < 200:
        assert len(log.events) == 3
    else:
        assert [event.seq for event in log.events] == [0]
        assert log.findings[0].message.startswith("Line 3 is nested too deep; 2 rows from there on are withheld")
