"""The index file: whose it is, whether it is whole, and who may read it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import apsw
import pytest

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.fts5 import checked, schema
from palimpsest_core.search.fts5.database import IndexDamaged
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.provider import IndexSnapshot
from palimpsest_core.search.request import session_search


def fill(provider: Fts5Provider, text: str = "needle") -> None:
    record = SessionRecord(Header(version=0, id="a", created_at=5), live=False, persisted=True)
    provider.replace_persisted(IndexSnapshot(record, "1", [IndexDocument(0, "user/message", 1, "current", text)]))


def hits(provider: Fts5Provider, query: str = "needle") -> int:
    return len(provider.search_sessions(session_search(query, config=Config())).items)


def made(path: Path) -> Path:
    provider = Fts5Provider(str(path))
    fill(provider)
    provider.close()
    return path


def refused(path: Path, *, own_path: bool = False) -> str:
    before = path.read_bytes()
    with pytest.raises(SessionQueryError) as caught:
        Fts5Provider(str(path), own_path=own_path)
    assert caught.value.code is ErrorCode.INDEX_FAILED
    assert path.read_bytes() == before
    return caught.value.message


def test_a_new_index_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "index.sqlite"
    provider = Fts5Provider(str(path))
    fill(provider)
    names = [path, path.parent, path.with_name(path.name + "-wal")]
    assert [stat.S_IMODE(os.stat(name).st_mode) for name in names] == [0o600, 0o700, 0o600]
    provider.close()
    assert [entry.name for entry in path.parent.iterdir()] == ["index.sqlite"]


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    provider = Fts5Provider(str(made(tmp_path / "i.sqlite")))
    assert provider.notices == []
    assert hits(provider) == 1
    provider.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_full_disk_is_said_with_the_index_that_it_holds_and_stops_no_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    path = made(tmp_path / "i.sqlite")
    provider = Fts5Provider(str(path), config=Config(journal_mode=mode))
    assert hits(provider) == 1

    room, written = path.stat().st_size, checked._CheckedFile.xWrite

    def full(self: checked._CheckedFile, data: bytes, offset: int) -> None:
        if offset + len(data) > room:
            raise apsw.FullError("database or disk is full")
        written(self, data, offset)

    monkeypatch.setattr(checked._CheckedFile, "xWrite", full)
    more = "another " + " ".join(map(str, range(20_000)))
    if mode == "delete":
        with pytest.raises(SessionQueryError, match="no room left") as caught:
            fill(provider, more)
        assert caught.value.code is ErrorCode.INDEX_FAILED
        assert str(path) in caught.value.message
    else:  # room for the journal, none to put it into its file
        fill(provider, more)
    provider.close()
    monkeypatch.undo()
    again = Fts5Provider(str(path))
    assert (hits(again), hits(again, "another"), again.notices) == ((1, 0, []) if mode == "delete" else (0, 1, []))
    again.close()


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate", "persist"])
def test_every_journal_mode_works(tmp_path: Path, mode: str) -> None:
    for _ in range(2):
        provider = Fts5Provider(str(tmp_path / "i.sqlite"), config=Config(journal_mode=mode))
        fill(provider)
        assert hits(provider) == 1
        provider.close()


@pytest.mark.parametrize("mode", ["delete", "truncate", "persist", "wal"])
def test_what_a_crash_left_half_written_is_taken_back_when_it_is_opened(tmp_path: Path, mode: str) -> None:
    path = made(tmp_path / "i.sqlite")
    config = Config(journal_mode=mode)
    Fts5Provider(str(path), config=config).close()
    db = checked.connect(str(path))
    db.execute("pragma cache_size=2")  # so that pages are written long before the end
    db.execute("begin immediate")
    for number in range(500):
        db.execute("insert into meta values(?, ?)", (f"half {number}", "x" * 2_000))
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in tmp_path.glob("i.sqlite*"):
        shutil.copy(name, crashed)
    db.execute("rollback")
    db.close()
    provider = Fts5Provider(str(crashed / "i.sqlite"), config=config)
    assert (hits(provider), provider.notices) == (1, [])
    provider.close()


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("create table log(x)")
    db.close()
    assert "not an index" in refused(path)
    assert "not an index" in refused(path, own_path=True)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("my notes, " * 50)
    refused(path)
    refused(path, own_path=True)


def test_an_index_with_an_unknown_table_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "i.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("create table diary(x)")
    db.close()
    refused(path)


def test_an_index_is_never_put_in_the_place_of_a_log(tmp_path: Path) -> None:
    for name in ("session.jsonl", "session.jsonl.zstd", "SESSION.v3.JSONL"):
        with pytest.raises(SessionQueryError) as caught:
            Fts5Provider(str(tmp_path / name))
        assert caught.value.code is ErrorCode.INDEX_FAILED
    assert list(tmp_path.iterdir()) == []


def test_an_index_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "i.sqlite")
    with sqlite3.connect(path) as db:
        db.execute(f"pragma user_version={schema.SCHEMA_VERSION + 1}")
    db.close()
    assert "newer version" in refused(path)


def test_an_older_index_is_rebuilt_in_place(tmp_path: Path) -> None:
    path = made(tmp_path / "i.sqlite")
    inode = path.stat().st_ino
    db = checked.connect(str(path))
    db.execute("pragma user_version=0")
    db.close()
    provider = Fts5Provider(str(path))
    assert ["older version" in notice for notice in provider.notices] == [True]
    assert hits(provider) == 0
    fill(provider)
    assert hits(provider) == 1
    assert path.stat().st_ino == inode
    provider.close()


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"SQLite format 3\0", b"SQLite form", b"\0"])
def test_an_empty_torn_or_zeroed_file_at_the_own_place_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "i.sqlite"
    path.write_bytes(content)
    provider = Fts5Provider(str(path), own_path=True)
    assert len(provider.notices) == 1
    fill(provider)
    assert hits(provider) == 1
    provider.close()
    kept = [entry for entry in tmp_path.iterdir() if ".damaged-" in entry.name]
    assert [entry.read_bytes() for entry in kept] == [content]


def test_elsewhere_an_empty_file_is_taken_over_and_one_of_zeros_is_set_aside(tmp_path: Path) -> None:
    empty, zeroed = tmp_path / "empty", tmp_path / "zeroed"
    empty.touch()
    zeroed.write_bytes(b"\0" * 4096)
    for path in (empty, zeroed):
        provider = Fts5Provider(str(path))
        fill(provider)
        provider.close()
    kept = [entry for entry in tmp_path.iterdir() if entry.name.startswith("zeroed.damaged-")]
    assert [entry.read_bytes() for entry in kept] == [b"\0" * 4096]


def test_elsewhere_a_file_with_a_lost_head_is_ours_only_when_its_pages_say_so(tmp_path: Path) -> None:
    ours, image = made(tmp_path / "i.sqlite"), tmp_path / "disk.image"
    ours.write_bytes(b"\0" * 4096 + ours.read_bytes()[4096:])
    provider = Fts5Provider(str(ours))
    assert len(provider.notices) == 1
    provider.close()
    image.write_bytes(b"\0" * 4096 + b"a file system begins here" * 1000)
    refused(image)


def test_a_page_that_something_else_changed_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "i.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("update fts_data set block = zeroblob(length(block))")
        db.execute("update body set text = 'other words'")
    db.close()
    provider = Fts5Provider(str(path))
    with pytest.raises(IndexDamaged):
        hits(provider)
    assert any(".damaged-" in entry.name for entry in tmp_path.iterdir())
    assert any("damaged" in notice for notice in provider.notices)


def test_an_index_without_checksums_is_read_and_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    with contextlib.closing(apsw.Connection(str(path))) as db, db:
        schema.create_tables(db)
    for words in ("needle one", "needle two"):
        provider = Fts5Provider(str(path))
        fill(provider, words)
        assert (hits(provider), provider.notices) == (1, [])
        provider.close()
    with contextlib.closing(sqlite3.connect(path)) as plain:
        assert plain.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_cut_index_is_set_aside_and_rebuilt(tmp_path: Path) -> None:
    path = made(tmp_path / "i.sqlite")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    provider = Fts5Provider(str(path))
    assert len(provider.notices) == 1
    assert hits(provider) == 0
    fill(provider)
    assert hits(provider) == 1
    provider.close()


def test_damage_met_while_searching_is_set_aside_and_said(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    provider = Fts5Provider(str(path))
    for number in range(200):
        record = SessionRecord(Header(version=0, id=f"s{number}", created_at=5), live=False, persisted=True)
        text = f"needle {number} " + "filler words " * 200
        provider.replace_persisted(IndexSnapshot(record, "1", [IndexDocument(0, "x", 1, "current", text)]))
    provider.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 8192 * 4096)
        file.write(b"\xff" * (size // 4096 // 2 * 4096 - 4096))
    provider = Fts5Provider(str(path))
    with pytest.raises(SessionQueryError) as caught:
        print([hits(provider, f"needle {number}") for number in range(200)])
    assert caught.value.code is ErrorCode.INDEX_FAILED
    assert any(".damaged-" in entry.name for entry in tmp_path.iterdir())
    again = Fts5Provider(str(path))
    fill(again)
    assert hits(again) == 1
    again.close()


def test_an_index_of_other_text_settings_or_another_root_is_emptied(tmp_path: Path) -> None:
    path = made(tmp_path / "i.sqlite")
    changes = [("", Config(tokenizer="unicode61-cjk")), ("", Config(store_text=False)), ("/other", Config())]
    for root, config in changes:
        provider = Fts5Provider(str(path), root=root, config=config)
        assert len(provider.notices) == 1
        assert hits(provider) == 0
        fill(provider)
        assert hits(provider) == 1
        provider.close()
    same = Fts5Provider(str(path), root="/other")
    assert (same.notices, hits(same)) == ([], 1)
    same.close()


def test_two_readers_see_what_a_writer_commits(tmp_path: Path) -> None:
    path = str(tmp_path / "i.sqlite")
    writer, reader = Fts5Provider(path), Fts5Provider(path)
    fill(writer)
    assert hits(reader) == 1
    with writer.batch():
        fill(writer, "other")
        assert hits(reader) == 1
    assert hits(reader) == 0
    writer.close()
    reader.close()


def test_a_provider_knows_when_another_file_took_its_place(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    provider = Fts5Provider(str(path))
    assert not provider.superseded
    path.rename(tmp_path / "elsewhere")
    assert provider.superseded
    Fts5Provider(str(path)).close()
    assert provider.superseded
    provider.close()


def test_without_deletion_from_contentless_tables_everything_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "has_contentless_delete", lambda db: False)
    provider = Fts5Provider(str(tmp_path / "i.sqlite"))
    fill(provider, "old words")
    fill(provider, "new words")
    assert (hits(provider, "old"), hits(provider, "words")) == (0, 1)
    provider.close()


def test_without_array_bindings_everything_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(apsw, "carray")
    provider = Fts5Provider(":memory:")
    fill(provider)
    assert hits(provider) == 1
    provider.close()
