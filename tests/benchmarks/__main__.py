"""Run with `python -m tests.benchmarks`; see `--help`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.benchmarks import rows_app, rows_growth, rows_limits, rows_search
from tests.benchmarks.bench import Bench, Row
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import Reference

_PARTS = ("search", "limits", "growth", "app", "big")
_WHOLE_ENGINE_SESSIONS = 1_600
"""The reference's own build grows with the square of the sessions; beyond, only its SQL and its listing are asked."""

_FOLDER = Path(tempfile.gettempdir()) / "palimpsest-benchmarks"


def table(found: Iterator[Row]) -> Iterator[Row]:
    """Print rows as they come."""
    print(f"{'':80s} {'other':>10s} {'ours':>10s}        {'ratio':>9s}  {'asked for':9s}")
    for row in found:
        other = "" if row.other is None else f"{row.other:.1f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}x"
        print(
            f"{row.what:80s} {other:>10s} {row.ours:>10.2f} {row.unit:6s} {ratio:>9s}  {row.asked:9s} {row.note}",
            flush=True,
        )
        yield row


def measure(bench: Bench, sizes: list[int], parts: set[str]) -> Iterator[Row]:
    """The rows of these parts, smaller corpora first."""
    shapes = [Shape(size, size * 100) for size in sizes]
    largest = shapes[-1]
    if "search" in parts:
        for shape in shapes:
            if shape.sessions <= _WHOLE_ENGINE_SESSIONS:
                yield from rows_search.against_the_engine(bench, shape, "25x" if shape.sessions < 1_000 else "50x")
        yield from rows_search.against_the_sql(bench, largest)
    if "limits" in parts:
        yield from rows_limits.decoding(bench, shapes[0])
        yield from rows_limits.limits(bench, largest)
    if "growth" in parts:
        yield from rows_growth.appends(bench)
        yield from rows_growth.watched_appends(bench)
    if "app" in parts:
        yield from rows_app.start(bench, largest)
        yield from rows_app.delay(bench, shapes[min(1, len(shapes) - 1)])
    if "big" in parts:
        yield from rows_growth.memory(bench)
        yield from rows_app.long_session(bench)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Speed beside limits and peers.")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where corpora and indexes are kept")
    parser.add_argument("--sizes", help="sessions of the corpora, 100 documents each (default: 200,1600,10000)")
    parser.add_argument("--rounds", type=int, help="how often to ask (default: 5)")
    parser.add_argument("--quick", action="store_true", help="200 sessions, 3 rounds, no very large logs: two minutes")
    parser.add_argument("--parts", default=",".join(_PARTS), help=f"what to measure (default: {','.join(_PARTS)})")
    node = os.environ.get("PALIMPSEST_BENCH_NODE", shutil.which("node"))
    parser.add_argument("--node", default=node, help="a node of version 22.19 or later (or PALIMPSEST_BENCH_NODE)")
    modules = os.environ.get("PALIMPSEST_BENCH_MODULES")
    parser.add_argument(
        "--modules",
        default=modules,
        help="the @deepseek-ai folder of installed packages of the reference (or PALIMPSEST_BENCH_MODULES)",
    )
    parser.add_argument("--json", type=Path, help="also write the table here")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    reference = None if given.node is None else Reference(given.node, given.modules)
    bench = Bench(given.folder.resolve(), reference, given.rounds or (3 if given.quick else 5))
    sizes = [int(size) for size in (given.sizes or ("200" if given.quick else "200,1600,10000")).split(",")]
    parts = set(given.parts.split(",")) - ({"big"} if given.quick else set())
    found = list(table(measure(bench, sizes, parts)))
    if given.json is not None:
        given.json.write_text(json.dumps([{**row._asdict(), "ratio": row.ratio} for row in found], indent=1))
    return 1 if any(row.note == "PAGES DIFFER" for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
