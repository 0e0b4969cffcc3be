"""The indexer's loop beside other processes that open the same index."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core import Engine
from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.config import APP_CONFIG
from palimpsest_core.sync.indexer import Indexer, Report


def rebuild(root: Path, index: Path) -> None:
    with Engine(root, index=index) as engine:
        engine.rebuild_index()
        assert engine.refresh().elsewhere


def search_other_root(root: Path, index: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    with Engine(other, index=index) as engine:
        assert engine.search_sessions("needle").items == []


@contextlib.contextmanager
def following(root: Path, index: Path, tell: Callable[[Report], None]) -> Iterator[None]:
    cancel = CancelToken()
    indexer = Indexer(str(root), str(index), APP_CONFIG, tell)  # type: ignore[arg-type]
    thread = threading.Thread(target=indexer.run, args=(cancel,), kwargs={"follow": True})
    thread.start()
    try:
        yield
    finally:
        cancel.set()
        thread.join(60)


@pytest.mark.parametrize("empty", [rebuild, search_other_root])
def test_what_another_process_throws_away_is_indexed_again(tmp_path: Path, empty: Callable[[Path, Path], None]) -> None:
    root, index = tmp_path / "root", tmp_path / "index.sqlite"
    for name in "ab":
        write(root, frames([header(session_id=name), prompt(0, "needle")]), session_id=name)
    current = threading.Semaphore(0)

    def tell(report: Report) -> None:
        if report.event == "current":
            current.release()

    with following(root, index, tell):
        assert current.acquire(timeout=60)
        empty(root, index)
        assert current.acquire(timeout=60)
        with Engine(root, index=index) as engine:
            found = engine.search_sessions("needle").items
        assert {hit.header.id for hit in found} == {"a", "b"}
        assert {hit.best_match.type for hit in found} == {"user/message"}


@pytest.mark.parametrize("run", [1, 2])
def test_what_is_thrown_away_while_it_reads_is_indexed_again(tmp_path: Path, run: int) -> None:
    root, index = tmp_path / "root", tmp_path / "index.sqlite"
    write(root, frames([header(session_id="a"), prompt(0, "needle")]), session_id="a")
    runs: list[Report] = []
    current = threading.Semaphore(0)

    def tell(report: Report) -> None:
        if report.event == "current":
            current.release()
        if report.event == "refreshed":
            runs.append(report)
            if len(runs) == run:  # all is written, and the run is not over
                rebuild(root, index)

    with following(root, index, tell):
        assert current.acquire(timeout=60)
        if run == 2:
            write(root, frames([header(session_id="b"), prompt(0, "needle")]), session_id="b")
            assert current.acquire(timeout=60)
        with Engine(root, index=index) as engine:
            assert len(engine.search_sessions("needle").items) == run
