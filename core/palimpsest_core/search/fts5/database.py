"""Opening the index file: whose it is, whether it is whole, and making it (engine contract, section 6)."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.search.fts5 import checked, schema

MEMORY = ":memory:"
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_BUSY_MS = 10_000
_JOURNALS = ("-wal", "-shm", "-journal")


class IndexDamaged(SessionQueryError):
    """The index file is not whole. It has been set aside; opening again starts a new one."""

    def __init__(self, path: str) -> None:
        super().__init__(ErrorCode.INDEX_FAILED, f"The index {path} is damaged and will be rebuilt from the logs.")


class Opened(NamedTuple):
    """An open index: its connection, and what was done on the way, as sentences for people."""

    db: apsw.Connection
    notices: list[str]


def index_failed(message: str) -> SessionQueryError:
    """An `INDEX_FAILED` with this sentence."""
    return SessionQueryError(ErrorCode.INDEX_FAILED, message)


def open_index(path: str, *, journal_mode: str = "wal", own_path: bool = False) -> Opened:
    """Open or make the index at `path` (a file name or `:memory:`).

    `own_path` says that the program chose the place itself: an empty, torn or zero-headed file there is a damaged index
    of ours and is set aside; elsewhere an empty file is simply taken over, and a file whose head is lost is only ours
    when its pages say so, or when it holds nothing but zeros. A file that is not ours is refused and left untouched.
    Raises `INDEX_FAILED`.
    """
    if path == MEMORY:
        db = apsw.Connection(MEMORY)
        with immediate(db):
            schema.create_tables(db)
        _tune(db)
        return Opened(db, [])
    notices: list[str] = []
    _prepare_folder(path)
    state = _examine(path, own_path)
    if state == "damaged":
        notices.append(set_aside(path))
    if state != "ours":
        _make(path, journal_mode, replace=state == "empty")
    try:
        return Opened(_connect(path, journal_mode, notices), notices)
    except (apsw.CorruptError, apsw.NotADBError):
        notices.append(set_aside(path))
        _make(path, journal_mode, replace=False)
        return Opened(_connect(path, journal_mode, notices), notices)


@contextlib.contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    """A write transaction: all of it or nothing."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        # An error such as a full disk, or an interruption, may have rolled the transaction back already.
        if not db.get_autocommit():
            db.execute("rollback")
        raise


def set_aside(path: str) -> str:
    """Rename a damaged index and its journals, never deleting them; returns the sentence to show."""
    target = f"{path}.damaged-{time.time_ns() // 1_000_000}"
    for suffix in ("", *_JOURNALS):
        try:
            os.rename(path + suffix, target + suffix)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise index_failed(f"The damaged index {path} cannot be set aside ({error.strerror}).") from error
    return f"The index was damaged; it is kept as {Path(target).name} and is being rebuilt."


def _prepare_folder(path: str) -> None:
    if os.path.basename(path).lower().endswith((".jsonl", ".zstd", ".zst")):
        raise index_failed(f"The index must not be put in the place of a log: {path}.")
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise index_failed(f"The folder of the index cannot be made: {folder} ({error.strerror}).") from error


