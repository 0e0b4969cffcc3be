"""The list of sessions before the index has caught up with a log."""

from __future__ import annotations

from pathlib import Path

from logmaking import header, prompt, row, text_of, write

from palimpsest_core import Engine

SOUND = [prompt(0, "hello"), row(1, "turn/end")]


def put(root: Path, content: bytes) -> None:
    write(root, content, session_id="x", plain=True)


def test_a_log_that_grew_keeps_what_was_known_of_it(tmp_path: Path) -> None:
    put(tmp_path, text_of([header(0, "x"), *SOUND]))
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        put(tmp_path, text_of([header(0, "x"), *SOUND, prompt(2, "more")]))
        listed = engine.sessions()[0]
        assert (listed.indexed, listed.first_prompt, listed.reason) == (False, "hello", None)


def test_a_log_that_can_be_read_again_is_no_longer_called_unreadable(tmp_path: Path) -> None:
    put(tmp_path, text_of([header(0, "x"), *SOUND]))
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        put(tmp_path, b"nonsense\n")
        engine.refresh()
        assert engine.sessions()[0].reason is not None
        put(tmp_path, text_of([header(0, "x"), *SOUND, prompt(2, "more")]))
        assert engine.sessions()[0].reason is None
        engine.refresh()
        assert engine.sessions()[0].reason is None
