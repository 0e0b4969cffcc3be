"""Which numbers the documents of a log have: a few runs of numbers without gaps between logs.

Documents are numbered in the order they are written, so that the postings of a common word take a byte a document. A
log has the numbers of its extents; a bulk build gives each log one, exactly as long as needed, right behind the one
before. A log that grows later goes on in its last extent while that has room or nothing lies behind it; else it gets
another one at the end, with room for as many documents as it has: so it has few extents however often it grows.

Within an extent seqs ascend with numbers. So a document is found by its seq in a handful of looks and without an index
of its own, and what is told anew takes the place that it left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import apsw
import msgspec

from palimpsest_core.search.fts5.numbers import Numbers
from palimpsest_core.search.fts5.schema import LIVE_BASE

LEAST_ROOM = 64
"""So many numbers at least are set aside for a log that grows while others lie behind it."""

_UNBOUNDED = 1 << 62
SCANNED_PER_SEQ = 32
"""Looking for many seqs, a run with up to so many documents for each is read through."""


class Tail(msgspec.Struct):
    """Where a log goes on: its last extent, the next number there, and the highest seq before it.

    `open`: nothing lies behind, so that the extent ends where its documents will. `written`: the last number of the
    extent as it stands in the table, None when it does not.
    """

    n: int
    first: int
    last: int
    next: int
    seq: int
    open: bool
    written: int | None = None

    @property
    def limit(self) -> int:
        """The last number that the log may take here."""
        return _UNBOUNDED if self.open else self.last


class Extents:
    """The extents of one set of tables. Tails are kept between `settle`s and belong inside a transaction."""

    def __init__(self, db: apsw.Connection, prefix: str) -> None:
        schema = "temp" if prefix else "main"
        self._db = db
        self._before = LIVE_BASE - 1 if prefix else 0
        self._extent, self._doc = f"{schema}.{prefix}extent", f"{schema}.{prefix}doc"
        self._numbers = Numbers(db)
        self._tails: dict[int, Tail] = {}
        self._open: Tail | None = None
        self._end: int | None = None

    # -- reading ---------------------------------------------------------------------------------------------------

    def every(self) -> list[tuple[int, int, int]]:
        """All extents `(first, last, n)`, ascending: the numbers `first` to `last` belong to log `n`."""
        rows = self._db.execute(f"select first, last, n from {self._extent} order by first")
        return [(first, last, n) for first, last, n in rows]

    def of(self, n: int) -> list[tuple[int, int]]:
        """The inclusive runs of numbers of a log, ascending."""
        rows = self._db.execute(f"select first, last from {self._extent} where n=? order by first", (n,))
        return [(first, last) for first, last in rows]

    def of_each(self, numbers: Iterable[int]) -> dict[int, list[tuple[int, int]]]:
        """The same of several logs."""
        found: dict[int, list[tuple[int, int]]] = {n: [] for n in numbers}
        if found:
            source, ids = self._numbers.bound(found)
            sql = f"select e.n, e.first, e.last from {source} j cross join {self._extent} e on e.n = j.value order by 2"
            for n, first, last in self._db.execute(sql, (ids,)):
                found[n].append((first, last))
        return found

    def last(self) -> int:
        """The highest number of an extent; less than the first number when there is none."""
        row = self._db.execute(f"select last from {self._extent} order by first desc limit 1").fetchone()
        return self._before if row is None else int(row[0])

    def ids(self, n: int, seqs: Iterable[int]) -> Iterator[int]:
        """The numbers of a log's documents with these seqs; seqs without one are passed over."""
        wanted = sorted(set(seqs))
        if not wanted:
            return
        among = set(wanted)
        sql = f"select id, seq from {self._doc} where id>=? and id<?"
        for first, last in self.of(n):
            begin, end = self.at(first, last, wanted[0]), self.at(first, last, wanted[-1] + 1)
            if end - begin <= SCANNED_PER_SEQ * len(wanted):
                yield from [number for number, seq in self._db.execute(sql, (begin, end)) if seq in among]
                continue
            for seq in wanted:
                begin = self.at(begin, end - 1, seq)
                row = self._db.execute(f"{sql} order by id limit 1", (begin, end)).fetchone()
                if row is not None and row[1] == seq:
                    yield int(row[0])

    def at(self, first: int, last: int, seq: int) -> int:
        """The lowest number from `first` on where all documents up to `last` have that seq or a higher one."""
        sql = f"select seq from {self._doc} where id between ? and ? order by id limit 1"

        def seq_from(number: int) -> int:
            row = self._db.execute(sql, (number, last)).fetchone()
            return _UNBOUNDED if row is None else int(row[0])

        return first + bisect_left(range(first, last + 1), seq, key=seq_from)

    def highest(self, first: int, last: int) -> tuple[int, int]:
        """The last document in a run of numbers, and its seq; `(first - 1, -1)` when there is none."""
        row = self._db.execute(
            f"select id, seq from {self._doc} where id between ? and ? order by id desc limit 1", (first, last)
        ).fetchone()
        return (first - 1, -1) if row is None else (int(row[0]), int(row[1]))

    # -- numbering -------------------------------------------------------------------------------------------------

    def tail(self, n: int) -> Tail:
        """Where log `n` goes on. The caller moves `next` and `seq` as it takes numbers."""
        tail = self._tails.get(n)
        if tail is None:
            runs = self.of(n)
            if not runs:
                return self.another(n)
            first, last = runs[-1]
            number, seq = self.highest(first, last)
            tail = self._tails[n] = Tail(n, first, last, number + 1, seq, last == self._highest(), last)
            if tail.open:
                self._open = tail
        return tail

    def another(self, n: int) -> Tail:
        """One more extent of log `n`, at the end of all: with room when the log has some already."""
        end = self._highest() + 1
        former = self._tails.get(n)
        if former is not None:
            self._write(former)
        # As many as have a document: what was set aside and is not used yet must not make it grow.
        runs = self.of(n)
        room = max(LEAST_ROOM, sum(self.highest(*run)[0] - run[0] + 1 for run in runs)) if runs else 0
        if self._open is not None:
            self._open.open = False
        self._open = self._tails[n] = Tail(n, end, end + room - 1, end, -1, True)
        return self._open

    def hole(self, n: int, seq: int) -> int | None:
        """A free number among those of log `n` where a document of this seq is in order. Settle before."""
        for first, last in reversed(self.of(n)):
            place = self.at(first, last, seq)
            if place <= last and not self._db.execute(f"select 1 from {self._doc} where id=?", (place,)).fetchone():
                return place
        return None

    def free(self, n: int) -> None:
        """Give back the numbers of a log without documents."""
        self._db.execute(f"delete from {self._extent} where n=?", (n,))

    def settle(self) -> None:
        """Write down what was taken."""
        for tail in self._tails.values():
            self._write(tail)
        self.forget()

    def forget(self) -> None:
        """Drop what was taken and not written down."""
        self._tails.clear()
        self._open = self._end = None

    def _write(self, tail: Tail) -> None:
        # Not by `insert or replace`: a statement that may have to be taken back in part makes FTS5 write out a segment,
        # whatever room its hash still has.
        tail.last = max(tail.last, tail.next - 1)
        if tail.written is None and tail.next > tail.first:
            self._db.execute(f"insert into {self._extent} values(?,?,?)", (tail.first, tail.last, tail.n))
        elif tail.written is not None and tail.written != tail.last:
            self._db.execute(f"update {self._extent} set last=? where first=?", (tail.last, tail.first))
        else:
            return
        tail.written = tail.last

    def _highest(self) -> int:
        """The highest number that is taken or set aside, written down or not."""
        if self._open is not None:
            self._open.last = max(self._open.last, self._open.next - 1)
            return self._open.last
        if self._end is None:
            self._end = self.last()
        return self._end
