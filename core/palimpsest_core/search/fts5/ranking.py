"""The best documents for a phrase, in the contract's order (engine contract, section 5, points 3 and 4).

Spans descending, length ascending, time descending, session id ascending, seq descending. Counts come from one walk
(`spans`); from the highest count downwards, rows are looked up and ordered by SQL until the page is full at the end of
a count. So a page reads a few dozen rows instead of every match.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import apsw
import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.search.fts5.numbers import Numbers
from palimpsest_core.search.fts5.predicates import Condition
from palimpsest_core.search.fts5.schema import LIVE_BASE
from palimpsest_core.search.fts5.spans import SpanCollector
from palimpsest_core.search.matching import Phrase

LEAST_KEPT = 256
KEPT_PER_HIT = 12
FIRST_FETCH = 512
FETCHED_TOGETHER = 128
"""So many documents of several counts are fetched with one statement."""


class Ranked(NamedTuple):
    """One document: its span count and what decides among equal counts, then its number and that of its log.

    `session` is its session's id.
    """

    spans: int
    length: int
    time: int | float
    session: str
    seq: int
    rowid: int
    number: int


class Side(msgspec.Struct):
    """One set of tables to search (`prefix` "" or "live_"), and where in it.

    Looked at are the inclusive rowid `ranges`; of a `mask`, the rows whose byte is 1. `condition` is over a document
    row `d`, `visible` over its log row `l`. `fold`, over `d` too, leaves out copies that are shown at their birthplace;
    `hides` tells it of a log's number and a seq, where SQL does not know.
    """

    prefix: str
    collector: SpanCollector
    condition: Condition
    ranges: list[tuple[int, int]]
    mask: bytes | None = None
    visible: str = ""
    fold: str = ""
    hides: Callable[[int, int], bool] | None = None

    @property
    def schema(self) -> str:
        """The database that holds the tables."""
        return "temp" if self.prefix else "main"


class Ranking:
    """Orders matches over one or two sides. Not thread-safe: one search at a time."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._numbers = Numbers(db)

    def best_sessions(
        self, sides: list[Side], phrase: Phrase, wanted: int, cancel: CancelToken | None = None
    ) -> list[Ranked]:
        """The best document of each of the best `wanted` sessions, best first."""
        seen: set[str] = set()
        hides = next((side.hides for side in sides if side.hides is not None), None)

        def first_of_session(ranked: Ranked) -> bool:
            if ranked.session in seen or (hides is not None and hides(ranked.number, ranked.seq)):
                return False
            seen.add(ranked.session)
            return True

        return self._best(sides, phrase, wanted, first_of_session, seen.clear, cancel)

    def best_events(
        self, sides: list[Side], phrase: Phrase, wanted: int, cancel: CancelToken | None = None
    ) -> list[Ranked]:
        """The best `wanted` documents, best first."""
        return self._best(sides, phrase, wanted, lambda ranked: True, lambda: None, cancel)

    def _best(
        self,
        sides: list[Side],
        phrase: Phrase,
        wanted: int,
        accept: Callable[[Ranked], bool],
        forget: Callable[[], None],
        cancel: CancelToken | None,
    ) -> list[Ranked]:
        keep = max(LEAST_KEPT, KEPT_PER_HIT * wanted)
        if any(side.fold or side.hides for side in sides):
            keep *= 16
        while True:
            for side in sides:
                check(cancel)
                side.collector.walk(phrase, keep, side.ranges, side.mask, side.condition)
            out = []
            forget()
            for ranked in self._in_order(sides, cancel):
                if accept(ranked):
                    out.append(ranked)
                    if len(out) == wanted:
                        return out
            if all(side.collector.complete for side in sides):
                return out
            # Too few sessions were kept: it was foreseen wrongly, or most of it is hidden or shown elsewhere.
            keep *= 64

    def _in_order(self, sides: list[Side], cancel: CancelToken | None) -> Iterator[Ranked]:
        counts = sorted({spans for side in sides for spans in side.collector.buckets}, reverse=True)
        # Below the higher floor one side may lack rows; nothing there is in order.
        floor = max((side.collector.floor for side in sides), default=1)
        counts = [spans for spans in counts if spans >= floor]
        while counts:
            few = self._few(sides, counts)
            if few > 1:
                yield from self._of_counts(sides, counts[:few], cancel)
                counts = counts[few:]
                continue
            streams = []
            for side in sides:
                rowids = side.collector.buckets.get(counts[0])
                if rowids:
                    streams.append(self._bucket(side, counts[0], rowids, cancel))
            yield from streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_order)
            counts = counts[1:]

    def _few(self, sides: list[Side], counts: list[int]) -> int:
        """How many of the highest counts have together not more documents than one statement is to fetch."""
        total = 0
        for place, spans in enumerate(counts):
            total += sum(len(side.collector.buckets.get(spans, ())) for side in sides)
            if total > FETCHED_TOGETHER:
                return place
        return len(counts)

    def _of_counts(self, sides: list[Side], counts: list[int], cancel: CancelToken | None) -> list[Ranked]:
        """All documents of some counts, in order."""
        check(cancel)
        out = []
        for side in sides:
            spans_of = {rowid: spans for spans in counts for rowid in side.collector.buckets.get(spans, ())}
            if spans_of:
                rows = self._fetch(side, array("q", spans_of), -1)
                out += [Ranked(spans_of[row[4]], *row) for row in rows]
        return sorted(out, key=rank)

    def _bucket(self, side: Side, spans: int, rowids: array[int], cancel: CancelToken | None) -> Iterator[Ranked]:
        """The documents of one count in order; a large bucket is read in growing pieces, as far as it is asked for."""
        fetched, limit = 0, FIRST_FETCH
        while True:
            check(cancel)
            rows = self._fetch(side, rowids, limit)
            for row in rows[fetched:]:
                yield Ranked(spans, *row)
            if len(rows) < limit:
                return
            fetched, limit = len(rows), limit * 8

    def _fetch(self, side: Side, rowids: array[int], limit: int) -> list[tuple[Any, ...]]:
        source, ids = self._numbers.bound(rowids)
        sql = (
            f"select d.len, d.time, l.session, d.seq, d.id, d.n from {source} j"
            f" cross join {side.schema}.{side.prefix}doc d on d.id = j.value"
            f" cross join {side.schema}.{side.prefix}log l on l.n = d.n"
            f" where l.answers{side.visible}{side.fold}"
            " order by d.len, d.time desc, l.session, d.seq desc limit ?"
        )
        return self._db.execute(sql, (ids, limit)).fetchall()


def _order(ranked: Ranked) -> tuple[int, Any, str, int]:
    return (ranked.length, -ranked.time, ranked.session, -ranked.seq)


def rank(ranked: Ranked) -> tuple[int, int, Any, str, int]:
    """A key that sorts documents best first."""
    return (-ranked.spans, *_order(ranked))


def is_live(number: int) -> bool:
    """Whether a log number belongs to the connection's live tables."""
    return number >= LIVE_BASE
