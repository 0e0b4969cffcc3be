"""The archive: stored text byte for byte, images checked, never half a file, never a name outside."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import zstandard

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.progress import Progress
from palimpsest_core.export.errors import ExportError, ExportErrorCode
from palimpsest_core.export.names import Taken, archive_name
from palimpsest_core.export.plan import ExportPlan, descendant_ids, make_plan
from palimpsest_core.export.zip import write_archive
from palimpsest_core.log.attached import AttachmentFinder
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import LineageNode, SessionRecord
from palimpsest_core.storage.attachments import attachment_store
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.writer.logfile import encode_batch
from palimpsest_core.writer.store import JsonlStore

CONFIG = Config()
PICTURE = b"\x89PNG fake but hashed"
PICTURE_ID = "sha256:" + hashlib.sha256(PICTURE).hexdigest()


def message(seq: int, *blocks: dict) -> dict:
    data = {"id": f"m{seq}", "role": "user", "source": {"kind": "user"}, "content": list(blocks)}
    return {"type": "user/message", "seq": seq, "time": seq, "data": data, "surfaceOp": "append"}


def image(attachment_id: str = PICTURE_ID, size: int = len(PICTURE)) -> dict:
    attachment = {"attachmentId": attachment_id, "mediaType": "image/png", "bytes": size, "width": 1, "height": 1}
    return {"type": "image", "attachment": attachment}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def write(root: Path, session_id: str, *events: dict, compression: str = "zstd") -> LogFile:
    store = JsonlStore(root, compression=compression)
    header = {"id": session_id, "createdAt": 1, "cwd": "/w"}
    store.create(header)
    for event in events:
        store.append(session_id, [event])
    return LogFile.at(store.locate(header))


def keep_picture(root: Path, content: bytes = PICTURE) -> None:
    digest = PICTURE_ID.removeprefix("sha256:")
    path = attachment_store(root) / "v1" / "objects" / digest[:2] / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def plan_of(root: Path, *logs: LogFile, ids: list[str] | None = None) -> ExportPlan:
    names = ids or [str(number) for number in range(len(logs))]
    return make_plan(list(zip(names, logs)), attachment_store(root), config=CONFIG)


def decoded(path: str) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(Path(path).read_bytes(), read_across_frames=True).read()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_entries_are_the_decoded_logs_in_order_then_the_images(root: Path, tmp_path: Path) -> None:
    keep_picture(root)
    parent = write(root, "a", message(0, text("é\ud83d"), image()), message(1, image()))
    child = write(root, "a/b", message(0, text("x")), compression="none")
    plan = plan_of(root, parent, child, ids=["a", "a/b"])
    result = write_archive(plan, tmp_path / plan.file_name, config=CONFIG)
    assert plan.file_name == "dsh-session-a.zip"
    assert (result.sessions, result.images, result.missing, result.damaged) == (2, 1, [], [])
    with zipfile.ZipFile(result.path) as archive:
        picture = f"media/{PICTURE_ID.replace(':', '_')}.png"
        assert archive.namelist() == ["session.jsonl", "subagents/a_b/session.jsonl", picture]
        assert archive.read("session.jsonl") == decoded(parent.path)
        assert archive.read("subagents/a_b/session.jsonl") == Path(child.path).read_bytes()
        assert archive.read(picture) == PICTURE
        assert archive.testzip() is None
    assert result.bytes == os.stat(result.path).st_size
    if shutil.which("unzip"):
        subprocess.run(["unzip", "-tq", result.path], check=True, stdout=subprocess.DEVNULL)


def test_a_torn_final_frame_is_left_out_and_a_torn_final_line_stays(root: Path, tmp_path: Path) -> None:
    packed = write(root, "a", message(0, text("kept")), message(1, text("torn")))
    stored = Path(packed.path).read_bytes()
    whole = decoded(packed.path)
    Path(packed.path).write_bytes(stored[:-3])
    plain = write(root, "b", message(0, text("kept")), compression="none")
    Path(plain.path).write_bytes(Path(plain.path).read_bytes() + b'{"type":"tu')
    plan = plan_of(root, packed.restat(), plain.restat())
    assert plan.damaged == []
    write_archive(plan, tmp_path / "x.zip", config=CONFIG)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.read("session.jsonl") == b"".join(whole.splitlines(keepends=True)[:-1])
        assert archive.read("subagents/1/session.jsonl").endswith(b'\n{"type":"tu')


def test_a_damaged_log_goes_in_up_to_the_damage_and_is_named(root: Path, tmp_path: Path) -> None:
    log = write(root, "a", message(0, text("before")), message(1, text("after")))
    stored = bytearray(Path(log.path).read_bytes())
    stored[-6] ^= 0xFF
    Path(log.path).write_bytes(stored)
    plan = plan_of(root, log.restat())
    result = write_archive(plan, tmp_path / "x.zip", config=CONFIG)
    assert [damaged.session_id for damaged in result.damaged] == ["0"]
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.read("session.jsonl").count(b"\n") == 2


def test_what_is_appended_after_planning_is_not_in_the_archive(root: Path, tmp_path: Path) -> None:
    log = write(root, "a", message(0, text("planned")))
    plan = plan_of(root, log)
    before = decoded(log.path)
    store = JsonlStore(root)
    store.load("a")
    store.append("a", [message(1, text("later"))])
    write_archive(plan, tmp_path / "x.zip", config=CONFIG)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.read("session.jsonl") == before


def test_a_replaced_log_fails_the_export(root: Path, tmp_path: Path) -> None:
    log = write(root, "a", message(0, text("planned")))
    plan = plan_of(root, log)
    Path(log.path).write_bytes(encode_batch(b"x" * 5000 + b"\n", "zstd") + os.urandom(200))
    with pytest.raises(ExportError) as caught:
        write_archive(plan, tmp_path / "x.zip", config=CONFIG)
    assert caught.value.code is ExportErrorCode.LOG_CHANGED
    assert os.listdir(tmp_path) == ["sessions"]


def test_newer_generations_keep_their_base_name(root: Path) -> None:
    log = write(root, "a", message(0, text("x")))
    newer = Path(log.path).with_name("session.v4.jsonl.zstd")
    newer.write_bytes(Path(log.path).read_bytes())
    other = write(root, "b", message(0, text("x")))
    plan = plan_of(root, LogFile.at(newer), other)
    assert [entry.entry for entry in plan.logs] == ["session.v4.jsonl", "subagents/1/session.jsonl"]


def test_ids_that_become_the_same_name_both_survive(root: Path, tmp_path: Path) -> None:
    logs = [write(root, session_id, message(0, text(session_id))) for session_id in ("r", "a/b", "a.b", "A_B", "..")]
    plan = plan_of(root, *logs, ids=["r", "a/b", "a.b", "A_B", ".."])
    names = [log.entry for log in plan.logs]
    assert names == [
        "session.jsonl",
        "subagents/a_b/session.jsonl",
        "subagents/a_b-2/session.jsonl",
        "subagents/A_B-3/session.jsonl",
        "subagents/__/session.jsonl",
    ]
    write_archive(plan, tmp_path / "x.zip", config=CONFIG)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert b'"id":"a.b"' in archive.read(names[2])


@pytest.mark.parametrize("wrong", ["gone", "size", "content"])
def test_an_image_that_cannot_go_in_fails_unless_allowed_and_is_named(root: Path, tmp_path: Path, wrong: str) -> None:
    if wrong != "gone":
        keep_picture(root, PICTURE if wrong == "size" else PICTURE[::-1])
    log = write(root, "a", message(0, image(size=len(PICTURE) + (wrong == "size"))))
    plan = plan_of(root, log)
    assert [missing.attachment_id for missing in plan.missing] == [PICTURE_ID]
    with pytest.raises(ExportError) as caught:
        write_archive(plan, tmp_path / "x.zip", config=CONFIG)
    assert caught.value.code is ExportErrorCode.ATTACHMENT_MISSING
    assert not (tmp_path / "x.zip").exists()
    result = write_archive(plan, tmp_path / "x.zip", config=CONFIG, allow_missing=True)
    assert [missing.session_id for missing in result.missing] == ["0"]


def test_an_image_whose_id_is_a_path_never_leaves_the_store(root: Path) -> None:
    plan = plan_of(root, write(root, "a", message(0, image("sha256:../../../etc/passwd"))))
    assert [missing.reason for missing in plan.missing] == ["Its id is no content hash."]


def test_an_existing_file_is_kept_unless_overwriting_is_asked_for(root: Path, tmp_path: Path) -> None:
    plan = plan_of(root, write(root, "a", message(0, text("x"))))
    target = tmp_path / "x.zip"
    target.write_bytes(b"mine")
    with pytest.raises(ExportError) as caught:
        write_archive(plan, target, config=CONFIG)
    assert caught.value.code is ExportErrorCode.TARGET_EXISTS
    assert target.read_bytes() == b"mine"
    write_archive(plan, target, config=CONFIG, overwrite=True)
    assert zipfile.is_zipfile(target)


def test_cancelling_removes_the_part_and_keeps_an_older_archive(root: Path, tmp_path: Path) -> None:
    log = write(root, "a", message(0, text("x" * 3000)), message(1, text("y")))
    plan = plan_of(root, log)
    target = tmp_path / "x.zip"
    target.write_bytes(b"older")
    token = CancelToken()
    with pytest.raises(SessionQueryError) as caught:
        write_archive(plan, target, config=CONFIG, overwrite=True, cancel=token, progress=lambda _: token.set())
    assert caught.value.code is ErrorCode.ABORTED
    assert sorted(os.listdir(tmp_path)) == ["sessions", "x.zip"]
    assert target.read_bytes() == b"older"


def test_progress_goes_by_bytes_and_ends_at_the_total(root: Path, tmp_path: Path) -> None:
    keep_picture(root)
    plan = plan_of(root, write(root, "a", message(0, image()), message(1, text("z" * 9000))))
    seen: list[Progress] = []
    write_archive(plan, tmp_path / "x.zip", config=CONFIG, progress=seen.append)
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert (seen[-1].done, seen[-1].total, seen[-1].unit) == (plan.total_bytes, plan.total_bytes, "bytes")


def test_a_target_that_cannot_be_written_is_said(root: Path, tmp_path: Path) -> None:
    plan = plan_of(root, write(root, "a", message(0, text("x"))))
    with pytest.raises(ExportError) as caught:
        write_archive(plan, tmp_path / "nowhere" / "x.zip", config=CONFIG)
    assert caught.value.code is ExportErrorCode.TARGET_UNWRITABLE


def test_a_log_that_is_gone_is_not_found(root: Path) -> None:
    log = write(root, "a", message(0, text("x")))
    os.unlink(log.path)
    with pytest.raises(SessionQueryError) as caught:
        plan_of(root, log)
    assert caught.value.code is ErrorCode.SESSION_NOT_FOUND


@pytest.mark.parametrize("level", [0, 1, 9])
def test_every_compression_level_gives_the_same_content(root: Path, tmp_path: Path, level: int) -> None:
    log = write(root, "a", message(0, text("again and again " * 500)))
    write_archive(plan_of(root, log), tmp_path / "x.zip", config=CONFIG, level=level)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.read("session.jsonl") == decoded(log.path)
        assert archive.getinfo("session.jsonl").compress_type == (zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED)


def test_images_are_found_in_every_place_that_holds_messages() -> None:
    def named(letter: str) -> dict:
        return image("sha256:" + letter * 64)

    rows = [
        message(0, text("x"), named("a")),
        {"type": "tool/result", "data": {"message": {"content": [{"type": "tool-result", "content": [named("b")]}]}}},
        {"type": "agent/inbox/spliced", "data": {"inserted": [{"content": [named("c")]}]}},
        {"type": "assistant/chunk", "data": {"chunk": {"type": "block-end", "block": named("d")}}},
        {"type": "assistant/attempt", "data": {"stream": [{"type": "chunk", "chunk": {"block": named("e")}}]}},
        {"type": "todo/write", "data": {"todos": [named("f")]}},
        message(1, named("a")),
        message(2, text('"attachmentId" in words')),
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode() + b'{"attachmentId" broken'
    finder = AttachmentFinder()
    for at in range(0, len(lines), 37):
        finder.feed(lines[at : at + 37])
    finder.finish()
    assert [name[7] for name in finder.found] == list("abcde")


def test_descendants_come_depth_first_each_once() -> None:
    def node(name: str, *below: LineageNode) -> LineageNode:
        header = Header(version=0, id=name, created_at=0)
        return LineageNode(SessionRecord(header, live=False, persisted=True), list(below))

    assert descendant_ids([node("a", node("b", node("c"))), node("d"), node("b")]) == ["a", "b", "c", "d"]


def test_unsafe_ids_give_safe_archive_names() -> None:
    assert archive_name("im:xx_1:dm/2 é😀") == "dsh-session-im_xx_1_dm_2___.zip"
    taken = Taken()
    assert [taken.unique("a/", "b", ".x") for _ in range(3)] == ["a/b.x", "a/b-2.x", "a/b-3.x"]


def test_entries_too_large_for_the_old_format_use_the_new_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest_core.export.zip._OLD_LIMIT", 10)
    log = write(root, "a", message(0, text("large, in a manner of speaking")))
    write_archive(plan_of(root, log), tmp_path / "x.zip", config=CONFIG)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.getinfo("session.jsonl").extract_version == zipfile.ZIP64_VERSION
        assert archive.read("session.jsonl") == decoded(log.path)
