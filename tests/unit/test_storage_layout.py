"""Names and places of logs, and the one walk over a root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from logmaking import frame, header, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.storage.layout import (
    PLAIN,
    ZSTD,
    discover,
    log_file_name,
    parse_log_name,
    project_folder_name,
    session_folder_name,
    session_id_of_folder,
)


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        (None, "_no-cwd"),
        ("/", "--root--"),
        ("/srv/a", "--srv-a--"),
        ("C:\\Users\\x", "--C-Users-x--"),
        ("/a//b:c", "--a-b-c--"),
        ("/a b/ü", "--a~0020b-~00FC--"),
        ("/\U0001f600", "--~D83D~DE00--"),
        ("/" + "x" * 300, "--" + "x" * 251 + "--"),
        ("/d/a\ude00b", "--d-a~DE00b--"),
    ],
)
def test_a_working_directory_has_one_project_folder(cwd: str | None, folder: str) -> None:
    assert project_folder_name(cwd) == folder


@pytest.mark.parametrize(
    "session_id", ["plain", "im:xx_1:dm:2", "a b~c", ".", "..", "...", "\U0001f600x", "\ud83d", "ü"]
)
def test_a_session_folder_names_its_id_and_no_other(session_id: str) -> None:
    folder = session_folder_name(session_id)
    assert session_id_of_folder(folder) == session_id
    assert folder not in (".", "..")
    assert "/" not in folder
    assert ":" not in folder


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("session.jsonl", (0, PLAIN)),
        ("session.jsonl.zstd", (0, ZSTD)),
        ("session.v3.jsonl.zstd", (3, ZSTD)),
        ("session.v12.jsonl", (12, PLAIN)),
        ("session.v0.jsonl", None),
        ("session.v03.jsonl", None),
        ("session.V3.jsonl", None),
        ("session.jsonl.zstd.0123456789ab.tmp", None),
        ("session.jsonl\n", None),
        ("session.v٣.jsonl", None),
        ("session.v9999999999999999999.jsonl", None),
        ("session.lock", None),
    ],
)
def test_a_log_name_counts_by_full_match_only(name: str, parts: tuple[int, str] | None) -> None:
    assert parse_log_name(name) == parts
    if parts is not None:
        assert log_file_name(*parts) == name


def test_a_walk_finds_each_log_once_with_its_stat(tmp_path: Path) -> None:
    wanted = {write(tmp_path, frame(header(n, f"s{n}")), version=n, session_id=f"s{n}").path for n in range(4)}
    found = discover(tmp_path)
    assert {file.path for file in found.files} == wanted
    assert all(file.stat.size == os.stat(file.path).st_size for file in found.files)
    assert (found.folders, found.strays, found.missing) == (4, [], False)


def test_links_are_followed_once_and_circles_end(tmp_path: Path) -> None:
    root = tmp_path / "real"
    log = write(root, frame(header()))
    (root / "alias").symlink_to(root / "--srv-a--")
    (root / "circle").symlink_to(root)
    (root / "--srv-a--" / "again").symlink_to(root / "--srv-a--" / "sess")
    (root / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "link").symlink_to(root)
    assert [file.path for file in discover(root).files] == [log.path]
    assert len(discover(tmp_path / "link").files) == 1


def test_what_is_no_log_becomes_a_stray(tmp_path: Path) -> None:
    log = write(tmp_path, frame(header()))
    folder = Path(log.path).parent
    for name in ("session.lock", "spill.txt", "session.v03.jsonl", "session.jsonl.bak"):
        (folder / name).touch()
    (folder / "session.v2.jsonl").mkdir()
    (folder / "session.v3.jsonl").symlink_to(folder / "gone")
    (folder / "session.jsonl.zstd.0123456789ab.tmp").touch()
    (folder.parent / "old.jsonl").touch()
    (tmp_path / "older.jsonl.zstd").touch()
    found = discover(tmp_path)
    assert [file.path for file in found.files] == [log.path]
    assert {(stray.kind, Path(stray.path).name) for stray in found.strays} == {
        ("not-a-file", "session.v2.jsonl"),
        ("dangling", "session.v3.jsonl"),
        ("temporary", "session.jsonl.zstd.0123456789ab.tmp"),
        ("legacy-layout", "old.jsonl"),
        ("in-root", "older.jsonl.zstd"),
    }


def test_a_missing_root_is_empty_and_says_so(tmp_path: Path) -> None:
    found = discover(tmp_path / "none")
    assert (found.files, found.strays, found.missing) == ([], [], True)


def test_a_walk_can_be_cancelled(tmp_path: Path) -> None:
    write(tmp_path, frame(header()))
    token = CancelToken()
    token.set()
    with pytest.raises(SessionQueryError) as caught:
        discover(tmp_path, token)
    assert caught.value.code == ErrorCode.ABORTED
