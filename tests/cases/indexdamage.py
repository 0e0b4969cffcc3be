"""Ways to damage an index file: in its bytes, in the content of its tables, in the files beside it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

Damage = Callable[[Path], None]
BESIDE = ("-wal", "-shm", "-journal")


def copy(built: Path, target: Path) -> None:
    """A copy of an index with what lies beside it."""
    for suffix in ("", *BESIDE):
        source = Path(f"{built}{suffix}")
        if source.exists():
            shutil.copy2(source, f"{target}{suffix}")


def _shadow_tables(built: Path) -> list[tuple[str, int, int]]:
    """Name and root page of each shadow table of the full-text index, and the size of a page."""
    with closing(sqlite3.connect(f"file:{built}?mode=ro", uri=True)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        virtual = [
            name
            for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            if "VIRTUAL TABLE" in (sql or "").upper()
        ]
        tables = db.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
        return [(name, page, size) for name, page in tables if any(name.startswith(f"{table}_") for table in virtual)]


def _overwrite(offset: int, length: int, byte: bytes | None = None) -> Damage:
    def damage(index: Path) -> None:
        with index.open("r+b") as file:
            file.seek(offset)
            file.write(random.Random(offset).randbytes(length) if byte is None else byte * length)

    return damage


def _rewrite_blobs(table: str) -> Damage:
    """Every blob of a shadow table loses its end or gets 100 bytes of nonsense: sound pages, wrong content."""

    def damage(index: Path) -> None:
        with closing(sqlite3.connect(index)) as db:
            names = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            for name in names:
                db.execute(
                    f'UPDATE OR IGNORE "{table}" SET "{name}" = CAST(substr("{name}", 1, length("{name}") / 2) '
                    f"AS BLOB) || randomblob(100) WHERE typeof(\"{name}\") IN ('blob', 'text')"
                )
            db.commit()

    return damage


def shadow_tables(built: Path) -> Iterator[tuple[str, Damage]]:
    """100 bytes of each shadow table in turn: at its page's head, in its middle, at its end; nonsense in its blobs."""
    for name, page, size in _shadow_tables(built):
        start = (page - 1) * size
        yield f"{name} head", _overwrite(start, 100)
        yield f"{name} middle", _overwrite(start + size // 2, 100)
        yield f"{name} end", _overwrite(start + size - 100, 100)
        yield f"{name} blobs", _rewrite_blobs(name)


def cut_half(built: Path) -> Iterator[tuple[str, Damage]]:
    """The file ends in its middle."""

    def damage(index: Path) -> None:
        with index.open("r+b") as file:
            file.truncate(built.stat().st_size // 2)

    yield "cut in half", damage


def zero_head(built: Path) -> Iterator[tuple[str, Damage]]:
    """Zeros where the file's header was."""
    yield "head of zeros", _overwrite(0, 100, b"\0")
    yield "first page of zeros", _overwrite(0, 4096, b"\0")


def empty_wal(built: Path) -> Iterator[tuple[str, Damage]]:
    """A write-ahead file without content, or with nonsense."""

    def damage(content: bytes) -> Damage:
        def write(index: Path) -> None:
            Path(f"{index}-wal").write_bytes(content)

        return write

    yield "empty write-ahead file", damage(b"")
    yield "foreign write-ahead file", damage(random.Random(1).randbytes(4096))


def zero_all(built: Path) -> Iterator[tuple[str, Damage]]:
    """Nothing but zeros, in the old length; and nothing at all."""

    def damage(index: Path) -> None:
        index.write_bytes(b"\0" * built.stat().st_size)

    def nothing(index: Path) -> None:
        index.write_bytes(b"")

    yield "all zeros", damage
    yield "no content", nothing


WAYS: dict[str, Callable[[Path], Iterator[tuple[str, Damage]]]] = {
    "shadow-tables": shadow_tables,
    "cut-half": cut_half,
    "zero-head": zero_head,
    "empty-wal": empty_wal,
    "zero-all": zero_all,
}
