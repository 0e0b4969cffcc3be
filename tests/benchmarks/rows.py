"""What is measured. Each function gives rows: a name, the slower side, the product, the ratio, what was asked for."""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
from logmaking import frame, prompt

from palimpsest_core.engine import Engine
from palimpsest_core.formats.reader import read_log
from palimpsest_core.model.config import Config, parse_config
from palimpsest_core.search.fts5 import checked
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import literal_scan, session_search
from palimpsest_core.storage.layout import LogFile, discover
from palimpsest_core.sync.reconcile import Reconciler
from palimpsest_core.sync.survey import Survey
from tests.benchmarks.corpus import Shape, make_corpus
from tests.benchmarks.drivers import Driver, Reference, pick_queries, product
from tests.benchmarks.reference_index import make_reference_index

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
        """A corpus, made once."""
        root = self.folder / f"corpus-{shape.sessions}-{shape.documents}"
        make_corpus(root, shape)
        return root

    def index(self, root: Path, config: Config = REFERENCE, *, fresh: bool = False, suffix: str = "") -> Path:
        """The product's index of a corpus."""
        path = root.with_name(f"{root.name}{suffix}.sqlite")
        if fresh:
            for name in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".lock"))):
                name.unlink(missing_ok=True)
        if not path.exists():
            provider = Fts5Provider(str(path), root=os.path.realpath(root), config=config)
            Reconciler(provider, os.path.realpath(root), config).run()
            provider.close()
        return path


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


def _side_by_side(
    other: Driver, ours: Driver, queries: dict[str, str], rounds: int, asked: str, prefix: str
) -> Iterator[Row]:
    for name, query in queries.items():
        theirs, mine, same = [], [], True
        for _ in range(rounds):
            answer, own = other.ask(query), ours.ask(query)
            theirs.append(answer.ms)
            mine.append(own.ms)
            same = same and answer.items == own.items
        note = "" if same else "PAGES DIFFER"
        yield Row(f"{prefix}{name}", statistics.median(theirs), statistics.median(mine), "ms", asked, note)


def against_the_engine(bench: Bench, shape: Shape, build: str, later: str) -> Iterator[Row]:
    """The first search with the build, and later ones, against the reference engine over the same root."""
    if bench.reference is None or bench.reference.modules is None:
        return
    root = bench.corpus(shape)
    queries = pick_queries(bench.index(root))
    theirs, mine = bench.folder / "reference.sqlite", bench.folder / "ours.sqlite"
    for path in bench.folder.glob("reference.sqlite*"):
        path.unlink()
    for path in bench.folder.glob("ours.sqlite*"):
        path.unlink()
    other, ours = bench.reference.driver("engine", root, theirs), product("engine", root, mine)
    with running(other, ours):
        first, own = other.ask("absent"), ours.ask("absent")
        yield Row(f"{shape.sessions} sessions: first search, with the build", first.ms, own.ms, "ms", build)
        yield Row(f"{shape.sessions} sessions: peak memory after it", first.rss_mb, own.rss_mb, "MB")
        prefix = f"{shape.sessions} sessions: "
        yield from _side_by_side(other, ours, queries, bench.rounds, later, prefix)


def against_the_sql(bench: Bench, shape: Shape) -> Iterator[Row]:
    """The index alone against the contract's plain SQL; and the whole against that SQL with two listings."""
    if bench.reference is None:
        return
    root = bench.corpus(shape)
    index = bench.index(root)
    queries = pick_queries(index)
    plain = root.with_name(root.name + "-reference.sqlite")
    make_reference_index(root, plain)
    asked = {
        "word, most common": "40x",
        "2 words, most common": "30x",
        "word, about 10%": "60x",
        "word, about 1%": "60x",
    }
    other, ours, kept = (
        bench.reference.driver("sql", "-", plain),
        product("index", root, index),
        product("kept", root, index),
    )
    sql: dict[str, float] = {}
    with running(other, ours, kept):
        for row in _side_by_side(other, ours, queries, bench.rounds, "", "index alone, "):
            name = row.what.removeprefix("index alone, ")
            sql[name] = row.other or 0.0
            yield row._replace(asked=asked.get(name, "14x" if name in ("word, about 0.1%", "word, rare") else ""))
        common = queries["word, most common"]
        kept.ask(common)
        again = statistics.median(kept.ask(common).ms for _ in range(bench.rounds + 4))
        yield Row("index alone, most common word, kept list", sql["word, most common"], again, "ms", "1000x")
        cwd = "/home/dev/project-7"
        filtered = statistics.median(ours.ask(common, cwd=cwd).ms for _ in range(bench.rounds))
        yield Row("index alone, most common word in one project", sql["word, most common"], filtered, "ms", "50x")
    if bench.reference.modules is None:
        return
    lister = bench.reference.driver("list", root, "-")
    whole = product("engine", root, index)
    with running(lister, whole):
        listing = statistics.median(lister.ask("").ms for _ in range(min(3, bench.rounds)))
        whole.ask("absent")
        for name, query in queries.items():
            own = statistics.median(whole.ask(query).ms for _ in range(bench.rounds))
            yield Row(f"end to end, {name}", sql[name] + 2 * listing, own, "ms", "100x")
        check = median_ms(_checker(root, index), bench.rounds)
        yield Row("check of an unchanged root", listing, check, "ms", "300x")


