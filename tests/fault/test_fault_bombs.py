"""Small files that claim to hold very much: they give findings, and no memory goes to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, header, prompt, row, text_of, write

import palimpsest_core

BLOCK = 128 << 10
TEN_GIGABYTES = (10 << 30) // BLOCK
_MEMORY = 500 << 20
"""What the process may take on top of what the interpreter and its libraries have mapped (bytes)."""

_ASK = """
import json, resource, sys
from pathlib import Path
import apsw, msgspec, zstandard
from palimpsest_core import Engine
from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.export.transcript import Form
from palimpsest_core.model.config import APP_CONFIG

root, out, room = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
with open("/proc/self/statm") as statm:
    mapped = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + room, mapped + room))
told = {}
config = msgspec.structs.replace(APP_CONFIG, row_max_bytes=64 << 20)
with Engine(root, index=":memory:", config=config) as engine:
    told["listed"] = sorted(row.id for row in engine.sessions())
    engine.refresh()
    told["found"] = sorted(hit.header.id for hit in engine.search_sessions("needle").items)
    for name in told["listed"]:
        with engine.open_log(name).closing() as log:
            log.load()
            told[name] = [log.rows_shown, log.rows_withheld, [f.detail for f in log.findings if f.detail]]
        for call in (
            lambda: engine.read_session(name),
            lambda: engine.list_events(name),
            lambda: engine.filter_events(name, [{"kind": "text", "text": "x"}]),
            lambda: engine.transcript(name, out / f"{name}.md", Form.MARKDOWN),
            lambda: engine.rescue(name, out),
            lambda: engine.export(engine.plan_export(name), out / f"{name}.zip"),
        ):
            try:
                call()
            except SessionQueryError as error:
                told.setdefault("refused", []).append([name, error.code.value])
print(json.dumps(told))
"""


def run_lengths(count: int, byte: bytes = b"x", *, window: int = 17) -> bytes:
    """A frame of `count` blocks, 128 KB of one byte each, told in four bytes a block."""
    made = bytearray(b"\x28\xb5\x2f\xfd\x00" + bytes([(window - 10) << 3]))
    for place in range(count):
        made += (BLOCK << 3 | 1 << 1 | (place == count - 1)).to_bytes(3, "little") + byte
    return bytes(made)


def asked(root: Path, out: Path, room: int = _MEMORY) -> dict[str, Any]:
    """What a process with little memory tells about a root."""
    out.mkdir()
    core = Path(palimpsest_core.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _ASK, str(root), str(out), str(room)],
        env={**os.environ, "PYTHONPATH": str(core), "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


SOUND = [row(0), prompt(1, "needle")]


def log(root: Path, name: str, *frames_behind: bytes, plain: bool = False) -> None:
    made = text_of([header(session_id=name), *SOUND]) if plain else frame(header(session_id=name)) + frame(*SOUND)
    write(root, made + b"".join(frames_behind), session_id=name, plain=plain)


pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the mapped memory cannot be told")


def test_a_bomb_is_a_finding_and_takes_no_memory(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    log(root, "healthy", frame(row(2)))
    log(root, "ten-gigabytes", run_lengths(TEN_GIGABYTES), frame(row(2)))
    log(root, "wide-window", run_lengths(1, window=30), frame(row(2)))
    told = asked(root, tmp_path / "out")
    assert told["found"] == told["listed"] == ["healthy", "ten-gigabytes", "wide-window"]
    assert told["healthy"] == [3, 0, []]
    assert told["ten-gigabytes"] == [2, 0, ["expansion"]]
    assert told["wide-window"] == [2, 1, ["window"]]
    assert "refused" not in told


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_kind_of_bomb_takes_memory(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    log(root, "healthy", frame(row(2)))
    log(root, "torn-bomb", run_lengths(TEN_GIGABYTES)[:-1])
    log(root, "many-bombs", run_lengths(TEN_GIGABYTES // 100) * 100, frame(row(2)))
    log(root, "lines", run_lengths(400, b"\n"), frame(row(2)))
    log(root, "gigabytes-of-lines", run_lengths(TEN_GIGABYTES, b"\n"), frame(row(2)))
    log(root, "torn-lines", run_lengths(TEN_GIGABYTES, b"\n")[:-1])
    log(root, "long-row", b"x" * (300 << 20) + b"\n", text_of([row(2)]), plain=True)
    write(root, run_lengths(TEN_GIGABYTES), session_id="all-bomb")
    told = asked(root, tmp_path / "out")
    assert told["found"] == sorted({*told["listed"]} - {"all-bomb"})
    assert told["healthy"] == [3, 0, []]
    assert told["torn-bomb"] == [2, 1, ["torn-frame"]]
    assert told["many-bombs"][0] == 2
    assert "expansion" in told["many-bombs"][2]
    assert told["lines"] == [2, 400 * BLOCK + 1, ["blank-line", "withheld-limit"]]
    assert told["gigabytes-of-lines"] == [2, 0, ["expansion"]]
    assert told["torn-lines"][::2] == [2, ["torn-frame", "blank-line:tail", "withheld-limit"]]
    assert told["long-row"] == [2, 2, ["row-limit"]]
    assert {name for name, _ in told["refused"]} == {"all-bomb"}
