"""Attachments that a log refers to and that are gone: told of one log when it is asked about, nowhere else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, line, row, write

from palimpsest_core import Engine, FindingCode
from palimpsest_core.model.finding import Finding
from palimpsest_core.sync.attached import MOST_TOLD
from palimpsest_tui.cli import main as script

END = row(1, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})


def name_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def block(kind: str, content: bytes, name: str = "") -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {"type": kind, "attachment": {"attachmentId": name_of(content), "bytes": len(content), **named}}


def said(*blocks: dict[str, Any], seq: int = 0) -> dict[str, Any]:
    message = {"id": f"m{seq}", "role": "user", "source": {"kind": "user"}, "content": [*blocks]}
    return row(seq, "user/message", message, surfaceOp="append")


def store(home: Path, *parts: str, content: bytes) -> None:
    place = home.joinpath("attachments", "v1", *parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def missing(root: Path, path: str) -> list[Finding]:
    with Engine(root, index=":memory:") as engine:
        return engine.missing_attachments(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_each_is_told_once_with_its_kind_its_name_and_the_event_that_names_it_first(root: Path) -> None:
    shot, notes = block("image", b"shot", "shot.png"), block("file", b"notes", "notes.md")
    nested = {"type": "tool-result", "toolCallId": "c", "content": [notes]}
    rows = [said(shot), said(nested, seq=1), said(shot, notes, seq=2)]
    file = write(root, frames([header(3, "a"), *rows]), version=3, session_id="a")
    told = missing(root, file.path)
    assert [(found.code, found.seq) for found in told] == [
        (FindingCode.MISSING_ATTACHMENT, 0),
        (FindingCode.MISSING_ATTACHMENT, 1),
    ]
    assert [found.message.split(" (")[0] for found in told] == ['The image "shot.png"', 'The file "notes.md"']
    assert name_of(b"notes") in told[1].message


@pytest.mark.parametrize("place", ["objects", "file-objects", "files"])
def test_what_is_in_the_store_is_not_missing(root: Path, place: str) -> None:
    kind = "image" if place == "objects" else "file"
    digest = name_of(b"kept").removeprefix("sha256:")
    named = ("named.md",) if place == "files" else ()
    store(root.parent, place, digest[:2], digest, *named, content=b"kept")
    file = write(root, frames([header(4, "a"), said(block(kind, b"kept"), block(kind, b"gone"))]), version=4)
    (found,) = missing(root, file.path)
    assert name_of(b"gone") in found.message


def test_many_are_counted_rather_than_told(root: Path) -> None:
    blocks = [block("image", bytes([number])) for number in range(MOST_TOLD + 3)]
    file = write(root, frames([header(0, "a"), said(*blocks)]))
    told = missing(root, file.path)
    assert len(told) == MOST_TOLD + 1
    assert told[-1].message.startswith("3 more attachments")


def test_a_withheld_row_refers_to_them_too_and_what_is_behind_damage_is_unknown(root: Path) -> None:
    behind = frame(said(block("image", b"behind"), seq=5))
    content = frame(header(0, "a")) + frame(b"no row\n", said(block("image", b"withheld"), seq=9)) + b"torn" + behind
    file = write(root, content)
    (found,) = missing(root, file.path)
    assert name_of(b"withheld") in found.message


def test_an_id_that_is_no_hash_leads_nowhere(root: Path) -> None:
    strange = {"type": "image", "attachment": {"attachmentId": "../../etc/passwd"}}
    file = write(root, line(header(0, "a")) + line(said(strange)), plain=True)
    (found,) = missing(root, file.path)
    assert "../../etc/passwd" in found.message


def test_a_log_without_attachments_needs_no_store(root: Path) -> None:
    file = write(root, frames([header(0, "a"), row(0)]))
    assert missing(root, file.path) == []


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def doctor(root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> dict[str, Any]:
        capfd.readouterr()
        script.run(["--root", str(root), "--index", str(tmp_path / "index.sqlite"), "doctor", "--json", *words])
        told: dict[str, Any] = json.loads(capfd.readouterr().out)
        return told

    return run


def test_doctor_tells_of_the_session_that_it_is_asked_about_or_of_all_when_told_to(root: Path, doctor: Run) -> None:
    write(root, frames([header(0, "sound"), said(block("image", b"x")), END]), session_id="sound")
    gap = [header(0, "gap"), said(block("image", b"y")), row(7), row(8, "turn/end")]
    write(root, frames(gap), session_id="gap")

    def codes(told: dict[str, Any]) -> dict[str, list[str]]:
        return {
            each["sessionId"]: [found["code"] for found in each["findings"]] for each in told["logs"] + told["notes"]
        }

    assert codes(doctor()) == {"gap": ["sequence-gap"]}
    assert codes(doctor("sound")) == {"sound": ["missing-attachment"]}
    every = doctor("--attachments")
    assert codes(every) == {"gap": ["sequence-gap", "missing-attachment"], "sound": ["missing-attachment"]}
    assert every["problems"] == 1
