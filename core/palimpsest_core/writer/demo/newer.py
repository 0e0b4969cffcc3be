"""Logs of the newer generations, so that a list shows mixed formats. Raw-written: the writer itself writes generation 0 only."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

from palimpsest_core.base.jsjson import js_json
from palimpsest_core.storage.layout import ZSTD, log_file_name, project_folder_name, session_folder_name
from palimpsest_core.writer.demo.calls import Row, bash, edit, grep, read
from palimpsest_core.writer.demo.script import SYSTEM_PROMPT, Script
from palimpsest_core.writer.logfile import encode_batch, publish
from palimpsest_core.writer.rows import pack_rows

CWD = "/home/mira/code/tidepool"
_HOUR = 3_600_000


def write_newer(root: Path, start: int) -> list[str]:
    """Write one log each of generations 2, 3 and 4, and one that lies in two generations; returns their ids."""
    second = _retention(start)
    third = _query_cache(start + 5 * _HOUR)
    fourth = _wal_checksum(start + 30 * _HOUR)
    both = _bench_noise(start + 40 * _HOUR)
    for script, generation in ((second, 2), (third, 3), (fourth, 4), (both, 0), (both, 3)):
        _write(root, script, generation)
    return [second.id, third.id, fourth.id, both.id]


def _write(root: Path, script: Script, generation: int) -> None:
    header, rows = as_generation(script, generation)
    folder = root / project_folder_name(script.cwd) / session_folder_name(script.id)
    path = folder / log_file_name(generation, ZSTD)
    body = "".join([js_json(row) + "\n" for row in rows]).encode("utf-8")
    publish(path, encode_batch((js_json(header) + "\n").encode("utf-8"), "zstd") + encode_batch(body, "zstd"))
    os.utime(path, (script.time / 1000, script.time / 1000))


def as_generation(script: Script, generation: int) -> tuple[Row, list[Row]]:
    """The header and rows of a told session as a harness of that generation would log it (0, 2, 3 or 4).

    From 2 on streamed chunks live inside their message and do not count; from 3 on the system prompt is a message of
    its own; in 4 a tool result is a message in the tool's own role.
    """
    if generation == 0:
        return script.header, [dict(row) for row in pack_rows(script.events)]
    header = {key: value for key, value in script.header.items() if key != "seedLength"}
    header["version"] = generation
    header["isSeeded"] = False
    rows: list[Row] = []
    moved: dict[int, int] = {}
    stream: list[Row] = []
    for event in copy.deepcopy(script.events):
        if event["type"] == "assistant/chunk":
            stream.append(event)
            continue
        moved[event["seq"]] = len(rows)
        row = _modern(event, generation, moved)
        row["seq"] = len(rows)
        if event["type"] == "assistant/message":
            row["data"]["stream"] = _embedded(stream)
            row.pop("sourceEventSeqs", None)
            stream = []
        rows.append(row)
        if generation >= 3 and event["type"] == "step/start" and not any(r["type"] == "system/message" for r in rows):
            rows.append(_system_message(row, generation))
    return header, rows


def _modern(event: Row, generation: int, moved: dict[int, int]) -> Row:
    data = event["data"]
    if "sourceEventSeqs" in event and event["type"] != "assistant/message":
        event["sourceEventSeqs"] = [moved[seq] for seq in event["sourceEventSeqs"]]
    if "messageSeqs" in data:
        data["messageSeqs"] = [moved[seq] for seq in data["messageSeqs"]]
    if "shadowedSeqs" in data:
        data["shadowedSeqs"] = [moved[seq] for seq in data["shadowedSeqs"]]
        data["shadowedRange"] = {key: moved[seq] for key, seq in data["shadowedRange"].items()}
    op = event.get("surfaceOp")
    if isinstance(op, dict):
        names = ("startSeq", "endSeq") if generation >= 3 else ("start", "end")
        event["surfaceOp"] = {"op": "replace", names[0]: moved[op["start"]], names[1]: moved[op["end"]]}
    if generation >= 3 and event["type"] == "request/header":
        data["header"].pop("system", None)
    if generation >= 4:
        _fourth(event)
    return event


def _fourth(event: Row) -> None:
    data = event["data"]
    if event["type"] == "tool/result":
        message = data["message"]
        block = message["content"][0]
        message.update({"role": "tool", "toolCallId": block["toolCallId"], "content": block["content"]})
        if block.get("isError"):
            message["isError"] = True
    elif event["type"] == "user/message" and data["source"]["kind"] == "plugin":
        source = data["source"]
        plugin = source.pop("plugin")
        source["kind"] = "compact-checkpoint" if plugin == "compact" else f"plugin:{plugin}"


def _system_message(step: Row, generation: int) -> Row:
    source: Row = (
        {"kind": "system-prompt"} if generation >= 4 else {"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"}
    )
    message = {
        "id": f"sys_{step['time']}",
        "role": "system",
        "content": [{"type": "text", "text": SYSTEM_PROMPT}],
        "source": source,
    }
    data = {**step["data"], "message": message}
    return {"type": "system/message", "seq": step["seq"] + 1, "time": step["time"], "data": data, "surfaceOp": "append"}


def _embedded(chunks: list[Row]) -> list[Row]:
    out: list[Row] = []
    for row in pack_rows(chunks):
        data: dict[str, Any] = row["data"]
        if "dt" in data:
            kept = {key: value for key, value in data.items() if key not in ("turn", "step")}
            out.append({"type": row["type"], "time0": row["time0"], **kept})
        else:
            out.append({"type": "chunk", "time": row["time"], "chunk": data["chunk"]})
    return out


def _retention(start: int) -> Script:
    s = Script("0198f0a2-retention", start, CWD)
    s.user(
        "Retention should work per series, not per database. Where is it decided today?", title="Retention per series"
    )
    s.step(
        say="I'll look for the place that drops segments.",
        calls=[
            grep(
                "retention",
                "src/expire.rs:12: let keep = config.retention;\nsrc/config.rs:55: pub retention: Duration",
                "src",
            )
        ],
    )
    s.step(
        say="In one place: `src/expire.rs:12` reads `config.retention` once for the whole database. A per-series value needs a lookup by series id there and a default in `config.rs`."
    )
    s.end()
    return s


def _query_cache(start: int) -> Script:
    s = Script("0198f1b8-query-cache", start, CWD, model="deepseek-v4-pro")
    s.user("The query cache never seems to hit. Check the key.", title="Query cache never hits")
    s.step(
        think="If the key holds the absolute end time of the range, every query is new.",
        say="I suspect the time range in the key.",
        calls=[
            read("src/cache.rs", "fn key(q: &Query) -> u64 {\n    hash((&q.expr, q.range.start, q.range.end))\n}"),
            bash("cargo test cache -- --nocapture | grep hits", "hits=0 misses=412"),
        ],
    )
    first = s.surface()[0]
    s.step(
        say="The key holds `range.end`, which is *now* for live dashboards. Rounding both ends to the step makes keys repeat.",
        calls=[
            edit(
                "src/cache.rs",
                "    hash((&q.expr, q.range.start, q.range.end))",
                "    let (from, to) = q.range.aligned_to(q.step);\n    hash((&q.expr, from, to))",
                2,
            ),
            bash("cargo test cache -- --nocapture | grep hits", "hits=397 misses=15"),
        ],
    )
    s.end()
    s.compact(
        first,
        s.surface()[-2],
        "The cache key held the exact end time; it is now aligned to the query step. Hits went from 0 to 397 of 412 in the test.",
    )
    s.user("Does alignment change results at the edges?", idle=120)
    s.step(
        say="Yes, by at most one step at each end: an aligned query can include up to one extra step. Dashboards draw whole steps anyway; the API now returns the aligned range in its answer so that a client can cut it."
    )
    s.end()
    return s


def _wal_checksum(start: int) -> Script:
    s = Script("0198f3c6-wal-checksum", start, CWD)
    s.user(
        "Recovery stops at the first bad WAL record. It should skip a torn tail but refuse a bad record in the middle.",
        title="WAL recovery: torn tail or corruption",
    )
    s.step(
        say="I'll read the recovery loop.",
        calls=[
            read(
                "src/wal/recover.rs",
                "while let Some(record) = reader.next()? {\n    if !record.checksum_ok() { break }\n    apply(record)?\n}",
            ),
            grep("fn next", "src/wal/reader.rs:90", "src/wal"),
        ],
    )
    s.step(
        calls=[
            edit(
                "src/wal/recover.rs",
                "    if !record.checksum_ok() { break }",
                "    if !record.checksum_ok() {\n        if reader.is_last(&record) { break }\n        return Err(Corrupt::at(record.offset))\n    }",
                2,
            ),
            bash("cargo test wal", "test torn_tail_is_dropped ... ok\ntest bad_middle_is_refused ... ok"),
        ]
    )
    s.step(
        say="A bad last record counts as a torn tail and is dropped; a bad record with others behind it is an error that names its offset. Both have a test."
    )
    s.end()
    return s


def _bench_noise(start: int) -> Script:
    s = Script("0198f4e1-bench-noise", start, CWD)
    s.user(
        "Benchmarks vary by 15 % between runs on the CI machines. How do we get them stable?",
        title="Noisy benchmarks on CI",
    )
    s.step(
        say="First, what varies: the clock, the neighbours, or us?",
        calls=[
            bash(
                "cargo bench --bench ingest -- --sample-size 200 | tail -2",
                "time: [91.2 ms 103.8 ms 118.4 ms]\nFound 31 outliers among 200 measurements (15.50%)",
                seconds=95,
            )
        ],
    )
    s.step(
        say="The minimum is stable (±1.5 %), the mean is not: neighbours. Compare minima, or count instructions with `iai-callgrind`, which does not care about neighbours at all."
    )
    s.end()
    return s
