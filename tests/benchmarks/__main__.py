"""Run with `python -m tests.benchmarks`; see `--help`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.benchmarks import rows
from tests.benchmarks.corpus import Shape
from tests.benchmarks.drivers import Reference
from tests.benchmarks.rows import Bench, Row

_FOLDER = Path(tempfile.gettempdir()) / "palimpsest-benchmarks"


def table(found: Iterator[Row]) -> Iterator[Row]:
    """Print rows as they come."""
    print(f"{'':66s} {'other':>10s} {'ours':>10s}        {'ratio':>9s}  {'asked for':9s}")
    for row in found:
        other = "" if row.other is None else f"{row.other:.1f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}x"
        print(
            f"{row.what:66s} {other:>10s} {row.ours:>10.2f} {row.unit:6s} {ratio:>9s}  {row.asked:9s} {row.note}",
            flush=True,
        )
        yield row


def measure(bench: Bench, sizes: list[int], *, big: bool) -> Iterator[Row]:
    """All rows, smaller corpora first."""
    shapes = {size: Shape(size, size * 100) for size in sizes}
    for size, shape in shapes.items():
        if size <= 1_600:
            yield from rows.against_the_engine(bench, shape, "25x" if size < 1_000 else "50x", "100x")
    for shape in list(shapes.values())[-1:]:
        yield from rows.against_the_sql(bench, shape)
        yield from rows.limits(bench, shape)
        yield from rows.listing(bench, shape)
    yield from rows.appends(bench)
    if big:
        yield from rows.memory(bench)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Speed beside limits and peers.")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where corpora and indexes are kept")
    parser.add_argument("--sizes", default="200,1600,10000", help="sessions of the corpora, a hundred documents each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-big", action="store_true", help="leave out the session of half a gigabyte")
    parser.add_argument("--node", default=shutil.which("node"), help="a node of version 22.19 or later")
    parser.add_argument("--modules", help="the @deepseek-ai folder of installed packages of the reference")
    parser.add_argument("--json", type=Path, help="also write the table here")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    reference = None if given.node is None else Reference(given.node, given.modules)
    bench = Bench(given.folder.resolve(), reference, given.rounds)
    sizes = [int(size) for size in given.sizes.split(",")]
    found = list(table(measure(bench, sizes, big=not given.no_big)))
    if given.json is not None:
        given.json.write_text(json.dumps([{**row._asdict(), "ratio": row.ratio} for row in found], indent=1))
    return 1 if any(row.note == "PAGES DIFFER" for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
