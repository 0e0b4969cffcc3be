"""What all measurements share: rows of the table, corpora and indexes that are made once, medians."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from palimpsest_core.model.config import Config, parse_config
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.sync.reconcile import Reconciler
from palimpsest_core.sync.survey import SETTLED_SECONDS
from tests.benchmarks.corpus import Shape, make_corpus
from tests.benchmarks.drivers import Driver, Reference

REFERENCE = parse_config({"extractors": "reference"})


class Row(NamedTuple):
    """One line of the table. `unit` is that of both sides; `asked` what the ratio (or the figure) should be."""

    what: str
    other: float | None
    ours: float
    unit: str
    asked: str = ""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times less the product takes."""
        return None if self.other is None or not self.ours else self.other / self.ours


class Bench(NamedTuple):
    """Where corpora and indexes are kept, whom to compare with, and how often to ask."""

    folder: Path
    reference: Reference | None
    rounds: int

    def corpus(self, shape: Shape) -> Path:
        """A corpus, made once. One that was just made is left alone for a while first: most roots are at rest, and
        then the product looks over them in a quicker way."""
        root = self.folder / f"corpus-{shape.sessions}-{shape.documents}"
        note = make_corpus(root, shape)
        time.sleep(max(0.0, note.stat().st_mtime + SETTLED_SECONDS + 1 - time.time()))
        return root

    def index(self, root: Path, config: Config = REFERENCE, *, fresh: bool = False, suffix: str = "") -> Path:
        """The product's index of a corpus, brought up to date."""
        path = root.with_name(f"{root.name}{suffix}.sqlite")
        if fresh:
            remove_index(path)
        provider = Fts5Provider(str(path), root=os.path.realpath(root), config=config)
        Reconciler(provider, os.path.realpath(root), config).run()
        provider.close()
        return path


def remove_index(path: Path) -> None:
    """Remove an index with its journals and its lock."""
    for end in ("", "-wal", "-shm", ".lock"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def median_ms(action: Callable[[], object], rounds: int) -> float:
    """The median of several runs in milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


@contextlib.contextmanager
def running(*drivers: Driver) -> Iterator[None]:
    """Close drivers in the end."""
    try:
        yield
    finally:
        for driver in drivers:
            driver.close()
