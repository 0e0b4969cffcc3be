"""A root reached by a link or named from the working directory is the same root to the list and to the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_core import Engine, JsonlStore


@pytest.mark.parametrize("way", ["link", "relative"])
def test_the_list_knows_from_the_index_what_lies_below_another_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    root = tmp_path / "real" / "sessions"
    store = JsonlStore(root)
    store.create({"id": "one", "createdAt": 1, "cwd": "/w"})
    store.append("one", [{"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}])
    if way == "link":
        given = tmp_path / "link"
        given.symlink_to(root, target_is_directory=True)
    else:
        monkeypatch.chdir(tmp_path)
        given = Path("real/sessions")
    with Engine(given, index=tmp_path / "index.sqlite") as engine:
        engine.refresh()
        assert [session.indexed for session in engine.sessions()] == [True]
        assert engine.open_log("one").session_id == "one"
