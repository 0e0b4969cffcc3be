"""A log that grows while it is open looks in the end like one that was opened whole, wherever the steps were cut."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from logmaking import frame, header, packed, prompt, row, text_of, write

from palimpsest_core.query.openlog import OpenLog
from palimpsest_core.query.reads import sources_of
from palimpsest_core.query.table import Flag

KINDS = ["plain", "packed", "turn", "end", "answer", "call", "result", "replace", "title", "bad-replace"]


def message(seq: int, call: str) -> dict[str, Any]:
    block = {"type": "tool-call", "id": call, "name": "n", "arguments": "{}"}
    made = {"id": f"m{seq}", "role": "assistant", "source": {"kind": "model"}, "content": [block]}
    return row(seq, "assistant/message", {"turn": 1, "step": 1, "message": made}, surfaceOp="append")


def result(seq: int, call: str) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": call, "content": [], "isError": seq % 2 == 0}
    made = {"id": f"m{seq}", "role": "user", "source": {"kind": "tool", "callId": call}, "content": [block]}
    data = {"turn": 1, "step": 1, "message": made}
    return row(seq, "tool/result", data, surfaceOp="append", sourceEventSeqs=[max(seq - 1, 0)])


@st.composite
def stored(draw: st.DrawFn) -> tuple[list[bytes], bool]:
    """The pieces in which a log came to be, header first, and whether it is plain."""
    rows: list[Any] = []
    surface: list[int] = []
    seq = 0
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=16)):
        call = f"c{draw(st.integers(0, 2))}"
        match kind:
            case "packed":
                rows.append(packed(seq, ["a"] * draw(st.integers(1, 4))))
                seq += len(rows[-1]["data"]["texts"])
                continue
            case "replace" if surface:
                start = draw(st.integers(0, len(surface) - 1))
                end = draw(st.integers(start, len(surface) - 1))
                gone = surface[start : end + 1]
                op = {"op": "replace", "start": gone[0], "end": gone[-1]}
                rows.append({**prompt(seq, "sum"), "surfaceOp": op, "sourceEventSeqs": sorted(gone)})
                surface[start : end + 1] = [seq]
            case "bad-replace":
                op = {"op": "replace", "start": 900, "end": 900}
                rows.append({**prompt(seq, "bad"), "surfaceOp": op, "sourceEventSeqs": [0]})
                surface.append(seq)
            case "turn":
                rows.append(row(seq, "turn/start", {"turn": 1}))
            case "end":
                rows.append(
                    row(seq, "turn/end", {"turn": 1, "reason": {"kind": draw(st.sampled_from(["error", "x"]))}})
                )
            case "answer":
                rows.append(message(seq, call))
                surface.append(seq)
            case "call":
                rows.append(row(seq, "tool/call", {"turn": 1, "step": 1, "callId": call, "name": "n", "arguments": ""}))
            case "result":
                rows.append(result(seq, call))
                surface.append(seq)
            case "title":
                data = {"title": f"t{seq}", "messageSeqs": [], "source": {"kind": "user"}}
                rows.append(row(seq, "session/title", data))
            case _:
                rows.append(prompt(seq, "p"))
                surface.append(seq)
        seq += 1
    if draw(st.booleans()):
        rows.insert(draw(st.integers(0, len(rows))), draw(st.sampled_from([b"{\n", row(99), row(0)])))
    is_plain = draw(st.booleans())
    pieces = [text_of([header()]) if is_plain else frame(header())]
    while rows:
        size = draw(st.integers(1, 4))
        group, rows = rows[:size], rows[size:]
        pieces.append(text_of(group) if is_plain else frame(*group))
    return pieces, is_plain


def picture(log: OpenLog) -> dict[str, Any]:
    """Everything that a log shows."""
    rows = [log.row(index) for index in range(len(log))]
    events = [log.event(index) for index in range(len(log))]
    seqs = [item.seq for item in rows if not item.flags & Flag.WITHHELD]
    return {
        "rows": rows,
        "events": events,
        "raw": [log.raw(index) for index in range(len(log))],
        "surface": log.fold.surface,
        "then": [log.surface_at(index) for index in range(len(log))],
        "title": log.title,
        "prompt": log.first_prompt,
        "open": log.open_turn,
        "findings": [finding.code for finding in log.findings],
        "counts": (log.rows_shown, log.rows_withheld),
        "cited": {seq: log.cited_by(seq) for seq in seqs},
        "places": {seq: log.index_of_seq(seq) for seq in seqs},
        "turns": log.turns(),
        "boundaries": log.boundaries(),
    }


@settings(max_examples=60)
@given(stored(), st.data())
def test_growing_in_steps_ends_like_opening_whole(made: tuple[list[bytes], bool], data: st.DataObject) -> None:
    pieces, is_plain = made
    content = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(len(pieces[0]), len(content)), max_size=4)))
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder), content[: cuts[0]] if cuts else content, plain=is_plain)
        log = OpenLog.start(file)
        log.load()
        for cut in [*cuts[1:], len(content)]:
            before = [log.row(index) for index in range(len(log))]
            with Path(file.path).open("ab") as appended:
                appended.write(content[appended.tell() : cut])
            growth = log.grow()
            assert (growth.replaced_file, growth.truncated, growth.gone) == (False, False, False)
            assert growth.first_new + growth.count == len(log)
            # Whoever redraws only what growth names sees the same as whoever redraws everything.
            for index in range(growth.first_new):
                assert index in growth.changed or log.row(index) == before[index]
        whole = OpenLog.start(file)
        whole.load()
        assert picture(log) == picture(whole)
        log.close()
        whole.close()


@settings(max_examples=60)
@given(stored())
def test_the_columns_agree_with_the_events(made: tuple[list[bytes], bool]) -> None:
    pieces, is_plain = made
    with tempfile.TemporaryDirectory() as folder:
        log = OpenLog.start(write(Path(folder), b"".join(pieces), plain=is_plain))
        log.load()
        events = [log.event(index) for index in range(len(log))]
        folded = [event for event, index in zip(events, range(len(log))) if not log.row(index).flags & Flag.WITHHELD]
        for index, event in enumerate(events):
            shown = log.row(index)
            assert (shown.seq, shown.type, shown.time) == (event.seq, event.type, event.time)
            assert event.synthetic == bool(shown.flags & Flag.SYNTHETIC)
        assert [event.seq for event in folded] == list(range(len(folded)))
        for event in folded:
            assert log.cited_by(event.seq) == [
                other.seq for other in folded if other.seq > event.seq and event.seq in sources_of(other)
            ]
        log.close()
