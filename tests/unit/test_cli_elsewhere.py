"""Commands while another process brings the index up to date: what is missing is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core.storage.locks import FileLock
from palimpsest_tui.cli import main as script

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def run_command(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = script.run(["--root", str(tmp_path), "--index", str(tmp_path / "index.sqlite"), *words])
        return code, *capfd.readouterr()

    return run_command


@pytest.fixture
def held(tmp_path: Path, run: Run) -> Iterator[FileLock]:
    """Of two logs one is indexed, and another has the lock now."""
    write(tmp_path, frames([header(session_id="a"), prompt(0, "walrus one")]), session_id="a")
    assert run("index")[0] == 0
    write(tmp_path, frames([header(session_id="b"), prompt(0, "walrus two, needle")]), session_id="b")
    lock = FileLock(tmp_path / "index.sqlite.lock")
    assert lock.acquire()
    yield lock
    lock.release()


def complete(run: Run, *words: str) -> Any:
    return json.loads(run(*words, "--json")[1])["complete"]


@pytest.mark.parametrize("words", [["search", "walrus"], ["search", "needle"], ["search", "walrus", "--in", "a"]])
def test_search_tells_that_hits_may_be_missing(held: FileLock, run: Run, words: list[str]) -> None:
    told = "another process is bringing the index up to date, 1 log not read yet: results may be incomplete\n"
    assert told in run(*words)[2]
    assert told in run(*words, "--json")[2]
    assert complete(run, *words) is False
    assert complete(run, *words, "--stale") is None
    held.release()
    assert "another process" not in run(*words)[2]
    assert complete(run, *words) is True
    assert held.acquire()
    # The lock of an app that is open and has read everything is no reason to warn.
    assert "another process" not in run(*words)[2]
    assert complete(run, *words) is True


def test_index_does_not_say_that_it_did_what_is_left_to_another(held: FileLock, run: Run) -> None:
    assert run("index")[1].startswith("nothing done: another process is reading 1 log into this index; ")
    assert complete(run, "index") is False
    held.release()
    assert complete(run, "index") is True
    assert held.acquire()
    assert run("index")[1].startswith("another process keeps this index up to date; ")
    assert complete(run, "index") is True


def test_ls_does_not_send_to_a_command_that_would_do_nothing(held: FileLock, run: Run) -> None:
    told = "1 log not read yet; another process is bringing the index up to date\n"
    assert run("ls")[2] == told == run("ls", "--json")[2]
    assert complete(run, "ls") is False
    held.release()
    assert run("ls")[2] == ""
    assert complete(run, "ls") is True
