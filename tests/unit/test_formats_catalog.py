"""Sessions below a root: which file answers, and what is said about the others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from logmaking import CONFIG, frame, frames, header, row, text_of, write

from palimpsest_core.formats.catalog import Catalog, CatalogEntry, HeaderCache
from palimpsest_core.storage.layout import LogFile


def log(root: Path, version: int, last_time: int, *, plain: bool = False, **more: Any) -> LogFile:
    rows = [header(version, **more), row(0), {**row(1), "time": last_time}]
    return write(root, text_of(rows) if plain else frames(rows), plain=plain, version=version, **more)


def only(root: Path) -> CatalogEntry:
    (entry,) = Catalog.scan(root, CONFIG).sessions
    return entry


def codes(entry: CatalogEntry) -> list[str]:
    return [finding.code.value for finding in entry.findings]


def test_the_highest_known_generation_answers(tmp_path: Path) -> None:
    files = [log(tmp_path, version, 100) for version in (0, 2, 3)]
    entry = only(tmp_path)
    assert (entry.primary.path, entry.generation, entry.generations) == (files[2].path, 3, [0, 2, 3])
    assert codes(entry) == []
    assert entry.file_of(2) is not None
    assert entry.file_of(1) is None


def test_a_lower_generation_that_ends_later_answers_instead(tmp_path: Path) -> None:
    old = log(tmp_path, 0, 500)
    log(tmp_path, 3, 400)
    entry = only(tmp_path)
    assert (entry.primary.path, entry.generation) == (old.path, 0)
    assert codes(entry) == ["generation-divergence"]


def test_a_newer_number_answers_only_when_alone(tmp_path: Path) -> None:
    log(tmp_path, 10, 900)
    alone = only(tmp_path)
    assert (alone.generation, codes(alone)) == (10, ["unsupported-version"])
    known = log(tmp_path, 2, 100)
    entry = only(tmp_path)
    assert (entry.primary.path, codes(entry)) == (known.path, ["unsupported-version"])


def test_the_header_counts_where_name_and_header_disagree(tmp_path: Path) -> None:
    write(tmp_path, frame(header(3)), version=3, name="session.v2.jsonl.zstd")
    entry = only(tmp_path)
    assert (entry.generation, codes(entry)) == (3, ["name-header-mismatch"])
    assert "2" in entry.findings[0].message
    assert "3" in entry.findings[0].message


def test_of_twins_the_later_one_answers(tmp_path: Path) -> None:
    log(tmp_path, 3, 100)
    later = log(tmp_path, 3, 200, plain=True)
    entry = only(tmp_path)
    assert (entry.primary.path, codes(entry)) == (later.path, ["twin-encoding"])


def test_one_id_in_two_folders_is_one_session_with_a_finding(tmp_path: Path) -> None:
    right = log(tmp_path, 2, 100)
    (tmp_path / "--elsewhere--").mkdir()
    os.rename(tmp_path / "--srv-a--" / "sess", tmp_path / "--elsewhere--" / "sess")
    wrong = only(tmp_path)
    assert codes(wrong) == ["path-mismatch"]
    log(tmp_path, 2, 100)
    entry = only(tmp_path)
    assert entry.primary.path == right.path
    assert len(entry.files) == 2
    assert set(codes(entry)) == {"path-mismatch", "duplicate-id"}


def test_a_later_log_of_a_higher_generation_elsewhere_does_not_answer_for_the_one_in_its_place(tmp_path: Path) -> None:
    right = log(tmp_path, 2, 100)
    (tmp_path / "--elsewhere--").mkdir()
    log(tmp_path / "aside", 3, 900)
    os.rename(tmp_path / "aside" / "--srv-a--" / "sess", tmp_path / "--elsewhere--" / "claims")
    entry = only(tmp_path)
    assert entry.primary.path == right.path
    assert "duplicate-id" in codes(entry)


def test_a_link_to_the_right_place_is_the_right_place(tmp_path: Path) -> None:
    log(tmp_path, 0, 100)
    (tmp_path / "--srv-a--").rename(tmp_path / "real")
    (tmp_path / "--srv-a--").symlink_to(tmp_path / "real")
    assert codes(only(tmp_path)) == []


def test_a_folder_of_unreadable_files_is_still_a_session(tmp_path: Path) -> None:
    write(tmp_path, b"noise", session_id="im:1")
    entry = only(tmp_path)
    assert (entry.id, entry.header, codes(entry)) == ("im:1", None, ["unreadable"])
    log(tmp_path, 2, 100, session_id="im:1")
    entry = only(tmp_path)
    assert (entry.generation, len(entry.files), codes(entry)) == (2, 2, ["unreadable"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_cannot_be_opened_is_a_session_with_a_reason(tmp_path: Path) -> None:
    Path(log(tmp_path, 0, 100).path).chmod(0)
    assert "Permission" in only(tmp_path).findings[0].message


def test_a_log_of_the_flat_layout_is_listed_and_other_files_there_are_not(tmp_path: Path) -> None:
    (tmp_path / "--srv-a--").mkdir()
    (tmp_path / "--srv-a--" / "flat.jsonl").write_bytes(text_of([header(0, "flat"), row(0)]))
    (tmp_path / "--srv-a--" / "notes.jsonl").write_bytes(b"{}\n")
    catalog = Catalog.scan(tmp_path, CONFIG)
    assert [(entry.id, codes(entry)) for entry in catalog.sessions] == [("flat", ["legacy-layout"])]
    assert {finding.code.value for finding in catalog.strays} == {"legacy-layout"}


def test_left_temporary_files_are_named(tmp_path: Path) -> None:
    file = log(tmp_path, 0, 100)
    (Path(file.path).parent / "session.jsonl.zstd.0123456789ab.tmp").touch()
    lonely = tmp_path / "--srv-a--" / "other"
    lonely.mkdir()
    (lonely / "session.migration.0123456789abcdef.jsonl.zstd.tmp").touch()
    strays = sorted(Catalog.scan(tmp_path, CONFIG).strays, key=lambda finding: finding.path or "")
    assert [finding.code.value for finding in strays] == ["left-temporary-file"] * 2
    assert ["no log besides" in finding.message for finding in strays] == [True, False]


def test_the_cache_is_good_only_while_a_file_is_the_same(tmp_path: Path) -> None:
    cache = HeaderCache()
    file = log(tmp_path, 0, 100)
    first = Catalog.scan(tmp_path, CONFIG, cache=cache).sessions[0]
    assert Catalog.scan(tmp_path, CONFIG, cache=cache).sessions[0].files[0] is first.files[0]
    Path(file.path).write_bytes(frames([header(0, agentPreset="ptc"), row(0)]))
    second = Catalog.scan(tmp_path, CONFIG, cache=cache).sessions[0]
    assert second.header is not None
    assert second.header.agent_preset == "ptc"
    os.unlink(file.path)
    assert Catalog.scan(tmp_path, CONFIG, cache=cache).sessions == []


def test_a_missing_root_is_an_empty_catalog(tmp_path: Path) -> None:
    catalog = Catalog.scan(tmp_path / "gone", CONFIG)
    assert (catalog.sessions, catalog.missing) == ([], True)
