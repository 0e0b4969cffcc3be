"""Stored lines: byte for byte what the harness writes."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from palimpsest_core.base.jsjson import NotPlainJson, js_json, js_number, plain_copy
from palimpsest_core.writer.rows import pack_rows, stored_lines

CORPORA = Path(__file__).parents[1] / "conformance"


def delta(
    seq: int, text: str, *, index: object = 0, time: int | None = None, kind: str = "text-delta", **more: object
) -> dict:
    key = "argumentsDelta" if kind == "tool-call-delta" else "text"
    chunk = {"type": kind, "index": index, key: text, **more}
    return {
        "type": "assistant/chunk",
        "seq": seq,
        "time": 1000 + seq if time is None else time,
        "data": {"turn": 1, "step": 1, "chunk": chunk},
    }


def frames_of(stored: bytes) -> Iterator[bytes]:
    while stored:
        decoder = zstandard.ZstdDecompressor().decompressobj()
        yield decoder.decompress(stored)
        stored = decoder.unused_data


@pytest.mark.parametrize("corpus", ["basic", "search", "live"])
def test_every_recorded_frame_is_printed_again_byte_for_byte(corpus: str) -> None:
    frames = 0
    with tarfile.open(CORPORA / corpus / "roots.tar.gz") as archive:
        for member in archive:
            if not member.name.endswith(".zstd") or "wreck" in member.name:
                continue
            stored = archive.extractfile(member)
            assert stored is not None
            for text in frames_of(stored.read()):
                rows = [json.loads(line) for line in text.split(b"\n")[:-1]]
                assert stored_lines(rows, pack=False) == text
                frames += 1
    assert frames > 20


def test_unpacked_logs_pack_to_what_the_harness_packed() -> None:
    logs: dict[str, bytes] = {}
    with tarfile.open(CORPORA / "basic" / "roots.tar.gz") as archive:
        for member in archive:
            if member.isfile() and member.name.startswith(("zstd-packed/", "zstd-unpacked/")):
                stored = archive.extractfile(member)
                assert stored is not None
                logs[member.name] = stored.read()
    pairs = [(name, name.replace("unpacked", "packed")) for name in logs if name.startswith("zstd-unpacked/")]
    assert pairs
    for unpacked, packed in pairs:
        for text, wanted in zip(frames_of(logs[unpacked]), frames_of(logs[packed]), strict=True):
            assert stored_lines([json.loads(line) for line in text.split(b"\n")[:-1]]) == wanted


def test_three_deltas_of_one_block_make_one_row() -> None:
    [row] = pack_rows([delta(4, "a"), delta(5, "b", time=999), delta(6, "c", time=2000)])
    assert row == {
        "type": "text-chunks",
        "seq0": 4,
        "time0": 1004,
        "data": {"turn": 1, "step": 1, "index": 0, "dt": [-5, 1001], "texts": ["a", "b", "c"]},
    }


@pytest.mark.parametrize(
    "odd",
    [
        delta(6, "c", index=1),
        delta(6, "c", kind="reasoning-delta"),
        delta(7, "c"),
        delta(6, "c", note="x"),
        delta(6, "c", index="0"),
        {**delta(6, "c"), "ignorable": True},
        delta(6, "c", time=-(2**53) + 1),
    ],
)
def test_a_run_ends_where_something_differs(odd: dict) -> None:
    rows = [delta(4, "a"), delta(5, "b"), odd]
    assert list(pack_rows(rows)) == rows


def test_a_tool_call_run_keeps_its_id_and_name() -> None:
    run = [delta(n, "x", kind="tool-call-delta", id="call_1", name="grep") for n in range(3)]
    [row] = pack_rows(run)
    assert list(row["data"]) == ["turn", "step", "index", "dt", "id", "name", "args"]
    assert [r["type"] for r in pack_rows([*run[:2], delta(2, "x", kind="tool-call-delta", id="call_1")])] == [
        "assistant/chunk"
    ] * 3


def test_a_lone_half_is_escaped_and_a_split_pair_is_joined() -> None:
    assert js_json(["\ud83d", "\ud83d\ude00", "é\x00\x7f\u2028"]) == '["\\ud83d","😀","é\\u0000\x7f\u2028"]'


@pytest.mark.parametrize(
    "value,text",
    [
        (1.0, "1"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (0.000001, "0.000001"),
        (-0.0, "0"),
        (5e-324, "5e-324"),
        (0.1, "0.1"),
        (123456789012345680000.0, "123456789012345680000"),
        (1.5e300, "1.5e+300"),
        (2**60, "1152921504606847000"),
        (2**53 + 1, "9007199254740992"),
    ],
)
def test_numbers_are_printed_as_the_harness_prints_them(value: float, text: str) -> None:
    assert js_number(value) == text


def test_plain_values_are_copied_and_made_canonical() -> None:
    given = {"a": [1.0, True, None, "x"], "b": (2, {"c": 0.5})}
    copied = plain_copy(given)
    assert copied == {"a": [1, True, None, "x"], "b": [2, {"c": 0.5}]}
    assert type(copied["a"][0]) is int
    copied["a"].append(1)
    assert len(given["a"]) == 4


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.0, 10**400, -(10**400), {1: 2}, {1, 2}, b"x", object()])
def test_values_that_json_would_lose_are_refused_with_their_place(bad: object) -> None:
    with pytest.raises(NotPlainJson) as caught:
        plain_copy({"data": {"list": [0, bad]}})
    assert caught.value.path == "data.list[1]"


def test_a_value_that_holds_itself_is_refused_and_a_shared_one_is_not() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(NotPlainJson):
        plain_copy(loop)
    shared = [1]
    assert plain_copy([shared, shared]) == [[1], [1]]


def test_nesting_beyond_the_interpreter_is_refused_not_a_crash() -> None:
    deep: object = 0
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotPlainJson):
        plain_copy(deep)


def test_batches_end_runs() -> None:
    run = [delta(n, "x") for n in range(4)]
    assert stored_lines(run[:2]) + stored_lines(run[2:]) == stored_lines(run, pack=False)
    assert len(io.BytesIO(stored_lines(run)).readlines()) == 1
