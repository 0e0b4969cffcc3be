"""Copies that forks carry: a hit is shown at its birthplace, and where it does not pass there, in the fork."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core import Config, Engine

SHARED = [prompt(0, "needle first"), prompt(1, "other")]
SUMMARY = prompt(2, "summary") | {"surfaceOp": {"op": "replace", "start": 0, "end": 1}, "sourceEventSeqs": [0, 1]}


def session(root: Path, name: str, *rows: Any, **head: Any) -> None:
    write(root, frames([header(0, name, **head), *rows]), session_id=name)


def fork(root: Path, name: str, parent: str, *rows: Any, **head: Any) -> None:
    session(root, name, *SHARED, *rows, parentSession=parent, seedLength=2, **head)


def found(engine: Engine, *surfaces: str) -> dict[str, list[str] | None]:
    """The sessions that are shown for "needle", each with those that carry a copy; a scan shows the same."""
    filters = [{"kind": "surface", "values": list(surfaces)}] if surfaces else None
    hits = engine.search_sessions("needle", None, filters).items
    assert all(hit.best_match.seq == 0 for hit in hits)
    shown = {hit.header.id: hit.shared_with for hit in hits}
    assert {hit.session_id for hit in engine.scan_text("eedl", None, filters)} == set(shown)
    return shown


@pytest.mark.parametrize("index", ["file", "memory", "textless"])
def test_what_does_not_pass_at_its_birthplace_is_shown_where_it_does(tmp_path: Path, index: str) -> None:
    root = tmp_path / "root"
    session(root, "parent", *SHARED, SUMMARY)
    fork(root, "fork", "parent", prompt(2, "own"))
    fork(root, "of-fork", "fork", prompt(2, "own"))
    fork(root, "replaced", "fork", SUMMARY)
    place = ":memory:" if index == "memory" else tmp_path / "index.sqlite"
    settings = {"store_text": False} if index == "textless" else {}
    with Engine(root, index=place, config=Config(mode="tolerant", **settings)) as engine:
        assert found(engine) == {"parent": ["fork", "of-fork", "replaced"]}
        assert found(engine, "current", "shadowed") == {"parent": ["fork", "of-fork", "replaced"]}
        assert found(engine, "current") == {"fork": ["of-fork", "replaced"]}
        assert found(engine, "shadowed") == {"parent": ["fork", "of-fork", "replaced"], "replaced": None}
        assert found(engine, "log-only") == {}


def test_carriers_come_in_one_order_however_they_were_indexed(tmp_path: Path) -> None:
    ages = {"c": 3_000, "a": 1_000, "d": 2_000, "b": 2_000}
    orders = []
    for names in ("cadb", "bdac"):
        root = tmp_path / names
        session(root, "parent", *SHARED)
        with Engine(root, index=":memory:") as engine:
            for name in names:
                fork(root, name, "parent", prompt(2, "own"), createdAt=ages[name])
                engine.refresh()
            orders.append(found(engine))
    assert orders == [{"parent": ["a", "b", "d", "c"]}] * 2
