"""A number of any size in any place of a log never stops the index."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import header, prompt, row, text_of, write

from palimpsest_core import Engine

SIZES = [2**63, 2**64, -(2**63) - 1, 10**30, -(10**400)]
ROWS: list[dict[str, Any]] = [
    prompt(0, "hello"),
    row(1, "turn/start", {"turn": 1}),
    row(2, "llm/request", {"model": {"provider": "deepseek", "model": "v4"}, "tools": 3}),
    row(
        3,
        "assistant/message",
        {
            "turn": 1,
            "step": 1,
            "source": {"kind": "model", "provider": "deepseek", "model": "v4"},
            "message": {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
            "usage": {"inputTokens": 3, "outputTokens": 4},
        },
    ),
    row(4, "title/set", {"title": "A title", "source": "user"}),
    row(5, "turn/end", {"turn": 1, "outcome": "completed"}),
]


def varied(value: Any, size: int) -> Iterator[Any]:
    """Copies of a row, in each of which one value, at any depth, is that number."""
    places: list[list[Any]] = []

    def walk(part: Any, way: list[Any]) -> None:
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else None
        if items is None:
            places.append(way)
        else:
            for key, inner in items:
                walk(inner, [*way, key])

    walk(value, [])
    for way in places:
        changed = copy.deepcopy(value)
        part = changed
        for key in way[:-1]:
            part = part[key]
        part[way[-1]] = size
        yield changed


@pytest.mark.parametrize("version", range(5))
def test_a_number_of_any_size_in_any_place_never_stops_the_index(tmp_path: Path, version: int) -> None:
    size = SIZES[version]
    first = json.loads(json.dumps(header(version, "x")))
    logs = [[first, *ROWS[:at], other, *ROWS[at + 1 :]] for at, one in enumerate(ROWS) for other in varied(one, size)]
    logs += [[other, *ROWS] for other in varied(first, size)]
    for number, (head, *rest) in enumerate(logs):
        rows = [{**head, "id": f"x{number}"} if head.get("id") == "x" else head, *rest]
        write(tmp_path / "logs", text_of(rows), version=version, session_id=f"x{number}", plain=True)
    with Engine(tmp_path / "logs", index=":memory:") as engine:
        listed = engine.sessions()
        done = engine.refresh()
        assert len(done.added) + len(done.failed) == len(logs) == len(listed)
        assert len(done.added) >= len(logs) - len(list(varied(first, size)))
        for path in done.added:
            with open(path, "ab") as log:
                log.write(text_of([row(6, "turn/start", {"turn": 2})]))
        grown = engine.refresh()
        assert {*grown.changed, *grown.failed} == set(done.added)
        assert len(engine.sessions()) == len(logs)
