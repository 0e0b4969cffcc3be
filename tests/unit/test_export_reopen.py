"""What may be opened: a root, a project, a session, a lone log, an exported ZIP; and what may not."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from palimpsest_core.export.reopen import NotALog, opened_target
from palimpsest_core.storage.layout import project_folder_name, session_folder_name


def log_text(session_id: str, cwd: str | None = "/home/mo/parser", version: int = 0) -> str:
    header = {"type": "session", "version": version, "id": session_id, "createdAt": 1, "delegationDepth": 0}
    return json.dumps(header | ({"cwd": cwd} if cwd is not None else {})) + "\n"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions" / project_folder_name("/home/mo/parser") / session_folder_name("a session")
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_text(log_text("a session"))
    return folder


def test_a_folder_of_sessions_is_a_root(session: Path) -> None:
    root = session.parent.parent
    for path in (root, session.parent, root.parent):
        with opened_target(path) as target:
            assert (target.root.resolve(), target.session_id, target.temporary) == (root.resolve(), None, False)


def test_a_session_folder_or_its_log_is_that_session_in_its_root(session: Path) -> None:
    for path in (session, session / "session.jsonl"):
        with opened_target(path) as target:
            assert (target.root, target.session_id) == (session.parent.parent.resolve(), "a session")


def test_a_log_anywhere_else_gets_a_root_of_its_own_for_a_while(tmp_path: Path) -> None:
    log = tmp_path / "mail attachment.jsonl"
    log.write_text(log_text("../../evil", cwd=None, version=3))
    with opened_target(log) as target:
        assert target.session_id == "../../evil"
        assert target.temporary
        (staged,) = target.root.rglob("session.v3.jsonl")
        assert staged.read_text() == log.read_text()
        assert staged.parent.parent.parent == target.root
    assert not target.root.exists()
    assert log.exists()


def test_an_exported_archive_is_a_root_with_its_images(tmp_path: Path) -> None:
    image = b"not really a picture"
    digest = hashlib.sha256(image).hexdigest()
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("session.jsonl", log_text("top"))
        archive.writestr("subagents/below/session.v3.jsonl", log_text("below", version=3))
        archive.writestr("subagents/torn/session.jsonl", "no header\n")
        archive.writestr(f"media/sha256_{digest}.png", image)
        archive.writestr("../../outside.jsonl", log_text("evil"))
    with opened_target(path) as target:
        assert target.session_id == "top"
        logs = sorted(item.relative_to(target.root).as_posix() for item in target.root.rglob("*.jsonl"))
        assert logs == [
            "--home-mo-parser--/below/session.v3.jsonl",
            "--home-mo-parser--/top/session.jsonl",
            "_no-cwd/unreadable-2/session.jsonl",
        ]
        stored = target.root.parent / "attachments" / "v1" / "objects" / digest[:2] / digest
        assert stored.read_bytes() == image
        place = target.root.parent
    assert not place.exists()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["export.zip"]


def test_what_cannot_be_opened_says_why(tmp_path: Path, session: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    headless = tmp_path / "headless.jsonl"
    headless.write_text("{}\n")
    empty = tmp_path / "empty.zip"
    zipfile.ZipFile(empty, "w").close()
    (session / "session.jsonl").write_text("{}\n")
    for path in (tmp_path / "missing", text, headless, empty, session):
        with pytest.raises(NotALog) as caught, opened_target(path):
            pass
        assert str(path) in caught.value.message
