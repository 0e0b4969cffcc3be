"""Searches and first builds beside the reference: its engine as a whole, and the contract's plain SQL."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.sync.reconcile import Reconciler
from tests.benchmarks.bench import REFERENCE, Bench, Row, median_ms, remove_index, running
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import Driver, pick_queries, product
from tests.benchmarks.reference_index import make_reference_index


def _both(
    other: Driver, ours: Driver, query: str, rounds: int, **more: str
) -> tuple[float, float, list[list[Any]] | None]:
    """Medians of both sides in milliseconds, asked in turn, and the page; None when theirs and ours differ."""
    theirs, mine, page, same = [], [], [], True
    for _ in range(rounds):
        answer, own = other.ask(query, **more), ours.ask(query, **more)
        theirs.append(answer.ms)
        mine.append(own.ms)
        page = answer.items
        same = same and page == own.items
    return statistics.median(theirs), statistics.median(mine), page if same else None


def _same(same: object) -> str:
    return "PAGES DIFFER" if same is None or same is False else ""


def _side_by_side(
    other: Driver, ours: Driver, queries: dict[str, str], rounds: int, asked: str, prefix: str
) -> Iterator[Row]:
    for name, query in queries.items():
        theirs, mine, page = _both(other, ours, query, rounds)
        yield Row(f"{prefix}{name}", theirs, mine, "ms", asked, _same(page))


def against_the_engine(bench: Bench, shape: Shape, build: str) -> Iterator[Row]:
    """The first search with the build, and later ones, against the reference engine over the same root."""
    if bench.reference is None or bench.reference.modules is None:
        return
    root = bench.corpus(shape)
    queries = pick_queries(bench.index(root))
    theirs, mine = bench.folder / "reference.sqlite", bench.folder / "ours.sqlite"
    for path in (theirs, mine):
        remove_index(path)
    other, ours = bench.reference.driver("engine", root, theirs), product("anew", root, mine)
    with running(other, ours):
        first, own = other.ask("absent"), ours.ask("absent")
        yield Row(f"{shape.sessions} sessions: first search, with the build", first.ms, own.ms, "ms", build)
        yield Row(f"{shape.sessions} sessions: peak memory after it (without a helper)", first.rss_mb, own.rss_mb, "MB")
        prefix = f"{shape.sessions} sessions: "
        found = list(_side_by_side(other, ours, queries, bench.rounds, "100x", prefix))
        yield from found
    common = queries["word, most common"]
    kept = product("engine", root, mine)
    with running(kept):
        kept.ask(common)
        again = statistics.median(kept.ask(common).ms for _ in range(bench.rounds + 4))
        yield Row(f"{prefix}word, most common, asked again", found[0].other, again, "ms")


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
    pages: dict[str, list[list[Any]]] = {}
    with running(other, ours, kept):
        for row in _side_by_side(other, ours, queries, bench.rounds, "", "index alone, "):
            name = row.what.removeprefix("index alone, ")
            sql[name] = row.other or 0.0
            pages[name] = ours.ask(queries[name]).items
            yield row._replace(asked=asked.get(name, "14x" if name in ("word, about 0.1%", "word, rare") else ""))
        common = queries["word, most common"]
        kept.ask(common)
        again = statistics.median(kept.ask(common).ms for _ in range(bench.rounds + 4))
        yield Row("index alone, most common word, kept list", sql["word, most common"], again, "ms", "1000x")
        cwd = "/home/dev/project-7"
        for name in ("word, most common", "word, about 10%"):
            theirs, mine, same = _both(other, ours, queries[name], bench.rounds, cwd=cwd)
            yield Row(f"index alone, {name}, in one project", theirs, mine, "ms", "50x", _same(same))
    if bench.reference.modules is None:
        return
    lister = bench.reference.driver("list", root, "-")
    whole = product("anew", root, index)
    with running(lister, whole):
        listing = statistics.median(lister.ask("").ms for _ in range(min(3, bench.rounds)))
        whole.ask("absent")
        for name, query in queries.items():
            answers = [whole.ask(query) for _ in range(bench.rounds)]
            own = statistics.median(answer.ms for answer in answers)
            same = all(answer.items == pages[name] for answer in answers)
            yield Row(f"end to end, {name}", sql[name] + 2 * listing, own, "ms", "100x", _same(same))
        check = _checker(root, index)
        first = median_ms(check, 1)
        for _ in range(3):
            check()
        yield Row("check of an unchanged root, once", listing, first, "ms")
        yield Row("check of an unchanged root, again and again", listing, median_ms(check, bench.rounds), "ms", "300x")


def _checker(root: Path, index: Path) -> Callable[[], object]:
    provider = Fts5Provider(str(index), root=os.path.realpath(root), config=REFERENCE)
    reconciler = Reconciler(provider, os.path.realpath(root), REFERENCE)
    reconciler.run()
    return reconciler.run
