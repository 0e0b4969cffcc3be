"""Programs that answer questions on standard input, and the questions to ask them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from palimpsest_core.search.fts5 import checked

HERE = Path(__file__).parent


def environment() -> dict[str, str]:
    """The environment of measured processes: this checkout, and compiled modules kept between runs as they are where a
    program is installed."""
    kept = str(Path(tempfile.gettempdir()) / "palimpsest-benchmarks-modules")
    without = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**without, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONPYCACHEPREFIX": kept}


class Answer(NamedTuple):
    """What a driver said: milliseconds, the page as (session, seq), and its peak memory so far."""

    ms: float
    items: list[list[Any]]
    rss_mb: float


class Driver:
    """One running driver."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def ask(self, query: str, **more: Any) -> Answer:
        """One question. Raises RuntimeError when the driver ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"query": query, **more}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("A driver ended before it answered.")
        return Answer(**json.loads(line))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Reference(NamedTuple):
    """Where the reference is: a node of version 22.19 or later, and its packages' folder (None: only plain SQL)."""

    node: str
    modules: str | None

    def driver(self, mode: str, root: Path | str, index: Path | str) -> Driver:
        """A driver of the reference; modes as in `reference_driver.mjs`."""
        script = str(HERE / "reference_driver.mjs")
        return Driver([self.node, "--no-warnings", script, mode, self.modules or "-", str(root), str(index)])


def product(mode: str, root: Path, index: Path) -> Driver:
    """A driver of the product; modes as in `product_driver.py`."""
    return Driver([sys.executable, str(HERE / "product_driver.py"), mode, str(root), str(index)])


def pick_queries(index: Path) -> dict[str, str]:
    """Words by their share of documents, phrases that occur, a repeated word and an absent one, from an index."""
    db = checked.connect(str(index))
    db.execute("create virtual table temp.words using fts5vocab(main, fts, 'row')")
    total = db.execute("select count(*) from doc").get
    words = [(str(t), int(n)) for t, n in db.execute("select term, doc from temp.words") if str(t).isalpha()]
    words = [(term, count) for term, count in words if term.isascii() and len(term) > 1]

    def near(share: float) -> str:
        return min(words, key=lambda word: (abs(word[1] - share * total), word[0]))[0]

    common = max(words, key=lambda word: word[1])[0]
    pairs, triples = _phrases(db)
    db.close()
    return {
        "word, most common": common,
        "word, about 10%": near(0.1),
        "word, about 1%": near(0.01),
        "word, about 0.1%": near(0.001),
        "word, rare": near(3 / total),
        "2 words, most common": pairs[0],
        "2 words, uncommon": pairs[-1],
        "3 words, most common": triples,
        "repeated word": f"{common} {common}",
        "absent": "zzzzqqqqabsent",
    }


def _phrases(db: apsw.Connection) -> tuple[list[str], str]:
    """The commonest and a rarer pair of words in a sample of texts, and the commonest triple."""
    rng = random.Random(7)
    top = db.execute("select max(n) from log").get
    numbers = rng.sample(range(1, top + 1), min(top, 40))
    two: dict[str, int] = {}
    three: dict[str, int] = {}
    for number in numbers:
        sql = "select b.text from extent e join body b on b.id between e.first and e.last where e.n=? limit 300"
        for (text,) in db.execute(sql, (number,)):
            words = str(text).split()
            for count, size in ((two, 2), (three, 3)):
                for at in range(len(words) - size + 1):
                    group = words[at : at + size]
                    if all(word.isascii() and word.isalpha() and word.islower() for word in group):
                        phrase = " ".join(group)
                        count[phrase] = count.get(phrase, 0) + 1
    ranked = sorted(two, key=lambda phrase: (-two[phrase], phrase))
    rarer = [phrase for phrase in ranked if two[phrase] <= 3] or ranked[-1:]
    return [ranked[0], rarer[0]], min(three, key=lambda phrase: (-three[phrase], phrase))
