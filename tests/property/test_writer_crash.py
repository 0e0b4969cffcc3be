"""Whatever was written reads back, however it was cut into batches, and wherever a crash cut the file."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_core.formats.reader import read_log
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import event_json
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.writer.rows import pack_rows, stored_lines
from palimpsest_core.writer.store import JsonlStore

HEADER = {"id": "a", "createdAt": 5, "cwd": "/w"}
CONFIG = Config()

words = st.text(st.characters(codec="utf-8") | st.sampled_from("\ud83d\ude00"), max_size=6)
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False).map(
    lambda n: int(n) if n.is_integer() and abs(n) < 2**53 else n
)
plain = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def deltas(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["text-delta", "text-delta", "reasoning-delta", "tool-call-delta"]))
    chunk: dict[str, Any] = {"type": kind, "index": draw(st.integers(0, 1))}
    if kind == "tool-call-delta":
        chunk |= {"id": draw(st.sampled_from(["c", "d"])), "argumentsDelta": draw(words)}
        if draw(st.booleans()):
            chunk["name"] = "grep"
    else:
        chunk["text"] = draw(words)
    return {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}}


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    other = st.builds(lambda data: {"type": "todo/write", "data": data}, st.dictionaries(words, plain, max_size=2))
    rows = draw(st.lists(st.one_of(deltas(), deltas(), other), min_size=1, max_size=12))
    time = draw(st.integers(0, 10**12))
    out = []
    for seq, row in enumerate(rows):
        time += draw(st.integers(-5, 2000))
        out.append({"type": row["type"], "seq": seq, "time": max(0, time), "data": row["data"]})
    return out


def read_back(path: Path) -> list[dict[str, Any]]:
    return [joined(event_json(event)) for event in read_log(LogFile.at(path), config=CONFIG).events]


def split(rows: list[Any], cuts: list[int]) -> list[list[Any]]:
    edges = [0, *sorted({cut % (len(rows) + 1) for cut in cuts}), len(rows)]
    return [rows[a:b] for a, b in pairwise(edges) if a < b]


def joined(value: Any) -> Any:
    """The value as a reader sees it: halves that stand together are one character, numbers too large are doubles."""
    if isinstance(value, int) and abs(value) >= 2**53:
        return float(value)
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if isinstance(value, dict):
        return {joined(key): joined(item) for key, item in value.items()}
    return [joined(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=100)
@given(logs(), st.lists(st.integers(0, 50), max_size=4), st.booleans(), st.sampled_from(["zstd", "none"]))
def test_any_split_into_batches_packed_or_not_reads_back_equal(
    rows: list[dict[str, Any]], cuts: list[int], pack: bool, compression: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(Path(folder), compression=compression, pack=pack)
        store.create(HEADER)
        for batch in split(rows, cuts):
            store.append("a", batch)
        assert read_back(store.locate(HEADER)) == joined(rows)


@settings(max_examples=100)
@given(logs())
def test_packing_keeps_the_order_and_the_number_of_events(rows: list[dict[str, Any]]) -> None:
    packed = list(pack_rows(rows))
    counts = [len(row["data"].get("texts", row["data"].get("args"))) if "seq0" in row else 1 for row in packed]
    assert sum(counts) == len(rows)
    firsts = [row.get("seq", row.get("seq0")) for row in packed]
    assert firsts == [sum(counts[:at]) for at in range(len(counts))]
    assert all(count >= 3 for row, count in zip(packed, counts, strict=True) if "seq0" in row)


@settings(max_examples=30)
@given(logs(), st.booleans())
def test_stored_text_is_stable(rows: list[dict[str, Any]], pack: bool) -> None:
    assert stored_lines(rows, pack=pack) == stored_lines(rows, pack=pack)


@settings(max_examples=40)
@given(logs(), st.sampled_from(["zstd", "none"]), st.data())
def test_a_crash_at_any_byte_of_an_append_leaves_what_was_there_and_can_be_continued(
    rows: list[dict[str, Any]], compression: str, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(Path(folder), compression=compression)
        first = [{"type": "todo/write", "seq": 0, "time": 1, "data": {"todos": []}}]
        second = [{**row, "seq": row["seq"] + 1} for row in rows]
        store.create(HEADER)
        store.append("a", first)
        path = store.locate(HEADER)
        before = path.read_bytes()
        store.append("a", second)
        after = path.read_bytes()
        # The places where something begins or ends, and a few between.
        inner = data.draw(st.lists(st.integers(len(before), len(after)), max_size=4))
        for cut in {len(before), len(before) + 1, len(after) - 1, len(after), *inner}:
            path.write_bytes(after[:cut])
            whole = joined([*first, *second])
            kept = read_back(path)
            assert kept == whole[: len(kept)]
            assert len(kept) >= len(first)
            again = JsonlStore(Path(folder), compression=compression)
            assert [joined(event_json(event)) for event in again.load("a").events] == kept
            following = {"type": "todo/write", "seq": len(kept), "time": 2, "data": {"todos": []}}
            again.append("a", [following])
            assert read_back(path) == [*kept, following]
