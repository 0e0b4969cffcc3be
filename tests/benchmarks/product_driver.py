"""Answers JSON lines like `reference_driver.mjs`, by the product.

    product_driver.py engine ROOT DB    the whole engine: every search looks at the root first
    product_driver.py anew   ROOT DB    the same, nothing kept between searches: as if each word were asked for first
    product_driver.py index  ROOT DB    the index alone, nothing kept between searches
    product_driver.py kept   ROOT DB    the index alone, with its kept lists
    product_driver.py build  ROOT DB    brings the index up to date, and searches for nothing
A line may hold `cwd`: then only sessions of that directory count.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from palimpsest_core.engine import Engine
from palimpsest_core.model.config import Config, parse_config
from palimpsest_core.search.fts5 import kept


def config() -> Config:
    """The settings under which pages can be compared with the reference's."""
    return parse_config({"extractors": "reference", "openAt": "first-search"})


def main() -> None:
    """Read questions until standard input ends."""
    mode, root, index = sys.argv[1:4]
    if mode in ("index", "anew"):
        kept.KeptLists.get = lambda *_: None  # type: ignore[method-assign]
        kept.KeptLists.older = lambda *_: None  # type: ignore[method-assign]
    engine: Engine | None = None
    for line in sys.stdin:
        question: dict[str, Any] = json.loads(line)
        filters = [{"kind": "cwd", "values": [question["cwd"]]}] if "cwd" in question else None
        began = time.perf_counter()
        if engine is None:
            engine = Engine(Path(root), index=index, config=config())
        items: list[list[Any]] = []
        if mode == "build":
            engine.refresh()
        else:
            page = engine.search_sessions(question["query"], filters, fresh=mode in ("engine", "anew"))
            items = [[hit.header.id, hit.best_match.seq] for hit in page.items]
        took = (time.perf_counter() - began) * 1000
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(json.dumps({"ms": took, "items": items, "rss_mb": rss}), flush=True)


if __name__ == "__main__":
    main()
