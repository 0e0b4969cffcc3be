"""Searches and first builds beside the reference: its engine as a whole, and the contract's plain SQL."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.sync.reconcile import Reconciler
from tests.benchmarks.bench import REFERENCE, Bench, Row, median_ms, remove_index, running
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import Driver, pick_queries, product
from tests.benchmarks.reference_index import make_reference_index


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


def against_the_engine(bench: Bench, shape: Shape, build: str) -> Iterator[Row]:
    """The first search with the build, and later ones, against the reference engine over the same root."""
    if bench.reference is None or bench.reference.modules is None:
        return
    root = bench.corpus(shape)
    queries = pick_queries(bench.index(root))
    theirs, mine = bench.folder / "reference.sqlite", bench.folder / "ours.sqlite"
    for path in (theirs, mine):
        remove_index(path)
    other, ours = bench.reference.driver("engine", root, theirs), product("engine", root, mine)
    with running(other, ours):
        first, own = other.ask("absent"), ours.ask("absent")
        yield Row(f"{shape.sessions} sessions: first search, with the build", first.ms, own.ms, "ms", build)
        yield Row(f"{shape.sessions} sessions: peak memory after it (without a helper)", first.rss_mb, own.rss_mb, "MB")
        prefix = f"{shape.sessions} sessions: "
        yield from _side_by_side(other, ours, queries, bench.rounds, "100x", prefix)


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
        name = "index alone, most common word in one project, beside it in all"
        yield Row(name, sql["word, most common"], filtered, "ms", "50x", "the reference unfiltered: no fair ratio")
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
