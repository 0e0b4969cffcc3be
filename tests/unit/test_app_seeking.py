"""Searches leave the process that draws: with an index on disk they all go to the process that searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palimpsest_core
from palimpsest_core import CancelToken, Engine
from palimpsest_tui.jobs import seeking


class Client:
    """Stands in for the process that searches and notes what it is asked."""

    asked: list[tuple[str, dict[str, Any]]]

    def __init__(self, **options: Any) -> None:
        self.asked = [("made", options)]

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self.asked.append((name, options))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("searched in the process that draws")

    for name in ("search_sessions", "search_events", "scan_text", "refresh", "index_status"):
        monkeypatch.setattr(Engine, name, never)
    monkeypatch.setattr(palimpsest_core, "SearchClient", Client)
    (tmp_path / "root").mkdir()
    return Engine(tmp_path / "root", index=tmp_path / "index.sqlite")


def test_words_events_and_literal_text_are_looked_for_by_the_process_that_searches(engine: Engine) -> None:
    seeker, token = seeking.Seeker(engine), CancelToken()
    seeker.warm(token)
    seeker.sessions("word", [], [], None, token)
    seeker.events("id", "word", [], None, token)
    seeker.scan("word", [], [], lambda hits, done, total: None, token)
    client = seeker._client
    assert isinstance(client, Client)
    assert [name for name, _ in client.asked] == ["made", "start", "search_sessions", "search_events", "scan_text"]
    assert client.asked[0][1]["index"] == str(engine.index)
