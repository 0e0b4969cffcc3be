"""The contract's plain SQL needs plain tables: every document's text and columns in one FTS5 table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw

from palimpsest_core.formats.reader import read_header, read_log
from palimpsest_core.log.text import REFERENCE
from palimpsest_core.model.config import parse_config
from palimpsest_core.query.durable import observed_log
from palimpsest_core.search.indextext import safe_text
from palimpsest_core.storage.layout import discover
from palimpsest_core.sync.mirror import documents_of

_TABLE = """create virtual table docs using fts5(text, session_id unindexed, seq unindexed, type unindexed,
  time unindexed, surface unindexed, codepoint_length unindexed, tokenize='unicode61')"""


def _rows(root: Path) -> Iterator[tuple[str | int | float, ...]]:
    config = parse_config({"extractors": "reference"})
    for file in discover(root).files:
        log = read_log(file, config=config)
        if log.header is None:
            continue
        seen = observed_log(log, strict=False)
        for seq, kind, time, surface, text, _, _ in documents_of(seen.events, seen.fold(), REFERENCE):
            safe = safe_text(text)
            yield safe, seen.header.id, seq, kind, time, surface, len(safe)


def make_reference_index(root: Path, path: Path) -> None:
    """Write the tables for `root` to `path` unless they are there."""
    if not path.exists():
        _make(root, path)
    with contextlib.closing(apsw.Connection(str(path))) as db, db:
        if not db.table_exists("main", "sessions"):
            db.execute("create table sessions(id text primary key, cwd text)")
            db.executemany("insert into sessions values(?,?)", _sessions(root))


def _sessions(root: Path) -> Iterator[tuple[str, str | None]]:
    config = parse_config({"extractors": "reference"})
    for file in discover(root).files:
        header = read_header(file, config=config).header
        if header is not None:
            yield header.id, header.cwd


def _make(root: Path, path: Path) -> None:
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    db = apsw.Connection(str(draft))
    db.execute("pragma journal_mode=off; pragma synchronous=off")
    db.execute(_TABLE)
    with db:
        db.executemany("insert into docs values(?,?,?,?,?,?,?)", _rows(root))
    db.close()
    draft.rename(path)
