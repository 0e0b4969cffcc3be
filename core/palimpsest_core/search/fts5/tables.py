"""Documents in and out of one set of tables: the durable one or the connection's live one."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import apsw

from palimpsest_core.base.jstext import well_formed
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.fts5.extents import Extents
from palimpsest_core.search.fts5.schema import SURFACE_CODES
from palimpsest_core.search.indextext import UNICODE61_CJK, safe_text, spaced

_INT64 = 1 << 63


FLUSH_CHARS = 2_000_000
"""Documents are gathered until they hold about so much text; then each table gets its rows in one go."""


class DocumentTables:
    """Writes documents. Every call belongs inside a transaction; `n` is a log's number. `flush` before it ends.

    Documents get ascending numbers in the order they come: a lower one makes FTS5 write out what it has gathered.
    """

    def __init__(self, db: apsw.Connection, prefix: str, tokenizer: str, *, store_text: bool) -> None:
        schema = "temp" if prefix else "main"
        self._db = db
        self._tokenizer = tokenizer
        self._store_text = store_text
        self._fts = f"{prefix}fts"
        self._doc, self._body, self._place = (f"{schema}.{prefix}{name}" for name in ("doc", "body", "place"))
        self._kind_table = f"{schema}.{prefix}kind"
        self._kinds: dict[str, int] = {}
        self.extents = Extents(db, prefix)
        self._ids = array("q")
        self._rows: list[tuple[Any, ...]] = []
        self._texts: list[str] = []
        self._places: list[tuple[int, int, int]] = []
        self._chars = 0

    def add(self, n: int, documents: Iterable[IndexDocument]) -> int:
        """Insert documents of log `n`; returns how many there were. Their seqs must be new."""
        tail = self.extents.tail(n)
        number, highest, limit = tail.next, tail.seq, tail.limit
        ids, rows, texts, kinds, chars, count = self._ids, self._rows, self._texts, self._kinds, 0, 0
        for seq, kind, time, surface, text, start, length in documents:
            if seq > highest and number <= limit:
                rowid, highest = number, seq
                number += 1
            else:
                tail.next, tail.seq = number, highest
                rowid = self._placed(n, seq)
                tail = self.extents.tail(n)
                number, highest, limit = tail.next, tail.seq, tail.limit
                ids, rows, texts = self._ids, self._rows, self._texts
            safe = safe_text(text)
            size = len(safe)
            code = kinds.get(kind) or self._kind(kind)
            if not isinstance(time, int) or not -_INT64 <= time < _INT64:
                time = sql_number(time)
            ids.append(rowid)
            rows.append((rowid, n, seq, code, time, SURFACE_CODES[surface], size))
            texts.append(safe)
            chars += size
            count += 1
            if not self._store_text:
                self._places.append((rowid, start, length))
        tail.next, tail.seq = number, highest
        self._chars += chars
        if self._chars >= FLUSH_CHARS:
            self.flush()
        return count

    def _placed(self, n: int, seq: int) -> int:
        """A number for a document that cannot go behind the last one of its log."""
        tail = self.extents.tail(n)
        if seq <= tail.seq:
            # Told anew, mostly: it goes where it was. What was gathered has to be in the tables to look for that.
            self.flush()
            hole = self.extents.hole(n, seq)
            if hole is not None:
                return hole
        tail = self.extents.another(n)
        tail.next, tail.seq = tail.next + 1, seq
        return tail.next - 1

    def flush(self) -> None:
        """Write what was gathered."""
        self.extents.settle()
        if not self._ids:
            return
        self._db.executemany(f"insert into {self._doc} values(?,?,?,?,?,?,?)", self._rows)
        if self._store_text:
            self._db.executemany(f"insert into {self._body} values(?,?)", zip(self._ids, self._texts))
        else:
            self._db.executemany(f"insert into {self._place} values(?,?,?)", self._places)
        plain = self._tokenizer != UNICODE61_CJK
        # Row by row: a statement that inserts many rows makes FTS5 write out a segment, whatever room its hash still
        # has. With one such statement for six million characters postings took a fifth more space.
        texts = self._texts if plain else map(spaced, self._texts)
        self._db.executemany(f"insert into {self._fts}(rowid, text) values(?,?)", zip(self._ids, texts))
        self.forget()

    def forget(self) -> None:
        """Drop what was gathered and not written."""
        self.extents.forget()
        # New ones: a statement that still holds the old array must not see it change.
        self._ids, self._rows, self._texts, self._places, self._chars = array("q"), [], [], [], 0

    def drop(self, n: int, from_seq: int = 0) -> None:
        """Remove the documents of log `n` from event `from_seq` on; with all of them go its numbers."""
        self.flush()
        tables = [self._doc, self._body] if self._store_text else [self._doc, self._place]
        for first, last in self.extents.of(n):
            begin = first
            if from_seq > 0:
                if self.extents.highest(first, last)[1] < from_seq:
                    continue
                begin = self.extents.at(first, last, from_seq)
            # The postings go one by one, and only those that exist: FTS5 looks up each deleted row by its number.
            rows = self._db.execute(f"select id from {self._doc} where id between ? and ?", (begin, last)).fetchall()
            self._db.executemany(f"delete from {self._fts} where rowid=?", rows)
            for table in tables:
                self._db.execute(f"delete from {table} where id between ? and ?", (begin, last))
        if from_seq <= 0:
            self.extents.free(n)

    def drop_each(self, n: int, seqs: Iterable[int]) -> None:
        """Remove single documents; seqs without a document do no harm."""
        self.flush()
        rows = [(number,) for number in self.extents.ids(n, seqs)]
        for table, key in ((self._fts, "rowid"), (self._doc, "id"), (self._body, "id"), (self._place, "id")):
            if table == (self._place if self._store_text else self._body):
                continue
            self._db.executemany(f"delete from {table} where {key}=?", rows)

    def mark(self, n: int, seqs: Iterable[int], surface: str) -> None:
        """Give the documents of these events this surface; seqs without a document do no harm."""
        self.flush()
        code = SURFACE_CODES[surface]
        rows = [(code, number) for number in self.extents.ids(n, seqs)]
        self._db.executemany(f"update {self._doc} set surface=? where id=?", rows)

    def _kind(self, name: str) -> int:
        known = self._kinds.get(name)
        if known is None:
            safe = well_formed(name)
            self._db.execute(f"insert or ignore into {self._kind_table}(name) values(?)", (safe,))
            row = self._db.execute(f"select id from {self._kind_table} where name=?", (safe,)).fetchone()
            assert row is not None
            known = self._kinds[name] = int(row[0])
        return known

    def rolled_back(self) -> None:
        """The transaction came to nothing: what was gathered is void, and numbers of event types may be gone."""
        self.forget()
        self._kinds.clear()


def sql_number(value: int | float) -> int | float:
    """A number that SQLite can hold: integers beyond 64 bits as floats."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value