def _examine(path: str, own_path: bool) -> str:
    """ "absent", "empty", "damaged" or "ours". Raises `INDEX_FAILED` for a file that is not ours."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEADER_BYTES)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return "absent"
    except OSError as error:
        raise index_failed(f"The index cannot be read: {path} ({error.strerror}).") from error
    if not head:
        return "damaged" if own_path else "empty"
    torn = len(head) < _HEADER_BYTES and _MAGIC.startswith(head[: len(_MAGIC)])
    if own_path and (torn or not any(head[: len(_MAGIC)])):
        return "damaged"
    if not head.startswith(_MAGIC) or int.from_bytes(head[68:72], "big") != schema.APPLICATION_ID:
        if not _was_ours(path):
            raise _foreign(path)
        return "damaged"
    return "damaged" if _cut_short(path, head, size) else "ours"


def _was_ours(path: str) -> bool:
    """Whether a file without our head can only be a damaged index of ours, or holds nothing that could be lost."""
    try:
        return checked.has_checked_pages(path) or checked.holds_only_zeros(path)
    except OSError:
        return False


def _cut_short(path: str, head: bytes, size: int) -> bool:
    """Whether the file is shorter than its own header says; only certain when no journal has newer pages."""
    if any(os.path.exists(path + suffix) and os.path.getsize(path + suffix) for suffix in ("-wal", "-journal")):
        return False
    page = int.from_bytes(head[16:18], "big")
    page = 65_536 if page == 1 else page
    return int.from_bytes(head[28:32], "big") * page > size


def _foreign(path: str) -> SessionQueryError:
    return index_failed(f"The file {path} is not an index of this program; it is left untouched. Choose another place.")


def _make(path: str, journal_mode: str, *, replace: bool) -> None:
    """Put an empty index at `path`, complete from the first moment that others can see it, owner-only."""
    draft = f"{path}.{secrets.token_hex(6)}.tmp"
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise index_failed(f"The index cannot be made at {path} ({error.strerror}).") from error
    try:
        db = checked.connect(draft, new=True)
        try:
            db.pragma("auto_vacuum", 2)  # incremental: `Store.tidy` gives back what a bulk build leaves free
            with immediate(db):
                schema.create_tables(db)
            db.execute(f"pragma journal_mode={journal_mode}")
        finally:
            db.close()
        if replace:
            os.replace(draft, path)
        else:
            _publish(draft, path)
    except apsw.Error as error:
        raise index_failed(f"The index cannot be made at {path} ({error}).") from error
    except OSError as error:
        raise index_failed(f"The index cannot be made at {path} ({error.strerror}).") from error
    finally:
        for suffix in ("", *_JOURNALS):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft + suffix)


def _publish(draft: str, path: str) -> None:
    """Give the draft its name; when another process was faster, its index is the one."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:
        # No hard links here: the smaller promise of a rename.
        if not os.path.exists(path):
            os.rename(draft, path)


def _connect(path: str, journal_mode: str, notices: list[str]) -> apsw.Connection:
    _look_whose(path)
    db: apsw.Connection | None = None
    try:
        db = checked.connect(path)
        db.set_busy_timeout(_BUSY_MS)
        _ensure_schema(db, path, notices)
        # Only now: changing the journal mode writes, and a file that is not ours must stay as it is.
        if str(db.pragma("journal_mode")).lower() != journal_mode:
            db.pragma("journal_mode", journal_mode)
        _tune(db)
    except (apsw.CorruptError, apsw.NotADBError):
        if db is not None:
            db.close()
        raise
    except apsw.Error as error:
        if db is not None:
            db.close()
        raise index_failed(f"The index cannot be opened: {path} ({error}).") from error
    except BaseException:
        if db is not None:
            db.close()
        raise
    return db


def _look_whose(path: str) -> None:
    """Refuse a file that is not ours, without regard to checksums: whoever added a table did not write any."""
    with contextlib.closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as db:
        try:
            db.set_busy_timeout(_BUSY_MS)
            _schema_state(db, path)
        except (apsw.CorruptError, apsw.NotADBError):
            raise
        except apsw.ReadOnlyError:
            return  # a crash left a transaction half written; by its head it is ours, and opening it to write mends it
        except apsw.Error as error:
            raise index_failed(f"The index cannot be opened: {path} ({error}).") from error


def _tune(db: apsw.Connection) -> None:
    db.execute("pragma temp_store=memory")
    db.execute("pragma synchronous=normal")
    db.execute(f"pragma cache_size=-{schema.CACHE_KIB}")
    schema.create_live_tables(db)


def _ensure_schema(db: apsw.Connection, path: str, notices: list[str]) -> None:
    if _schema_state(db, path) == "current":
        return
    with immediate(db):
        if _schema_state(db, path) != "current":  # perhaps another process was faster
            schema.drop_tables(db)
            schema.create_tables(db)
            notices.append("The index was made by an older version and is being rebuilt.")


def _schema_state(db: apsw.Connection, path: str) -> str:
    """ "current" or "older". Raises `INDEX_FAILED` for what is not ours."""
    tables = {str(row[0]) for row in db.execute("select name from main.sqlite_schema where type='table'")}
    if db.pragma("application_id") != schema.APPLICATION_ID or not schema.known_tables(tables):
        raise _foreign(path)
    version = db.pragma("user_version")
    if version > schema.SCHEMA_VERSION:
        raise index_failed(f"The index {path} was made by a newer version; choose another place for this one.")
    return "current" if version == schema.SCHEMA_VERSION else "older"


def identity(path: str) -> tuple[int, int]:
    """Which file the path leads to now."""
    if path == MEMORY:
        return (0, 0)
    there = os.stat(path)
    return (there.st_dev, there.st_ino)
