"""Rescue: the readable prefix in a new place, line for line, and nothing made up."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from logmaking import frame, frames, header, prompt, row, write

from palimpsest_core import Engine
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.catalog import Catalog
from palimpsest_core.formats.reader import read_log
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.storage.layout import LogFile, discover
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.rescue import rescue
from palimpsest_core.writer.store import JsonlStore

CONFIG = Config()
CORPORA = Path(__file__).parents[1] / "conformance"
STAYS = {
    FindingCode.UNKNOWN_REQUIRED_EVENT,
    FindingCode.HEADER_KEYS,
    FindingCode.UNSUPPORTED_VERSION,
    FindingCode.CORRUPT,
    FindingCode.SURFACE_UNRELIABLE,
}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    with tarfile.open(CORPORA / "damaged" / "roots.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def written(root: Path, events: int = 3) -> LogFile:
    store = JsonlStore(root)
    header = {"id": "a", "createdAt": 1, "cwd": "/w"}
    store.create(header)
    for seq in range(events):
        store.append("a", [{"type": "turn/start", "seq": seq, "time": seq, "data": {"turn": seq + 1}}])
    return LogFile.at(store.locate(header))


def test_every_damaged_log_gives_a_sound_copy_of_its_readable_prefix(damaged: Path, tmp_path: Path) -> None:
    rescued = 0
    files = [file for root in sorted(damaged.iterdir()) for file in discover(root).files]
    for number, file in enumerate(sorted(files, key=lambda f: f.path)):
        before = read_log(file, config=CONFIG)
        if before.header is None:
            continue
        done = rescue(file, tmp_path / str(number), config=CONFIG, write=True)
        after = read_log(LogFile.at(done.path), config=CONFIG)
        assert [(e.type, e.seq, e.time, e.data) for e in after.events] == [
            (e.type, e.seq, e.time, e.data) for e in before.events
        ], file.path
        assert after.withheld_rows == 0
        assert {finding.code for finding in after.findings} <= STAYS, (file.path, after.findings)
        assert not any(f.detail in ("checksum", "undecodable", "bad-json", "path") for f in after.findings)
        rescued += 1
    assert rescued > 60


def test_a_copy_lies_where_its_header_says(damaged: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "sessions")
    moved = Path(file.path).parent.rename(Path(file.path).parent.with_name("elsewhere"))
    done = rescue(LogFile.at(moved / "session.jsonl.zstd"), tmp_path / "out", config=CONFIG, write=True)
    assert done.path == str(tmp_path / "out" / "--w--" / "a" / "session.jsonl.zstd")
    catalog = Catalog.scan(tmp_path / "out", CONFIG)
    assert [(entry.id, entry.findings) for entry in catalog.sessions] == [("a", [])]


def test_a_dry_run_tells_the_same_and_writes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path / "sessions")
    Path(file.path).write_bytes(Path(file.path).read_bytes()[:-4])
    torn = file.restat()
    told = rescue(torn, tmp_path / "out", config=CONFIG)
    assert not (tmp_path / "out").exists()
    done = rescue(torn, tmp_path / "out", config=CONFIG, write=True)
    assert (told.rows, told.events, told.withheld, told.notes) == (done.rows, done.events, done.withheld, done.notes)
    assert (told.written, done.written) == (False, True)
    assert any("torn end is left out" in note for note in told.notes)
    assert any("No events that close it are made up" in note for note in told.notes)


def test_the_source_is_untouched_and_an_existing_copy_too(tmp_path: Path) -> None:
    file = written(tmp_path / "sessions")
    source = Path(file.path).read_bytes()
    done = rescue(file, tmp_path / "out", config=CONFIG, write=True)
    copy = Path(done.path).read_bytes()
    with pytest.raises(WriteRefused) as caught:
        rescue(file, tmp_path / "out", config=CONFIG, write=True)
    assert caught.value.reason is Refusal.ID_TAKEN
    assert Path(done.path).read_bytes() == copy
    assert Path(file.path).read_bytes() == source
    assert os.listdir(Path(done.path).parent) == ["session.jsonl.zstd"]


def test_a_file_without_a_header_cannot_be_rescued(tmp_path: Path) -> None:
    path = tmp_path / "p" / "s" / "session.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no header\n")
    with pytest.raises(SessionQueryError) as caught:
        rescue(LogFile.at(path), tmp_path / "out", config=CONFIG)
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED


def test_broken_surface_marks_are_kept_and_said(damaged: Path, tmp_path: Path) -> None:
    file = next(file for file in discover(damaged / "surface-reversed").files if file.folder == "victim")
    done = rescue(file, tmp_path, config=CONFIG)
    assert any("strict readers refuse the log" in note for note in done.notes)


def stored(root: Path, *rows: object) -> LogFile:
    return write(root, frames([header(0, "a"), *rows]), session_id="a")


END = {"turn": 1, "reason": {"kind": "completed"}}


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([row(0), prompt(1, "hi"), row(2, "turn/end", END)], None),
        ([row(0), prompt(1, "hi"), row(2, "turn/end", {"turn": 1, "reason": 7})], "turn end at event 2"),
        ([row(0), prompt(1, "hi"), row(2, "acme/thing"), row(3, "turn/end", END)], "unknown type 'acme/thing'"),
        ([row(0), {**prompt(1, "hi"), "surfaceOp": {"op": "replace", "start": 0, "end": 0}}], "surface"),
        ([row(0, "todo/write", {"todos": [], "n": 10**400}), prompt(1, "hi")], "not plain"),
        ([{**row(0), "data": None}, prompt(1, "hi")], "turn/start at event 0 has no payload"),
        ([row(0, "turn/start", {"step": 1}), prompt(1, "hi")], "does not number what event 2 would close"),
        ([row(0), row(1, "step/start", {"turn": 1}), prompt(2, "hi")], "does not number what event 3 would close"),
        ([row(0, "turn/start", {"step": 1}), prompt(1, "hi"), row(2, "turn/end", END)], None),
    ],
)
def test_why_the_harness_would_not_take_the_copy_is_said_before(
    tmp_path: Path, rows: list[object], why: str | None
) -> None:
    told = rescue(stored(tmp_path / "sessions", *rows), tmp_path / "out", config=CONFIG)
    assert (told.refused is None) == (why is None)
    if why is not None and told.refused is not None:
        assert why.lower() in told.refused.lower()
        assert any(told.refused in note for note in told.notes)
    done = rescue(stored(tmp_path / "sessions", *rows), tmp_path / "out", config=CONFIG, write=True)
    strict = Config(mode="strict", extractors="reference")
    with Engine(tmp_path / "out", index=":memory:", config=strict) as engine:
        if done.refused is None:
            assert len(engine.read_session("a").events) >= done.events
        else:
            with pytest.raises(SessionQueryError):
                engine.read_session("a")


def test_a_header_from_a_damaged_frame_is_kept_said_and_taken(tmp_path: Path) -> None:
    # The first frame lacks the end of its checksum.
    file = write(tmp_path / "sessions", frame(header(0, "a"))[:-2] + frame(row(0)), session_id="a")
    told = rescue(file, tmp_path / "out", config=CONFIG, write=True)
    assert (told.rows, told.refused) == (0, None)
    assert any("it may be wrong" in note for note in told.notes)
    strict = Config(mode="strict", extractors="reference")
    with Engine(tmp_path / "out", index=":memory:", config=strict) as engine:
        assert engine.read_session("a").events == []


def test_what_is_left_out_does_not_count_against_the_copy(tmp_path: Path) -> None:
    gone = [{**row(9), "data": None}, {**row(10), "time": "never"}, row(11, "turn/end", END)]
    told = rescue(stored(tmp_path, row(0), prompt(1, "hi"), row(2, "turn/end", END), *gone), tmp_path, config=CONFIG)
    assert (told.rows, told.withheld, told.refused) == (3, 3, None)
