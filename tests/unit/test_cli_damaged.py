"""Damaged logs on the command line: rows shown and rows withheld are all rows of a file, and each number is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, line, packed, prompt, row, text_of, write

from palimpsest_core import Engine
from palimpsest_tui.cli import main as script

SOUND = [prompt(0, "hi"), row(1, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})]
GAP = [*SOUND, prompt(7, "lost walrus"), b'{"type":"user/mess walrus\n', b"\n", b"[]\n"]
PACKED = [prompt(0, "a"), packed(1, ["a", "b"]), row(9), packed(9, ["wal", "rus"])]
LANES = [*(prompt(seq, "first") for seq in range(4)), *(prompt(seq, "second") for seq in range(2, 6))]
LOGS: list[tuple[str, int, list[Any]]] = [
    ("gap", 0, GAP),
    ("packed", 1, PACKED),
    ("lanes", 5, LANES),
    ("old lanes", 2, LANES),
    ("sound", 4, SOUND),
]

Said = Callable[..., str]


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, int]:
    """A root with these logs, and how many rows each file holds."""
    held = {}
    for name, version, content in LOGS:
        write(tmp_path, frames([header(version, name), *content]), version=version, session_id=name)
        held[name] = len(content)
    torn = frames([header(0, "torn"), *SOUND]) + frame(prompt(2, "c"))[:-4]
    write(tmp_path, torn, session_id="torn")
    half = text_of([header(3, "half"), *SOUND]) + line(prompt(2, "half walrus"))[:-9]
    write(tmp_path, half, session_id="half", version=3, plain=True)
    return {**held, "torn": 3, "half": 3}


@pytest.fixture
def said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Said:
    def run(*words: str) -> str:
        capfd.readouterr()
        script.run(["--root", str(tmp_path), "--index", str(tmp_path / "index.sqlite"), *words])
        return capfd.readouterr().out

    return run


def test_every_list_tells_both_numbers_and_they_are_all_rows(rows: dict[str, int], said: Said, tmp_path: Path) -> None:
    listed = {
        each["id"]: each["rowsShown"] + each["rowsWithheld"] for each in json.loads(said("ls", "--json"))["sessions"]
    }
    assert listed == rows
    ailing = json.loads(said("doctor", "--json"))["logs"]
    assert {log["sessionId"] for log in ailing} == set(rows) - {"sound"}
    assert all(sum(log["rows"].values()) == rows[log["sessionId"]] for log in ailing)
    with Engine(tmp_path, index=tmp_path / "index.sqlite") as engine:
        for name, count in rows.items():
            with engine.open_log(name).closing() as log:
                log.load()
                assert log.rows_shown + log.rows_withheld == count


def test_a_withheld_row_is_no_event_and_bears_a_letter_of_its_own(rows: dict[str, int], said: Said) -> None:
    shown = said("show", "gap").splitlines()
    assert "events   2 (L 1 log-only, C 1 current, S 0 shadowed), format v0" in shown
    assert "rows     2 readable, W 4 withheld behind the damage" in shown
    assert [text.split()[3] for text in shown[-4:]] == ["W"] * 4
    (only,) = said("show", "gap", "--is", "log-only").splitlines()[-1:]
    assert only.split()[3] == "L"
    assert [text.split()[3] for text in said("show", "gap", "--is", "withheld").splitlines()[-4:]] == ["W"] * 4
    both = said("show", "gap", "--is", "withheld", "--is", "current").splitlines()[-6:]
    assert [text.split()[3] for text in (both[0], *both[2:])] == ["C", "W", "W", "W", "W"]


def test_a_hit_in_a_withheld_row_names_its_line_and_can_be_shown(rows: dict[str, int], said: Said) -> None:
    (hit,) = [text for text in said("search", "lost").splitlines() if " W " in text]
    assert "(line 4)" in hit
    assert "lost walrus" in said("show", hit.split()[1])
    assert said("search", "lost", "--is", "log-only") == ""
    assert "(line 4)" in said("search", "lost", "--is", "withheld")


def test_statistics_count_events_and_no_withheld_rows(rows: dict[str, int], said: Said) -> None:
    counted = {each["sessionId"]: each["own"]["events"] for each in json.loads(said("stats", "--json"))["sessions"]}
    assert counted == {"gap": 2, "packed": 3, "lanes": 4, "old lanes": 4, "sound": 2, "torn": 3, "half": 2}


def test_a_log_that_there_was_no_time_to_read_is_listed_with_the_words_it_begins_with(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, frames([header(0, "unread"), prompt(0, "where is the walrus"), *SOUND[1:]]), session_id="unread")
    write(tmp_path, frames([header(4, "bare")]), session_id="bare", version=4)
    monkeypatch.setattr("palimpsest_tui.cli.corpus.READING_S", 0)
    lines = {text.split()[0]: text for text in said("ls").splitlines()[1:]}
    assert lines["unread"].endswith("(not read yet) where is the walrus")
    assert lines["bare"].endswith("(not read yet)")
    assert said("ls", "--stale").count("walrus") == 0


def test_a_file_without_a_header_lies_beside_no_other(tmp_path: Path, said: Said) -> None:
    write(tmp_path, b"no header\n", session_id="headless", plain=True)
    for stale in ([], ["--stale"]):
        (listed,) = said("ls", *stale).splitlines()[1:]
        assert listed.split()[:3] == ["headless", "unreadable", "-"]


def test_ls_tells_of_folders_that_it_may_not_look_into(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, frames([header(0, "open"), *SOUND]), session_id="open")
    closed = tmp_path / "--closed--"
    closed.mkdir()
    look = os.scandir

    def scandir(path: str) -> Any:
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return look(path)

    assert "closedFolders" not in json.loads(said("ls", "--json"))
    monkeypatch.setattr(os, "scandir", scandir)
    assert [each["path"] for each in json.loads(said("ls", "--json"))["closedFolders"]] == [str(closed)]
    script.run(["--root", str(tmp_path), "--index", str(tmp_path / "index.sqlite"), "ls"])
    told = capfd.readouterr()
    assert "open" in told.out
    assert "1 folder cannot be looked into: palimpsest doctor" in told.err
    assert str(closed) in said("doctor")
