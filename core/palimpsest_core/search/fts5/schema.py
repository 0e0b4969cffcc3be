"""The tables of the index and what marks the file as ours (engine contract, section 6).

`log` has one row per log file (or per session that came without a file), `doc` one per document, `body` its text,
`fts` its postings. A document has the same number in `doc`, `body` and `fts`; `extent` tells which runs of numbers
belong to which log, so that a set of sessions is a set of ranges. `fts` is contentless: the text is stored once, or (a
setting) not at all, and then `place` says where in the log it comes from. The live tables are the same, local to a
connection, their logs and documents numbered from `LIVE_BASE` up.
"""

from __future__ import annotations

import contextlib

import apsw

APPLICATION_ID = 0x50414C49
"""What `pragma application_id` answers for an index of ours."""

SCHEMA_VERSION = 2
"""Raised whenever a table changes; an index with a lower one is rebuilt in place."""

LIVE_BASE = 1 << 38
"""Numbers of live sessions and of their documents start here, above every number of a stored one."""

SURFACES = ("log-only", "current", "shadowed", "withheld")
"""The surface column: the place of a surface's name in this tuple."""

SURFACE_CODES = {name: code for code, name in enumerate(SURFACES)}

LOG_COLUMNS = (
    "n",  # integer primary key
    "path",  # of the file, as bytes; null for a session that came without one
    "session",  # its id; null when not even the header could be read
    "answers",  # this file speaks for its session id
    "listed",  # it has a row of its own in the session list
    "live",
    "persisted",
    "revision",  # tells states of the file apart
    "fingerprint",  # the extractors it was read with
    "complete",  # 0 while a long log is being read in parts
    "changed",  # the generation that wrote this row last
    "created_at",
    "cwd",
    "parent",
    "version",
    "cut",  # inherited leading events
    "events",
    "first_time",  # of its documents; null: not known
    "last_time",
    "header",  # msgpack of `Header`
    "summary",  # msgpack of `SessionSummary`
)
_LOG_DEFINITION = "(n integer primary key, path blob unique, " + ", ".join(LOG_COLUMNS[2:]) + ")"
_DOC_DEFINITION = (
    "(id integer primary key, n integer not null, seq integer not null, kind integer not null, time,"
    " surface integer not null, len integer not null)"
)
_EXTENT_DEFINITION = "(first integer primary key, last integer not null, n integer not null)"

_DURABLE = (
    "create table meta(key text primary key, value) without rowid",
    "create table kind(id integer primary key, name text not null unique)",
    f"create table log{_LOG_DEFINITION}",
    "create index log_session on log(session)",
    "create index log_parent on log(parent) where parent is not null",
    "create index log_hidden on log(n) where answers=0",
    "create index log_forks on log(n) where cut>0",
    "create table state(n integer primary key, value blob not null)",
    f"create table extent{_EXTENT_DEFINITION}",
    "create index extent_log on extent(n)",
    f"create table doc{_DOC_DEFINITION}",
    "create table body(id integer primary key, text text not null)",
    "create table place(id integer primary key, start integer not null, length integer not null)",
)
_LIVE = (
    f"create temp table live_log{_LOG_DEFINITION}",
    "create index temp.live_log_session on live_log(session)",
    "create temp table live_kind(id integer primary key, name text not null unique)",
    f"create temp table live_extent{_EXTENT_DEFINITION}",
    "create index temp.live_extent_log on live_extent(n)",
    f"create temp table live_doc{_DOC_DEFINITION}",
    "create temp table live_body(id integer primary key, text text not null)",
)

_FTS_SHADOWS = {"fts_data", "fts_idx", "fts_content", "fts_docsize", "fts_config"}
_TABLES = {"meta", "kind", "log", "state", "extent", "doc", "body", "place", "fts"} | _FTS_SHADOWS

CACHE_KIB = 32_768
BULK_CACHE_KIB = 8_192
"""SQLite's page cache: a bulk build seldom comes back to a page."""

_FTS_OPTIONS = {
    # Not in FTS5's public option list; measured 1.7 to 2 times faster inserts than the default of 1 MB. Beside 16 MB,
    # postings take 2 % less space and indexing 500 MB no more memory.
    "hashsize": 32 << 20,
}

_LEAF_ROOM = 56
"""A leaf of postings must fit into a page beside the page's checksum and its own key: spilling costs 15 % of size."""


def known_tables(names: set[str]) -> bool:
    """Whether an index of ours may hold tables of these names; one more makes the file foreign."""
    return all(name in _TABLES or name.startswith("sqlite_") for name in names)


def has_contentless_delete(db: apsw.Connection) -> bool:
    """Whether this SQLite can delete from a contentless FTS5 table (3.43 and later)."""
    try:
        db.execute("create virtual table temp.probe using fts5(t, content='', contentless_delete=1)")
    except apsw.Error:
        return False
    db.execute("drop table temp.probe")
    return True


def has_carray(db: apsw.Connection) -> bool:
    """Whether an array of integers can be bound as a table."""
    if not hasattr(apsw, "carray"):
        return False
    try:
        db.execute("select value from carray(?)", (apsw.carray(b"\1\0\0\0\0\0\0\0", flags=apsw.SQLITE_CARRAY_INT64),))
    except apsw.Error:
        return False
    return True


def _fts(name: str, contentless_delete: bool) -> str:
    """Without `contentless_delete` the table keeps its own copy of the text: larger, otherwise the same."""
    content = ", content='', contentless_delete=1" if contentless_delete else ""
    return f"create virtual table {name} using fts5(text{content}, tokenize='unicode61')"


def create_tables(db: apsw.Connection) -> None:
    """Make an empty index in the database; call it inside a transaction."""
    for statement in _DURABLE:
        db.execute(statement)
    db.execute(_fts("main.fts", has_contentless_delete(db)))
    leaf = int(db.pragma("page_size")) - _LEAF_ROOM
    for option, value in (*_FTS_OPTIONS.items(), ("pgsz", leaf)):
        with contextlib.suppress(apsw.SQLError):
            db.execute("insert into fts(fts, rank) values(?, ?)", (option, value))
    db.execute(f"pragma application_id={APPLICATION_ID}")
    db.execute(f"pragma user_version={SCHEMA_VERSION}")


def create_live_tables(db: apsw.Connection) -> None:
    """Make the connection's own tables for live sessions and for the parameters of searches."""
    for statement in _LIVE:
        db.execute(statement)
    db.execute(_fts("temp.live_fts", has_contentless_delete(db)))
    db.execute("create temp table folded(n integer primary key, skip integer not null)")


def drop_tables(db: apsw.Connection) -> None:
    """Remove every table of the main database; call it inside a transaction."""
    names = [str(row[0]) for row in db.execute("select name from main.sqlite_schema where type='table'")]
    virtual = [name for name in names if name == "fts"]
    for name in virtual + [n for n in names if n not in virtual and not n.startswith(("sqlite_", "fts_"))]:
        db.execute(f'drop table main."{name}"')
