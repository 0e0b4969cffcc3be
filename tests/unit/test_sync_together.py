"""Reading with a helper process: the same pieces as without, in whatever shape the helper ends up."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.log.text import registry_for
from palimpsest_core.model.config import Config
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import session_search
from palimpsest_core.storage.layout import discover
from palimpsest_core.sync import reconcile
from palimpsest_core.sync.extract import Piece, extract
from palimpsest_core.sync.piecewire import from_bytes, to_bytes
from palimpsest_core.sync.reconcile import Reconciler
from palimpsest_core.sync.together import Helper, Job, read_together

LOGS = 12


def corpus(root: Path, word: str = "needle") -> None:
    for number in range(LOGS):
        name = f"s{number}"
        rows = [header(0, name, cwd="/srv/a"), *(prompt(seq, f"{word} {number} \ud800 {seq}") for seq in range(20))]
        write(root, frames(rows), session_id=name, cwd="/srv/a")


def reading(root: Path, cancel: CancelToken | None = None) -> tuple[list[Job], Any]:
    config = Config()
    registry = registry_for(config.extractors)

    def read(job: Job) -> Iterator[Piece]:
        return extract(str(root), job.file, job.state, config=config, registry=registry, cancel=cancel)

    return [Job(file, None) for file in discover(root).files], read


def by_log(told: Any) -> dict[str, list[Piece]]:
    """Pieces by path; fails when those of two logs are mixed."""
    found: dict[str, list[Piece]] = {}
    before = ""
    for file, piece in told:
        assert file.path == before or file.path not in found
        before = file.path
        found.setdefault(file.path, []).append(piece)
    return found


def test_pieces_come_out_of_the_wire_as_they_went_in(tmp_path: Path) -> None:
    corpus(tmp_path)
    jobs, read = reading(tmp_path)
    for job in jobs:
        for piece in read(job):
            assert from_bytes(to_bytes(piece)) == piece


def test_a_helper_changes_nothing_about_the_pieces(tmp_path: Path) -> None:
    corpus(tmp_path)
    jobs, read = reading(tmp_path)
    with contextlib.closing(Helper(str(tmp_path), Config())) as helper:
        together = by_log(read_together(helper, jobs, read, None))
    assert together == {job.file.path: list(read(job)) for job in jobs}


def test_all_is_read_when_the_helper_reads_everything(tmp_path: Path) -> None:
    corpus(tmp_path)
    jobs, read = reading(tmp_path)
    with contextlib.closing(Helper(str(tmp_path), Config())) as helper:
        for job in jobs:
            helper.give(job)
        told = {job.file.path: list(helper.pieces(None)) for job in jobs}
    assert told == {job.file.path: list(read(job)) for job in jobs}


def test_a_helper_that_dies_is_done_without(tmp_path: Path) -> None:
    corpus(tmp_path)
    jobs, read = reading(tmp_path)
    with contextlib.closing(Helper(str(tmp_path), Config())) as helper:
        os.kill(helper._process.pid, signal.SIGKILL)
        helper._process.wait()
        told = {file.path: piece for file, piece in read_together(helper, jobs, read, None)}
    assert told == {job.file.path: list(read(job))[-1] for job in jobs}


def test_cancelling_ends_the_wait_for_a_helper_that_says_nothing(tmp_path: Path) -> None:
    corpus(tmp_path)
    cancel = CancelToken()
    with contextlib.closing(Helper(str(tmp_path), Config())) as helper:
        cancel.set()
        with pytest.raises(SessionQueryError) as caught:
            next(iter(helper.pieces(cancel)))
    assert caught.value.code is ErrorCode.ABORTED


def test_an_index_made_with_a_helper_finds_the_same_and_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "HELPER_BYTES", 0)
    corpus(tmp_path)
    config = Config()
    with contextlib.closing(Fts5Provider(":memory:", root=str(tmp_path), config=config)) as index:
        reconciler = Reconciler(index, str(tmp_path), config)
        assert len(reconciler.run().added) == LOGS
        page = index.search_sessions(session_search("needle", limit=LOGS, config=config))
        assert len(page.items) == LOGS
        for file in discover(tmp_path).files:
            with open(file.path, "ab") as log:
                log.write(frames([prompt(20, "later")]))
        assert len(reconciler.run().changed) == LOGS
        assert len(index.search_sessions(session_search("later", limit=LOGS, config=config)).items) == LOGS
