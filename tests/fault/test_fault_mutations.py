"""Thousands of broken logs, a healthy one beside each: everything is answered, and the healthy one never changes."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutating import mutant
from trial import Trial

FEW = 36
MANY = 10_000
_SHARE = 50
"""So many mutants use one root after the other: replacing a log is part of what is tried."""
_MEMORY_GROWTH = 300 << 20
GENERATIONS = range(6)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Fresh folders, as many as are asked for; nothing in them needs to outlive the machine's power."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    return (tmp_path / str(number) for number in range(MANY))


def run(folders: Iterator[Path], generation: int, numbers: range) -> None:
    for start in range(numbers.start, numbers.stop, _SHARE):
        trial = Trial(next(folders))
        try:
            for number in range(start, min(start + _SHARE, numbers.stop)):
                made = mutant(generation, number)
                try:
                    trial.run(made)
                except BaseException as error:
                    error.add_note(f"mutant {number} of generation {generation}: {made.kinds} of {made.seed}")
                    raise
        finally:
            trial.close()


def peak() -> int:
    """The most memory (bytes) that this process ever had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_broken_log_breaks_nothing_and_no_neighbour(folders: Iterator[Path], generation: int) -> None:
    run(folders, generation, range(FEW))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_ten_thousand_broken_logs_break_nothing(folders: Iterator[Path], generation: int) -> None:
    run(folders, generation, range(FEW))
    before = peak()
    run(folders, generation, range(FEW, MANY))
    assert peak() - before < _MEMORY_GROWTH
