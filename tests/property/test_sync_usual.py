"""Rows taken by columns give what the same rows give one by one: documents, findings and the place to go on from."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loglike import CHUNK, PAYLOAD, TYPES
from logmaking import frame, header, packed, prompt, row, write

from palimpsest_core.formats import rowscan
from palimpsest_core.formats.usual import UsualRows
from palimpsest_core.log.text import registry_for
from palimpsest_core.model.config import Config
from palimpsest_core.storage import lines
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.sync import extract as extraction
from palimpsest_core.sync.extract import End, Piece, extract

OP = st.sampled_from(["append", "append", "append", None, {"type": "replace", "start": 1, "end": 2}, {"x": 1}])
SOURCES = st.none() | st.lists(st.integers(0, 40) | st.lists(st.integers(0, 40), min_size=2, max_size=2), max_size=3)
ODD_ROWS = [
    b'{"type":"todo/write","seq":%d.0,"time":1e3,"data":{"x":"\\ud83d"}}\n',
    b'{"type":"turn/start","seq":%d,"time":-0,"data":{"turn":1}}\n',
    b'{"type":"turn/start","seq":%d,"time":5,"data":' + b'{"a":' * 250 + b"1" + b"}" * 250 + b"}\n",
    b'{"type":"turn/start","seq":%d,"time":5}\n',
    b'{"type":"turn/start","seq":%d,"time":5,"seq0":7,"data":{}}\n',
    b'{"type":"turn/start","seq":1%d,"time":5,"data":{}}\n',
    b'{"type":"user/message","seq":%d,"time":5,"data":{"content":[{"type":"text","text":"\\ud83d"}]}}\n',
    b' {"type":"turn/end",\r"seq":%d,"time":5,"data":{"turn":1}} \n',
    b'{"type":"text-chunks","seq0":%d,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[-9],"texts":["a","b"]}}\n',
    b'{"type":"text-chunks","seq0":%d,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a","b"]}}\n',
]
"""Rows that ask for a closer look, each for another reason; the number is to be filled in."""

ODD = st.sampled_from(ODD_ROWS)
OLD_RESULT = {"turn": 1, "step": 1, "callId": "c1", "content": [{"type": "text", "text": "found"}]}


CALL = {"type": "tool-call", "id": "c1", "name": "grep", "arguments": '{"path": "x"}'}


def answer(draw: st.DrawFn) -> dict[str, Any]:
    blocks = draw(st.lists(st.sampled_from([{"type": "text", "text": "said"}, CALL, {"type": "image"}]), max_size=3))
    source = draw(st.sampled_from([{}, {"source": {"kind": "model", "model": "m1"}}, {"source": {"model": "m2"}}]))
    return {"turn": 1, "step": 1, "message": {"id": "a", "role": "assistant", "content": blocks, **source}}


def result(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.integers(0, 7)) == 0:
        return OLD_RESULT
    block = {"type": "tool-result", "toolCallId": "c1", "content": OLD_RESULT["content"]}
    return {"turn": 1, "message": {"source": {"kind": "tool", "callId": "c1"}, "content": [block]}}


def streamed(draw: st.DrawFn) -> list[Any]:
    """What is streamed before an answer: how many chunks each packed row holds, or the payload of one chunk."""
    kinds = st.sampled_from([1, 2, 3, "chunk", "call"] if draw(st.booleans()) else [1, 2, 3])
    return [draw(CHUNK) if kind == "chunk" else kind for kind in draw(st.lists(kinds, max_size=3))]


@st.composite
def logs(draw: st.DrawFn) -> tuple[int, list[list[Any]]]:
    """A generation, and the frames of a log: header, then turns as they come about, or cut off, or with odd rows."""
    version = draw(st.sampled_from([0, 0, 1, 2, 3, 4, 5]))
    strange = draw(st.sampled_from([0, 0, 0, 3, 30]))
    rows: list[Any] = []
    seq = 0

    def add(kind: str, data: Any, **marks: Any) -> None:
        nonlocal seq
        at, chance = seq, draw(st.integers(0, 99))
        seq += 1
        if chance < strange:
            odd = draw(st.integers(0, 4))
            if odd == 0:
                rows.append(draw(ODD) % at)
                return
            if odd == 1:
                kind = draw(TYPES)
            if odd <= 2:
                data = draw(PAYLOAD)
            else:
                op, sources = draw(OP), draw(SOURCES)
                marks = {} if op is None else {"surfaceOp": op}
                marks |= {} if sources is None else {"sourceEventSeqs": sources}
        rows.append(row(at, kind, data, **marks))

    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 9)):
            add("turn/start", {"turn": 1})
        for _ in range(draw(st.integers(0, 2))):
            if draw(st.booleans()):
                queued = {"id": f"m{seq + 1}", "content": [{"type": "text", "text": "queued"}]}
                add("agent/inbox/spliced", {"inserted": [queued]})
            rows.append(prompt(seq, draw(st.sampled_from(["", "do it", "é"]))))
            seq += 1
        for _ in range(draw(st.integers(0, 3))):
            add("step/start", {"turn": 1, "step": 1})
            first = seq
            for piece in streamed(draw) if version < 2 else []:
                if piece == "call":
                    data = {"turn": 1, "step": 1, "index": 1, "dt": [], "args": ["{}"], "id": "c"}
                    rows.append({**packed(seq, []), "type": "tool-call-chunks", "data": data})
                    seq += 1
                elif isinstance(piece, int):
                    texts = [f"streamed{seq}", "b", "c"][:piece]
                    made = packed(seq, texts)
                    made["data"]["dt"] = draw(st.lists(st.integers(-1, 5), min_size=piece - 1, max_size=piece - 1))
                    rows.append(made)
                    seq += piece
                else:
                    add("assistant/chunk", {"turn": 1, "step": 1, "chunk": piece})
            cited = draw(st.sampled_from([None, None, [[first, seq - 1]], list(range(first, seq)), [0]]))
            if draw(st.integers(0, 7)) == 0:
                add("llm/retry", {"turn": 1, "step": 1, "retry": 1, "failure": {"message": "lost"}})
            if draw(st.integers(0, 4)):
                add(
                    "assistant/message",
                    answer(draw),
                    surfaceOp="append",
                    **({"sourceEventSeqs": cited} if cited else {}),
                )
            for _ in range(draw(st.integers(0, 2))):
                add("tool/call", {"turn": 1, "step": 1, "callId": "c1", "name": "grep", "arguments": "{}"})
                if draw(st.integers(0, 4)):
                    add("tool/result", result(draw), surfaceOp="append")
            if draw(st.integers(0, 4)):
                add("step/end", {"turn": 1, "step": 1})
        if draw(st.integers(0, 4)):
            add("turn/end", {"turn": 1, "reason": {"kind": draw(st.sampled_from(["completed", "aborted"]))}})
    rows = rows[: draw(st.integers(0, len(rows)) | st.just(len(rows)))]
    pieces = [[header(version)]]
    while rows:
        size = draw(st.integers(1, 6))
        pieces.append(rows[:size])
        rows = rows[size:]
    return version, pieces


def nothing_usual(*_: Any, next_seq: int, last: int, line: int, offset: int, **__: Any) -> UsualRows:
    """What `usual_rows` says of rows of which none is usual."""
    return UsualRows([], [next_seq], [last], [offset], [], {}, line, False)


def pieces_of(file: LogFile, state: bytes | None, config: Config) -> list[Piece]:
    registry = registry_for(config.extractors)
    return list(extract(str(Path(file.path).parents[2]), file, state, config=config, registry=registry))


def assert_equal_ways(file: LogFile, state: bytes | None, config: Config) -> list[Piece]:
    """Read a log by columns and row by row; returns the pieces, which must be the same."""
    quick = pieces_of(file, state, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rowscan, "usual_rows", nothing_usual)
        assert quick == pieces_of(file, state, config)
    return quick


@given(logs(), st.integers(1, 3000), st.integers(1, 200), st.sampled_from(["full", "reference"]), st.floats(0, 1))
@settings(max_examples=150)
def test_rows_by_columns_give_what_they_give_one_by_one(
    made: tuple[int, list[list[Any]]], batch: int, part: int, extractors: str, cut: float
) -> None:
    version, groups = made
    stored = [frame(*group) for group in groups]
    config = Config(extractors=extractors)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", batch)
        patch.setattr(extraction, "PART_CHARS", part)
        file = write(Path(folder), b"".join(stored[: 1 + int(cut * len(stored))]), version=version)
        last = assert_equal_ways(file, None, config)[-1]
        file = write(Path(folder), b"".join(stored), version=version)
        assert_equal_ways(file, last.state if isinstance(last, End) else None, config)


SAID = {
    "turn": 1,
    "step": 1,
    "message": {"id": "a", "role": "assistant", "content": [{"type": "text", "text": "said"}]},
}


@pytest.mark.parametrize("version", [0, 1, 4])
@pytest.mark.parametrize(
    "odd",
    [
        *(text % 5 for text in ODD_ROWS),
        row(5, "tool/result", OLD_RESULT, surfaceOp="append"),
        row(5, "turn/end", {"turn": 1}, surfaceOp="append"),
        row(5, "turn/end", {"turn": 1}, sourceEventSeqs=[1]),
        row(5, "steering/message", {"turn": 1, "content": [{"type": "text", "text": "left"}]}, surfaceOp="append"),
        row(5, "assistant/message", SAID, surfaceOp="append", sourceEventSeqs=[1]),
        row(5, "assistant/message", SAID, surfaceOp="append", sourceEventSeqs=[[3, 4]]),
        row(5, "assistant/message", SAID, surfaceOp="append", sourceEventSeqs={"a": 1}),
        row(5, "assistant/message", {**SAID, "message": {**SAID["message"], "source": {"model": "m"}}}),
        row(5, "session/title", {"title": "New", "messageSeqs": [], "source": {"kind": "user"}}),
        row(5, "acme/unknown", {"a": "b"}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("rest", [False, True])
def test_one_odd_row_among_usual_ones_is_no_less_odd(tmp_path: Path, version: int, odd: Any, rest: bool) -> None:
    chunks = [packed(3, ["streamed", "b"])] if version < 2 else [row(3, "step/start"), row(4, "step/end")]
    before = [row(0), prompt(1, "do it"), row(2, "step/start"), *chunks]
    answer = row(6, "assistant/message", SAID, surfaceOp="append")
    after = [answer, row(7, "step/end"), row(8, "turn/end", {"turn": 1, "reason": {"kind": "aborted"}})]
    file = write(tmp_path, frame(header(version)) + frame(*before, odd, *(after if rest else [])), version=version)
    last = assert_equal_ways(file, None, Config())[-1]
    assert isinstance(last, End)
    assert len(last.changes.documents) + len(last.closing) > 0
