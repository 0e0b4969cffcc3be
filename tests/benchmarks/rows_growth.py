"""Logs that grow, and logs of half a gigabyte: what an append costs, and how much memory indexing takes."""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from logmaking import frame, prompt

from palimpsest_core.formats.reader import read_log
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import session_search
from palimpsest_core.storage.layout import LogFile, discover
from palimpsest_core.sync.reconcile import Reconciler
from tests.benchmarks.bench import REFERENCE, Bench, Row, median_ms, remove_index
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import environment


def appends(bench: Bench) -> Iterator[Row]:
    """One event appended to a large log until it is found, against reading the log again; and with the watcher."""
    root = bench.corpus(Shape(1, 60_000, seed=3))
    (file,) = discover(root).files
    provider = Fts5Provider(":memory:", root=str(root), config=REFERENCE)
    reconciler = Reconciler(provider, str(root), REFERENCE)
    reconciler.run()
    whole = median_ms(lambda: read_log(LogFile.at(file.path), config=REFERENCE), 1)
    times = []
    for number in range(bench.rounds + 4):
        word = f"appended{number}"
        with open(file.path, "ab") as log:
            log.write(frame(prompt(_next_seq(provider), word)))
        began = time.perf_counter()
        reconciler.run(folders={os.path.dirname(file.path)})
        page = provider.search_sessions(session_search(word, config=REFERENCE))
        times.append((time.perf_counter() - began) * 1000)
        assert len(page.items) == 1
    size = os.path.getsize(file.path) / 1e6
    yield Row(
        f"append to a log of {size:.0f} MB until found, against reading it",
        whole,
        statistics.median(times),
        "ms",
        "100x",
    )
    provider.close()


def _next_seq(provider: Fts5Provider) -> int:
    events = provider.summaries()[0].events
    assert events is not None
    return events


class _Indexer:
    """An indexer that follows a root; what it reports, line by line."""

    def __init__(self, root: Path, index: Path) -> None:
        command = [sys.executable, "-m", "palimpsest_core.sync.indexer", "--root", str(root), "--index", str(index)]
        self._process = subprocess.Popen(
            [*command, "--config", '{"extractors":"reference"}', "--follow"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        self._events: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.put(json.loads(line)["event"])

    def wait_for(self, event: str) -> None:
        """Wait until it reports this."""
        while self._events.get(timeout=600) != event:
            continue

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def watched_appends(bench: Bench) -> Iterator[Row]:
    """From an append to a large log until the indexer process has told that it can be found; it is searched for too."""
    root = bench.corpus(Shape(1, 60_000, seed=3))
    (file,) = discover(root).files
    index = root.with_name(root.name + "-watched.sqlite")
    remove_index(index)
    indexer = _Indexer(root, index)
    times = []
    try:
        indexer.wait_for("current")
        provider = Fts5Provider(str(index), root=os.path.realpath(root), config=REFERENCE)
        time.sleep(1)
        for number in range(bench.rounds + 4):
            word = f"watched{number}x{time.time_ns()}"
            grown = frame(prompt(_next_seq(provider), word))
            began = time.perf_counter()
            with open(file.path, "ab") as log:
                log.write(grown)
            indexer.wait_for("refreshed")
            page = provider.search_sessions(session_search(word, config=REFERENCE))
            times.append((time.perf_counter() - began) * 1000)
            assert len(page.items) == 1
            time.sleep(0.3)
        provider.close()
    finally:
        indexer.close()
    yield Row("append to a log until found, through the watcher", None, statistics.median(times), "ms", "<= 50")


def memory(bench: Bench) -> Iterator[Row]:
    """Peak memory of indexing one session of about half a gigabyte of text."""
    root = bench.corpus(Shape(1, 480_000, seed=5))
    index = root.with_name(root.name + "-memory.sqlite")
    remove_index(index)
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, "
        "stdin=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-m", "palimpsest_core.sync.indexer", "--root", str(root), "--index", str(index)]
    told = subprocess.run(
        [sys.executable, "-c", script, *command, "--nice", "0"], env=environment(), capture_output=True, check=True
    )
    yield Row("one session of 500 MB: peak memory of indexing it", None, int(told.stdout) / 1000, "MB", "<= 100")
