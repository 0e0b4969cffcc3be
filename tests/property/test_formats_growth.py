"""Reading a log in any number of steps equals reading it at once; a cut anywhere gives a prefix and never an error."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from logmaking import CONFIG, frame, header, packed, prompt, row, text_of, write

from palimpsest_core.formats.reader import LogReader, ReadState, StoredRow, read_log
from palimpsest_core.model.event import Event
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.storage.layout import LogFile

END = {"turn": 1, "reason": {"kind": "completed"}}


@st.composite
def sound_rows(draw: st.DrawFn) -> list[Any]:
    """Rows with dense numbers: prompts, packed rows, old shapes, odd JSON, turn ends."""
    rows: list[Any] = []
    seq = 0
    for kind in draw(st.lists(st.sampled_from(["plain", "packed", "old", "odd", "end", "unknown"]), max_size=14)):
        if kind == "packed":
            texts = draw(st.lists(st.text(max_size=3), min_size=1, max_size=4))
            rows.append(packed(seq, texts))
            seq += len(texts)
            continue
        rows.append(
            {
                "plain": prompt(seq, draw(st.text(max_size=8))),
                "old": row(seq, "steering/message", {"turn": 1, "content": [], "source": {"kind": "user"}}),
                "odd": b'{"type":"todo/write","seq":%d.0,"time":1e3,"data":{"x":"\\ud83d"}}\n' % seq,
                "end": row(seq, "turn/end", END),
                "unknown": row(seq, "x/y", ignorable=draw(st.booleans())),
            }[kind]
        )
        seq += 1
    return rows


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[bytes], bool]:
    """The pieces in which a log came to be (header first), and whether it is plain. Some have a defect inside."""
    rows = draw(sound_rows())
    defect = draw(st.sampled_from([None, None, b"{\n", b"\n", b"7\n", row(0), row(99), packed(1, ["a", "b"])]))
    if defect is not None:
        rows.insert(draw(st.integers(0, len(rows))), defect)
    is_plain = draw(st.booleans())
    pieces = [text_of([header()]) if is_plain else frame(header())]
    while rows:
        size = draw(st.integers(1, 4))
        group, rows = rows[:size], rows[size:]
        pieces.append(text_of(group) if is_plain else frame(*group))
    return pieces, is_plain


def seen(rows: list[StoredRow]) -> list[tuple[Any, ...]]:
    return [
        (r.type, r.seq, r.count, r.time, r.line, r.offset, r.length, r.withheld, r.provisional, r.fault) for r in rows
    ]


def take(reader: LogReader) -> tuple[list[StoredRow], list[Event]]:
    rows = [r for batch in reader.batches() for r in batch]
    return rows, [event for r in rows for event in reader.expand(r)]


@given(logs(), st.data())
def test_reading_in_steps_equals_reading_at_once(made: tuple[list[bytes], bool], data: st.DataObject) -> None:
    pieces, is_plain = made
    content = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(len(pieces[0]), len(content)), max_size=4)))
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder), content, plain=is_plain)
        whole = read_log(file, config=CONFIG)
        with LogReader(file, config=CONFIG) as reader:
            wanted, _ = take(reader)
        rows: list[StoredRow] = []
        events: list[Event] = []
        state: ReadState | None = None
        for cut in [*cuts, len(content)]:
            path = Path(file.path)
            with path.open("r+b" if state else "wb") as out:
                out.truncate(len(content[:cut]) if state is None or cut >= out.seek(0, 2) else cut)
                out.seek(0)
                out.write(content[:cut])
            now = LogFile.at(path)
            if state is not None and now.stat.size == state.stat.size:
                continue  # the same bytes again: nothing to go on with
            with LogReader(now, config=CONFIG, resume=state) as reader:
                if state is not None:
                    events = [event for event in events if event.seq < state.next_seq]
                    rows = [r for r in rows if r.line < state.next_line]
                more_rows, more_events = take(reader)
                rows += more_rows
                events += more_events
                state = msgspec.json.decode(msgspec.json.encode(reader.state), type=ReadState)
                findings, counts = reader.findings, (reader.rows_read, reader.rows_withheld)
        assert seen(rows) == seen(wanted)
        assert events == whole.events
        assert findings == whole.findings
        assert counts == (whole.rows, whole.withheld_rows)


@given(logs())
@settings(max_examples=25)
def test_a_cut_at_any_byte_gives_a_prefix_and_never_raises(made: tuple[list[bytes], bool]) -> None:
    pieces, is_plain = made
    content = b"".join(pieces)
    with tempfile.TemporaryDirectory() as folder:
        whole = read_log(write(Path(folder), content, plain=is_plain), config=CONFIG)
        for cut in range(0, len(content), max(1, len(content) // 150)):
            log = read_log(write(Path(folder), content[:cut], plain=is_plain), config=CONFIG)
            assert log.events == whole.events[: len(log.events)]
            codes = {finding.code for finding in log.findings}
            if log.header is None:
                assert FindingCode.UNREADABLE in codes
            elif not whole.findings:
                assert codes <= {FindingCode.TORN_TAIL, FindingCode.UNKNOWN_REQUIRED_EVENT}


@given(logs(), st.data())
def test_flipped_and_foreign_bytes_never_raise(made: tuple[list[bytes], bool], data: st.DataObject) -> None:
    pieces, is_plain = made
    content = bytearray(b"".join(pieces))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[at] ^= data.draw(st.integers(1, 255))
        else:
            content[at:at] = data.draw(st.binary(max_size=9))
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder), bytes(content), plain=is_plain)
        log = read_log(file, config=CONFIG)
        assert [event.seq for event in log.events] == list(range(len(log.events)))
        with LogReader(file, config=CONFIG) as reader:
            rows, events = take(reader)
            assert events == log.events
            text = b"".join(reader.line_of(r) for r in rows)
            if rows:
                start = rows[0].offset
                assert reader.line_at(start, len(text)) == text
            for r in rows:
                if not r.withheld:
                    assert reader.events_at(r.offset, r.length, r.seq, r.time) == reader.expand(r)
