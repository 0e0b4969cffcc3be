"""Live sessions: rows of this connection only, hiding the stored rows of the same id (engine contract, section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from palimpsest_core.base.jstext import well_formed
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument, LogEntry
from palimpsest_core.search.fts5.schema import LIVE_BASE, LOG_COLUMNS
from palimpsest_core.search.fts5.store import log_columns
from palimpsest_core.search.fts5.tables import DocumentTables

_INSERT = f"({', '.join(LOG_COLUMNS)}) values({','.join('?' * len(LOG_COLUMNS))})"


class LiveTables:
    """The live side of an index. The caller serialises."""

    def __init__(self, db: apsw.Connection, tokenizer: str) -> None:
        self._db = db
        self.documents = DocumentTables(db, "live_", tokenizer, store_text=True)
        self._numbers: dict[str, int] = {}
        self._next = LIVE_BASE
        self.changes = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def number_of(self, session_id: str) -> int | None:
        """The number of a live session."""
        return self._numbers.get(well_formed(session_id))

    def replace(self, record: SessionRecord, fingerprint: str, documents: Iterable[IndexDocument]) -> None:
        """Make these the documents of a live session."""
        self.remove(record.header.id)
        self.changes += 1
        number, self._next = self._next, self._next + 1
        columns = log_columns(_entry(record, fingerprint), self.changes)
        self._db.execute(f"insert into temp.live_log{_INSERT}", (number, *columns))
        self._add(number, documents)
        self._numbers[well_formed(record.header.id)] = number

    def append(
        self,
        record: SessionRecord,
        fingerprint: str,
        documents: Iterable[IndexDocument],
        remarked: Mapping[int, str],
    ) -> None:
        """Add documents to a live session that is held, and re-mark what changed."""
        number = self._numbers[well_formed(record.header.id)]
        self.changes += 1
        self._db.execute(
            "update temp.live_log set persisted=?, revision=?, changed=? where n=?",
            (record.persisted, fingerprint, self.changes, number),
        )
        self._add(number, documents)
        for surface in set(remarked.values()):
            self.documents.mark(number, [seq for seq, mark in remarked.items() if mark == surface], surface)

    def _add(self, number: int, documents: Iterable[IndexDocument]) -> None:
        try:
            self.documents.add(number, documents)
            self.documents.flush()
        except BaseException:
            self.documents.rolled_back()
            raise

    def remove(self, session_id: str) -> None:
        """Forget a live session; an unknown one does no harm."""
        number = self._numbers.pop(well_formed(session_id), None)
        if number is not None:
            self.changes += 1
            self.documents.drop(number)
            self._db.execute("delete from temp.live_log where n=?", (number,))


def _entry(record: SessionRecord, fingerprint: str) -> LogEntry:
    return LogEntry(
        path=None,
        session_id=record.header.id,
        revision=fingerprint,
        fingerprint="",
        header=record.header,
        live=True,
        persisted=record.persisted,
    )
