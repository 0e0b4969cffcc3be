"""A log of a million events: how long it takes from a key to the paint. Told as numbers, held to a wide bound."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from appdriving import Driver, running
from textual import events

from palimpsest_core import JsonlStore

EVENTS = 1_000_000
TURN = 201
_PAINT_BOUND_S = 1.0
"""Ten times what is asked for (100 ms): the bound catches a list that walks its rows, not a busy machine."""


def write_long_log(root: Path) -> None:
    """Turns of a prompt, streamed pieces, calls, an answer; packed as a writer packs them."""
    store = JsonlStore(root)
    start = 1_789_000_000_000
    store.create({"id": "million", "createdAt": start, "cwd": "/code/big"})
    seq = 0

    def event(kind: str, data: dict[str, Any], **keys: Any) -> dict[str, Any]:
        nonlocal seq
        made = {"type": kind, "seq": seq, "time": start + seq * 7, "data": data, **keys}
        seq += 1
        return made

    turn = 0
    while seq < EVENTS:
        turn += 1
        at = {"turn": turn, "step": 1}
        said = {"role": "user", "content": [{"type": "text", "text": f"prompt {turn}"}], "source": {"kind": "user"}}
        answer = {"role": "assistant", "content": [{"type": "text", "text": f"answer {turn}"}]}
        source = {"kind": "model", "provider": "p", "model": "m"}
        rows = [
            event("turn/start", {"turn": turn}),
            event("step/start", at),
            event("user/message", {"id": f"m{seq}", **said}, surfaceOp="append"),
        ]
        for piece in range(TURN - 9):
            chunk = {"type": "text-delta", "index": 0, "text": f"w{piece} "}
            rows.append(event("assistant/chunk", {**at, "chunk": chunk}))
        for number in range(3):
            todo = {"content": f"do {number}", "status": "pending"}
            rows.append(event("todo/write", {"todos": [todo]}))
        message = {"id": f"a{seq}", **answer, "source": source}
        rows.append(event("assistant/message", {**at, "message": message}, surfaceOp="append"))
        rows.append(event("step/end", at))
        rows.append(event("turn/end", {"turn": turn, "reason": {"kind": "completed"}}))
        store.append("million", rows)


async def key_to_paint(driver: Driver, key: str) -> float:
    """Seconds from a key to the end of the first paint after it."""
    app = driver.app
    painted = asyncio.Event()
    display = app._display

    def watched(*arguments: Any) -> None:
        display(*arguments)
        painted.set()

    app._display = watched  # type: ignore[method-assign]
    character = key if len(key) == 1 else None
    names = {"}": "right_curly_bracket", "]": "right_square_bracket", "!": "exclamation_mark"}
    began = time.perf_counter()
    app.post_message(events.Key(names.get(key, key), character))
    await asyncio.wait_for(painted.wait(), 30)
    took = time.perf_counter() - began
    app._display = display  # type: ignore[method-assign]
    return took


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_key_waits_for_the_length_of_the_log(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    write_long_log(root)

    async def flow() -> dict[str, float]:
        worst: dict[str, float] = {}
        async with running(
            root, (120, 40), index=tmp_path / "index.sqlite", state_file=tmp_path / "state.json"
        ) as driver:
            began = time.perf_counter()
            driver.desk.opening.open("million", None)
            await driver.until(lambda: driver.desk.timeline.row_count() > 0, "the first rows are there")
            worst["first rows"] = time.perf_counter() - began
            await driver.opened("million")
            worst["all rows"] = time.perf_counter() - began
            assert driver.desk.opening.log is not None
            assert len(driver.desk.opening.log) >= EVENTS
            for key in ["j", "G", "k", "g", "ctrl+d", "}", "J", "space", "j", "v", "v", "v"] * 3:
                took = await key_to_paint(driver, key)
                worst[key] = max(worst.get(key, 0.0), took)
                await driver.quiet()
        return worst

    worst = asyncio.run(flow())
    print({key: f"{seconds * 1000:.0f} ms" for key, seconds in worst.items()})
    for key, seconds in worst.items():
        if key not in ("first rows", "all rows"):
            assert seconds < _PAINT_BOUND_S, f"{key} took {seconds:.3f} s"
