"""The durable rows of the index: logs, their documents and where reading stopped."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.jstext import storable_value, well_formed
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionSummary
from palimpsest_core.search.documents import IndexDocument, KnownLog, LogEntry
from palimpsest_core.search.fts5 import schema
from palimpsest_core.search.fts5.database import immediate, index_failed
from palimpsest_core.search.fts5.tables import DocumentTables, sql_number

_NO_LOG = 0
"""Logs are numbered from 1 on."""

MANY_SEGMENTS = 8
"""With so many parts merging pays: measured on 1 M documents in 16 parts, 2.7 s of a build of 75, 4 % of the index, and
a search in one project in a third of the time."""

MERGED_PAGES = 2_000

_summary = msgspec.msgpack.Decoder(SessionSummary).decode
_INSERT = f"({', '.join(schema.LOG_COLUMNS)}) values({','.join('?' * len(schema.LOG_COLUMNS))})"
_UPDATE = ", ".join(f"{name}=?" for name in schema.LOG_COLUMNS[1:])


class Store:
    """Reads and writes the durable tables through one connection. The caller serialises."""

    def __init__(self, db: apsw.Connection, tokenizer: str, *, store_text: bool) -> None:
        self._db = db
        self.documents = DocumentTables(db, "", tokenizer, store_text=store_text)
        self._writing = 0
        self._touched = False
        self._written = 0
        self._known: tuple[int, dict[str, KnownLog]] | None = None

    # -- settings --------------------------------------------------------------------------------------------------

    def setting(self, key: str) -> Any:
        """A value kept beside the tables, None when there is none."""
        row = self._db.execute("select value from meta where key=?", (key,)).fetchone()
        return None if row is None else row[0]

    def put_setting(self, key: str, value: Any) -> None:
        """Keep a value beside the tables."""
        self._db.execute("insert or replace into meta values(?,?)", (key, value))

    @property
    def generation(self) -> int:
        """Counts the transactions that changed anything, by any process."""
        return int(self.setting("generation") or 0)

    @property
    def foreign(self) -> int:
        """Rises with each transaction by which another process changed anything, not with our own."""
        return self.generation - self._written

    # -- transactions ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """A write transaction (nested ones join it). The generation rises when anything was written."""
        if self._writing:
            yield
            return
        try:
            with immediate(self._db):
                self._writing, self._touched = self.generation + 1, False
                yield
                self.documents.flush()
                if self._touched:
                    self.put_setting("generation", self._writing)
            self._written += self._touched
        except BaseException:
            self.documents.rolled_back()
            raise
        finally:
            self._writing = 0
            self._known = None

    def touch(self) -> int:
        """Note that this transaction changes something; returns the generation it makes."""
        assert self._writing, "writing outside of a batch"
        self._touched = True
        return self._writing

    def bulk(self, on: bool) -> None:
        """Merge postings later (a bulk build) or as they come (the default)."""
        self._db.execute(f"pragma main.cache_size=-{schema.BULK_CACHE_KIB if on else schema.CACHE_KIB}")
        self._db.execute("insert into fts(fts, rank) values('automerge', ?)", (0 if on else 4,))

    def segments(self) -> int:
        """How many parts the postings are in: each has to be looked into for every word."""
        return int(self._db.execute("select count(distinct segid) from fts_idx").get)

    def tidy(self, cancel: CancelToken | None = None) -> None:
        """Merge postings that are in many parts, and give back free pages and the space of the journal. Not in a batch.

        Ends early, with all that is held as it was, when it is cancelled.
        """
        if self.segments() >= MANY_SEGMENTS:
            # A negative number begins to merge everything; then it goes on in steps, until nothing is left to do.
            pages = -MERGED_PAGES
            while cancel is None or not cancel.is_set():
                before = self._db.total_changes()
                self._db.execute("insert into fts(fts, rank) values('merge', ?)", (pages,))
                if self._db.total_changes() - before < 2:
                    break
                pages = MERGED_PAGES
        if self._db.pragma("freelist_count") * 50 > self._db.pragma("page_count"):
            self._db.execute("pragma main.incremental_vacuum").fetchall()
        self._db.execute("pragma main.wal_checkpoint(truncate)").fetchall()

    # -- logs ------------------------------------------------------------------------------------------------------

    def known_logs(self) -> dict[str, KnownLog]:
        """Every log file by path. Kept until the generation changes."""
        generation = self.generation
        if self._known is None or self._known[0] != generation:
            rows = self._db.execute(
                "select path, n, session, revision, fingerprint, complete, answers from log where path is not null"
            )
            self._known = (
                generation,
                {os.fsdecode(path): KnownLog(n, s, r, f, bool(c), bool(a)) for path, n, s, r, f, c, a in rows},
            )
        return self._known[1]

    def number_of(self, session_id: str) -> int | None:
        """The number of the log that answers for a session."""
        row = self._db.execute(
            "select n from log where session=? and answers order by n", (well_formed(session_id),)
        ).fetchone()
        return None if row is None else int(row[0])

    def add_log(self, entry: LogEntry) -> int:
        """Start holding a log; returns its number, higher than all others."""
        row = self._db.execute("select coalesce(max(n), 0) + 1 from log").fetchone()
        assert row is not None
        number = int(row[0])
        self._db.execute(f"insert into log{_INSERT}", (number, *log_columns(entry, self.touch())))
        return number

    def update_log(self, number: int, entry: LogEntry) -> None:
        """Replace what is known of a log; its documents stay. Raises `INDEX_FAILED` when it is not held any more."""
        self._check_held(number)
        self._db.execute(f"update log set {_UPDATE} where n=?", (*log_columns(entry, self.touch()), number))

    def _check_held(self, number: int) -> None:
        """A long log comes in several transactions: documents of one without a row would be another log's later."""
        if self._db.execute("select 1 from log where n=?", (number,)).fetchone() is None:
            raise index_failed("Another process emptied the index while a log was being read into it.")

    def set_answers(self, number: int, answers: bool, listed: bool) -> None:
        """Say whether this file speaks for its session id, and whether it has a row in the list."""
        row = (answers, listed, self.touch(), number)
        self._db.execute("update log set answers=?, listed=?, changed=? where n=?", row)

    def summary_of(self, number: int) -> SessionSummary | None:
        """The list row of a log as it was given."""
        row = self._db.execute("select summary from log where n=?", (number,)).fetchone()
        return None if row is None or row[0] is None else _summary(bytes(row[0]))

    def update_summary(self, number: int, summary: SessionSummary, revision: str | None = None) -> None:
        """Replace the list row of a log, and its revision when one is given; its documents stay."""
        self._db.execute(
            "update log set summary=?, revision=coalesce(?, revision), changed=? where n=?",
            (packed(summary), revision, self.touch(), number),
        )

    def remove_log(self, number: int) -> None:
        """Forget a log with its documents and its state."""
        self.touch()
        self.documents.drop(number)
        self._db.execute("delete from state where n=?", (number,))
        self._db.execute("delete from log where n=?", (number,))

    # -- documents -------------------------------------------------------------------------------------------------

    def add_documents(self, number: int, documents: Iterable[IndexDocument]) -> int:
        """Add documents of a log; returns how many. Raises `INDEX_FAILED` when the log is not held any more."""
        self.touch()
        self._check_held(number)
        return self.documents.add(number, documents)

    def drop_documents(self, number: int, from_seq: int = 0) -> None:
        """Remove a log's documents from an event on."""
        self.touch()
        self.documents.drop(number, from_seq)

    def drop_each(self, number: int, seqs: Iterable[int]) -> None:
        """Remove single documents of a log."""
        self.touch()
        self.documents.drop_each(number, seqs)

    def mark(self, number: int, seqs: Iterable[int], surface: str) -> None:
        """Give documents another surface."""
        self.touch()
        self.documents.mark(number, seqs, surface)

    # -- reading on ------------------------------------------------------------------------------------------------

    def load_state(self, number: int) -> bytes | None:
        """Where reading of a log stopped."""
        row = self._db.execute("select value from state where n=?", (number,)).fetchone()
        return None if row is None else bytes(row[0])

    def load_look(self) -> bytes | None:
        """What the last look over the whole root found."""
        return self.load_state(_NO_LOG)

    def save_look(self, look: bytes) -> None:
        """Remember what a look over the root found. That changes nothing about what is held."""
        self._db.execute("insert or replace into state values(?,?)", (_NO_LOG, look))

    def save_state(self, number: int, state: bytes) -> None:
        """Remember where reading of a log stopped."""
        self.touch()
        self._db.execute("insert or replace into state values(?,?)", (number, state))


def log_columns(entry: LogEntry, changed: int) -> tuple[Any, ...]:
    """The columns of a log row after its number."""
    header = entry.header
    return (
        None if entry.path is None else os.fsencode(entry.path),
        None if entry.session_id is None else well_formed(entry.session_id),
        entry.answers,
        entry.listed,
        entry.live,
        entry.persisted,
        entry.revision,
        entry.fingerprint,
        entry.complete,
        changed,
        None if header is None else sql_number(header.created_at),
        None if header is None or header.cwd is None else well_formed(header.cwd),
        None if header is None or header.parent_session is None else well_formed(header.parent_session),
        -1 if header is None else header.version,
        entry.cut,
        entry.events,
        None if entry.first_time is None else sql_number(entry.first_time),
        None if entry.last_time is None else sql_number(entry.last_time),
        b"" if header is None else packed(header),
        None if entry.summary is None else packed(entry.summary),
    )


def packed(record: Header | SessionSummary) -> bytes:
    """A record as bytes; lone surrogates in it become U+FFFD, integers beyond 64 bits doubles."""
    try:
        return msgspec.msgpack.encode(record)
    except (UnicodeEncodeError, OverflowError):
        return msgspec.msgpack.encode(storable_value(msgspec.to_builtins(record)))
