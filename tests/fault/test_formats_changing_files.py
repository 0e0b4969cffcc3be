"""Files that change, shrink or vanish while they are read; and proof that reading never writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from logmaking import CONFIG, frame, frames, header, prompt, row, text_of, write

from palimpsest_core.formats.catalog import Catalog
from palimpsest_core.formats.reader import LogChanged, LogReader, read_log
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.storage.layout import LogFile

ROWS = [header(), *[prompt(n, "word " * 40) for n in range(4000)]]


def test_a_log_that_grows_while_it_is_read_ends_at_the_size_first_seen(tmp_path: Path) -> None:
    for content, plain in ((frames(ROWS), False), (text_of(ROWS), True)):
        file = write(tmp_path, content, plain=plain)
        more = text_of([row(4000)]) if plain else frame(row(4000))
        with LogReader(file, config=CONFIG) as reader:
            count = 0
            for batch in reader.batches():
                if not count:
                    with open(file.path, "ab") as out:
                        out.write(more)
                count += len(batch)
            assert count == 4000
            assert reader.findings == []
            reader.refresh()
            assert [r.seq for batch in reader.batches() for r in batch] == [4000]


def test_a_log_that_shrinks_while_it_is_read_gives_a_prefix(tmp_path: Path) -> None:
    for content, plain in ((frames(ROWS), False), (text_of(ROWS), True)):
        file = write(tmp_path, content, plain=plain)
        with LogReader(file, config=CONFIG) as reader:
            batches = reader.batches()
            seqs = [r.seq for r in next(batches)]
            os.truncate(file.path, len(content) // 2)
            seqs += [r.seq for batch in batches for r in batch if not r.withheld]
            assert seqs == list(range(len(seqs)))
            os.truncate(file.path, reader.state.byte_offset - 1)
            with pytest.raises(LogChanged):
                reader.refresh()


def test_a_log_that_is_removed_while_open_can_be_read_to_its_end(tmp_path: Path) -> None:
    file = write(tmp_path, frames(ROWS))
    with LogReader(file, config=CONFIG) as reader:
        os.unlink(file.path)
        assert sum(len(batch) for batch in reader.batches()) == 4000
        with pytest.raises(FileNotFoundError):
            reader.refresh()


def test_a_file_that_vanishes_between_walk_and_look_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, frame(header()))
    gone = write(tmp_path, frame(header(0, "gone")), session_id="gone")
    import palimpsest_core.formats.catalog as catalog

    def late(file: LogFile, **more: object) -> object:
        if file.path == gone.path:
            raise FileNotFoundError(2, "No such file or directory")
        return real(file, **more)  # type: ignore[arg-type]

    real = catalog.read_header
    monkeypatch.setattr(catalog, "read_header", late)
    sessions = {entry.id: entry for entry in Catalog.scan(tmp_path, CONFIG).sessions}
    assert sessions["sess"].findings == []
    assert [finding.code for finding in sessions["gone"].findings] == [FindingCode.UNREADABLE]


def test_reading_opens_nothing_for_writing_and_changes_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [write(tmp_path, frames(ROWS)), write(tmp_path, text_of(ROWS), plain=True, session_id="p")]
    before = [os.stat(file.path) for file in files]
    flags: list[int] = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, flag, *more, **kw: (flags.append(flag), real(path, flag, *more, **kw))[1]
    )
    Catalog.scan(tmp_path, CONFIG)
    for file in files:
        read_log(file, config=CONFIG)
    assert flags
    assert all(flag & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 0 for flag in flags)
    after = [os.stat(file.path) for file in files]
    assert [(s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in after] == [
        (s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in before
    ]
