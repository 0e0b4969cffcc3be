"""Beside what the machine can do at best: FTS5 and zstd in C, a bare walk, an interpreter that does the least."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import zstandard

from palimpsest_core.engine import Engine
from palimpsest_core.model.config import APP_CONFIG
from palimpsest_core.search.fts5 import checked
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import literal_scan
from palimpsest_core.storage.layout import discover
from palimpsest_core.storage.logbytes import LogBytes
from palimpsest_core.sync.survey import Survey
from tests.benchmarks.bench import REFERENCE, Bench, Row, median_ms, remove_index
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import environment, product

_LARGE = 1_600
"""From more sessions on a build is measured once."""


def limits(bench: Bench, shape: Shape) -> Iterator[Row]:
    """Against FTS5 in C, one large frame, a bare walk and a bare interpreter; sizes; a literal scan."""
    root = bench.corpus(shape)
    index = root.with_name(f"{root.name}-limits.sqlite")
    builds, inserts = [], []
    for _ in range(1 if shape.sessions > _LARGE else bench.rounds):
        builds.append(_build_ms(root, index))
        inserts.append(_insert_ms(index, bench.folder / "insert.sqlite"))
    (build, build_cpu), (insert, insert_cpu) = (map(statistics.median, zip(*runs)) for runs in (builds, inserts))
    name = f"{shape.sessions} sessions: "
    cpu = f"processor time {insert_cpu:.1f} s, {build_cpu:.1f} s in two processes"
    yield Row(f"{name}build, against a C-speed FTS5 insert of the same text", insert, build, "ms", "1.2x", cpu)
    provider = Fts5Provider(str(index), root=os.path.realpath(root), config=REFERENCE)
    survey = Survey(os.path.realpath(root))
    survey.look()
    saved = survey.save()
    # From the saved look each time, as a new process does: who looks again and again needs no stats.
    look = median_ms(lambda: Survey(os.path.realpath(root), saved).look(), bench.rounds + 4)
    yield Row(f"{name}check of an unchanged root, against a bare walk", _walk_ms(root, bench), look, "ms", "0.5x")
    db = checked.connect(str(index))
    text = db.execute("select sum(length(cast(text as blob))) from body").get
    sizes = dict(db.execute("select name, sum(pgsize) from dbstat group by name"))
    db.close()
    yield Row("index, bytes for a byte of text", None, os.path.getsize(index) / text, "", "<= 1.6")
    yield Row("index without stored text, the same", None, (sum(sizes.values()) - sizes["body"]) / text, "", "<= 0.5")
    scan = median_ms(lambda: list(provider.scan(literal_scan("zzqxv", config=APP_CONFIG))), bench.rounds)
    yield Row("literal scan of every text", None, text / 1000 / scan, "MB/s")
    provider.close()
    yield from _fresh_process(root, bench.index(root, APP_CONFIG, suffix="-app"), bench)
    engine = Engine(root, index=index, config=REFERENCE)
    took = median_ms(lambda: engine.sessions(fresh=False), bench.rounds + 2)
    engine.close()
    yield Row(f"{name}all as list rows", None, took, "ms", "<= 100")


def decoding(bench: Bench, shape: Shape) -> Iterator[Row]:
    """Reading every log's text in whole lines, against the same text as one frame, decoded in one go."""
    files = discover(bench.corpus(shape)).files

    def read() -> int:
        length = 0
        for file in files:
            with LogBytes(file, window_max=REFERENCE.window_max_bytes, row_max=REFERENCE.row_max_bytes) as log:
                length += sum(len(chunk.text) for chunk in log.chunks())
        return length

    parts = []
    for file in files:
        with LogBytes(file, window_max=REFERENCE.window_max_bytes, row_max=REFERENCE.row_max_bytes) as log:
            parts += [chunk.text for chunk in log.chunks()]
    one = zstandard.ZstdCompressor(level=3).compress(b"".join(parts))
    limit = median_ms(lambda: zstandard.ZstdDecompressor().decompress(one), bench.rounds)
    name = f"{shape.sessions} sessions: text of all logs, against one frame in one go"
    yield Row(name, limit, median_ms(read, bench.rounds), "ms", "0.48x")


def _build_ms(root: Path, index: Path) -> tuple[float, float]:
    """Milliseconds of a build by a process of its own, with this one's priority; and seconds of processor time."""
    remove_index(index)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    builder = product("build", root, index)
    try:
        took = builder.ask("").ms
    finally:
        builder.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _insert_ms(index: Path, scratch: Path) -> tuple[float, float]:
    """The same of one SQL statement that tokenizes the same texts into a default FTS5 table."""
    remove_index(scratch)
    db = apsw.Connection(str(scratch))
    db.execute("pragma journal_mode=wal; pragma synchronous=normal")
    source = checked.connect(str(index))
    db.execute("create table texts(id integer primary key, text)")
    with db:
        db.executemany("insert into texts values(?,?)", source.execute("select id, text from body"))
    source.close()
    db.execute("create virtual table fts using fts5(text, content='', tokenize='unicode61')")
    began, cpu = time.perf_counter(), time.process_time()
    with db:
        db.execute("insert into fts(rowid, text) select id, text from texts")
    took = (time.perf_counter() - began) * 1000, time.process_time() - cpu
    db.close()
    remove_index(scratch)
    return took


def _walk_ms(root: Path, bench: Bench) -> float:
    def walk() -> None:
        for project in os.scandir(root):
            for session in os.scandir(project.path):
                os.stat(session.path + "/session.jsonl.zstd")

    return median_ms(walk, bench.rounds + 4)


def _fresh_process(root: Path, index: Path, bench: Bench) -> Iterator[Row]:
    """`palimpsest search` in a fresh process, against an interpreter that imports the same, asks, checks, no more."""
    bare = (
        "import os, palimpsest_tui.cli.main, palimpsest_tui.cli.search, palimpsest_core.sync.calls\n"
        "from palimpsest_core import Engine\n"
        "from palimpsest_core.search.fts5 import checked\n"
        f"for project in os.scandir({str(root)!r}):\n"
        "    for session in os.scandir(project.path):\n"
        "        os.stat(session.path + '/session.jsonl.zstd')\n"
        f"db = checked.connect({str(index)!r})\n"
        "print(len(db.execute('select rowid from fts(?) limit 20', ('\"zzzzqqqqabsent\"',)).fetchall()))"
    )
    command = [sys.executable, "-m", "palimpsest_tui.cli.main", "search", "zzzzqqqqabsent"]
    command += ["--root", str(root), "--index", str(index)]

    def run(arguments: list[str]) -> Callable[[], object]:
        return lambda: subprocess.run(arguments, env=environment(), capture_output=True, check=False)

    floor, ours = run([sys.executable, "-c", bare]), run(command)
    for warming in (floor, ours):
        warming()
    times = [(median_ms(floor, 1), median_ms(ours, 1)) for _ in range(bench.rounds + 2)]
    other, own = (statistics.median(column) for column in zip(*times, strict=True))
    yield Row("palimpsest search of an absent word, fresh process, against its floor", other, own, "ms", "0.67x")