def _checker(root: Path, index: Path) -> Callable[[], object]:
    provider = Fts5Provider(str(index), root=os.path.realpath(root), config=REFERENCE)
    reconciler = Reconciler(provider, os.path.realpath(root), REFERENCE)
    reconciler.run()
    return reconciler.run


def limits(bench: Bench, shape: Shape) -> Iterator[Row]:
    """Against what the machine can do at best: FTS5 in C, a bare walk; sizes; a literal scan."""
    root = bench.corpus(shape)
    began = time.perf_counter()
    index = bench.index(root, fresh=True, suffix="-limits")
    build = (time.perf_counter() - began) * 1000
    insert = _insert_ms(index, bench.folder / "insert.sqlite")
    yield Row(
        f"{shape.sessions} sessions: build against a C-speed FTS5 insert of the text", insert, build, "ms", "1.2x"
    )
    provider = Fts5Provider(str(index), root=os.path.realpath(root), config=REFERENCE)
    survey = Survey(os.path.realpath(root))
    survey.look()
    look = median_ms(lambda: survey.look(), bench.rounds + 4)
    yield Row(
        f"{shape.sessions} sessions: second look over a root, against a bare walk",
        _walk_ms(root, bench),
        look,
        "ms",
        "0.5x",
    )
    db = checked.connect(str(index))
    text = db.execute("select sum(length(cast(text as blob))) from body").get
    sizes = dict(db.execute("select name, sum(pgsize) from dbstat group by name"))
    db.close()
    yield Row("index, bytes for a byte of text", None, os.path.getsize(index) / text, "", "1.6")
    yield Row("index without stored text, the same", None, (sum(sizes.values()) - sizes["body"]) / text, "", "0.5")
    scan = median_ms(lambda: list(provider.scan(literal_scan("zzqxv"))), bench.rounds)
    yield Row("literal scan of every text", None, text / 1000 / scan, "MB/s", "200")
    provider.close()
    yield from _fresh_process(root, index, bench)


def _insert_ms(index: Path, scratch: Path) -> float:
    """The time of one SQL statement that tokenizes the same texts into a default FTS5 table."""
    scratch.unlink(missing_ok=True)
    db = apsw.Connection(str(scratch))
    db.execute("pragma journal_mode=wal; pragma synchronous=normal")
    source = checked.connect(str(index))
    texts = source.execute("select id, text from body").fetchall()
    source.close()
    db.execute("create table texts(id integer primary key, text)")
    with db:
        db.executemany("insert into texts values(?,?)", texts)
    db.execute("create virtual table fts using fts5(text, content='', tokenize='unicode61')")
    began = time.perf_counter()
    with db:
        db.execute("insert into fts(rowid, text) select id, text from texts")
    took = (time.perf_counter() - began) * 1000
    db.close()
    scratch.unlink()
    return took


def _walk_ms(root: Path, bench: Bench) -> float:
    def walk() -> None:
        for project in os.scandir(root):
            for session in os.scandir(project.path):
                os.stat(session.path + "/session.jsonl.zstd")

    return median_ms(walk, bench.rounds + 4)


def _fresh_process(root: Path, index: Path, bench: Bench) -> Iterator[Row]:
    """`palimpsest search` in a fresh process, against an interpreter that imports, asks and checks, and no more."""
    bare = (
        "import sys, click, msgspec, apsw; from palimpsest_core.search.fts5 import checked\n"
        "from palimpsest_core.storage.layout import discover\n"
        f"db = checked.connect({str(index)!r}); discover({str(root)!r})\n"
        "print(len(list(db.execute('select rowid from fts(?) limit 50', ('\"path\"',)))))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [
        sys.executable,
        "-m",
        "palimpsest_tui.cli.main",
        "search",
        "path",
        "--root",
        str(root),
        "--index",
        str(index),
    ]

    def run(arguments: list[str]) -> Callable[[], object]:
        return lambda: subprocess.run(arguments, env=environment, capture_output=True, check=False)

    floor = median_ms(run([sys.executable, "-c", bare]), bench.rounds)
    yield Row(
        "palimpsest search, fresh process, against its floor",
        floor,
        median_ms(run(command), bench.rounds),
        "ms",
        "0.67x",
    )


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


def memory(bench: Bench) -> Iterator[Row]:
    """Peak memory of indexing one session of about half a gigabyte of text."""
    root = bench.corpus(Shape(1, 480_000, seed=5))
    index = root.with_name(root.name + "-memory.sqlite")
    for path in root.parent.glob(index.name + "*"):
        path.unlink()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run(
        [
            sys.executable,
            "-m",
            "palimpsest_core.sync.indexer",
            "--root",
            str(root),
            "--index",
            str(index),
            "--nice",
            "0",
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    note = "" if peak > before else "not above an earlier process"
    yield Row("one session of 500 MB: peak memory of indexing it", None, peak / 1000, "MB", "100", note)


def listing(bench: Bench, shape: Shape) -> Iterator[Row]:
    """The rows of a known corpus for the session list."""
    root = bench.corpus(shape)
    engine = Engine(root, index=bench.index(root), config=REFERENCE)
    took = median_ms(lambda: engine.sessions(fresh=False), bench.rounds + 2)
    engine.close()
    yield Row(f"{shape.sessions} known sessions as list rows", None, took, "ms", "100")
