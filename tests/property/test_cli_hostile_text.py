"""Whatever logs hold: what the commands print obeys nothing in them. No control, direction or invisible character."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from logmaking import frames, header, write
from mutating import mutant, seeds

from palimpsest_core.storage.layout import parse_log_name
from palimpsest_tui.cli import main as script

# Line feed and tab are ours to print; all else of C0, DEL, C1, lone surrogates, directions and invisible marks is not.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_EVIL = "\x1b[31m\x9b2J\x07\r\u202e\u2066\u200f\u2028\ufeff\x00\x85\ud800e\x7f"
_SAID = _EVIL.replace("\0", "").replace("\ud800", "")
"""The evil that can be said on a command line."""
_SEEDS = 3


def poisoned(value: Any, random: Random) -> Any:
    """The value with evil characters in most of its texts; what tells kinds of things apart is left in a half."""
    if isinstance(value, str):
        place = random.randrange(len(value) + 1)
        return value[:place] + _EVIL + value[place:] if random.random() < 0.6 else value
    if isinstance(value, list):
        return [poisoned(item, random) for item in value]
    if isinstance(value, dict):
        return {
            (key + _EVIL if random.random() < 0.03 else key): (
                item if key in ("type", "role", "kind") and random.random() < 0.8 else poisoned(item, random)
            )
            for key, item in value.items()
        }
    return value


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of every generation with evil in their texts, headers and folders; and plain mutants."""
    root = tmp_path_factory.mktemp("hostile") / "sessions"
    for generation, pool in seeds().items():
        for number in range(_SEEDS):
            random = Random(f"cli/{generation}/{number}")
            seed = pool[0] if number % 2 else random.choice(pool)
            lines = [json.loads(line) for line in seed.lines]
            rows = [{**row, "data": poisoned(row.get("data"), random)} for row in lines[1:]]
            if number == 2:
                at = random.randrange(len(rows))
                rows[at:] = [{**row, "type": poisoned(row["type"], random)} for row in rows[at:]]
            head = {**lines[0], "id": f"evil-{generation}-{number}"}
            if number:
                head = {**poisoned(head, random), "type": "session", "id": f"evil{_SAID}-{generation}-{number}"}
            write(root, frames([head, *rows]), session_id=f"evil-{generation}-{number}", version=seed.generation)
        for number in range(2):
            made = mutant(generation, number)
            folder = root / "--in\x1b[7mversed\u202e--" / f"mutant\x07\n{generation}-{number}"
            folder.mkdir(parents=True)
            assert parse_log_name(made.name) is not None
            (folder / made.name).write_bytes(made.content)
    write(root, b"noise\x1b", session_id="noise")
    write(root, frames([header(session_id="parent", parentSession=_EVIL)]), session_id="parent")
    return root


Run = Callable[..., tuple[bytes, bytes]]


@pytest.fixture
def run(corpus: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def run_command(*arguments: str) -> tuple[bytes, bytes]:
        capfdbinary.readouterr()
        code = script.run(["--root", str(corpus), "--index", str(corpus.parent / "index.sqlite"), *arguments])
        assert code in (0, 1, 3), arguments
        shown = capfdbinary.readouterr()
        for stream in shown:
            text = stream.decode("utf-8")
            found = _FORBIDDEN.search(text)
            assert found is None, (arguments, text[max(0, found.start() - 80) : found.start() + 40])
        return shown.out, shown.err

    return run_command


def listed(run: Run) -> list[str]:
    out, _ = run("ls", "--json")
    assert out.isascii()
    return [row["id"] for row in json.loads(out)["sessions"]]


def test_lists_obey_nothing_that_logs_hold(run: Run) -> None:
    run("index")
    assert len(listed(run)) > 20
    for arguments in (["ls"], ["doctor"], ["stats"], ["search", "the"], ["ls", "--project", _SAID]):
        run(*arguments)
        out, _ = run(*arguments, "--json")
        assert out.isascii()


def test_what_is_shown_of_a_session_obeys_nothing_that_it_holds(run: Run, tmp_path: Path) -> None:
    for number, session_id in enumerate(listed(run)):
        for arguments in (
            ["show", session_id],
            ["show", f"{session_id}#2"],
            ["show", f"{session_id}#4", "-B", "2", "-A", "2"],
            ["surface", session_id],
            ["trace", session_id],
            ["trace", f"{session_id}#3"],
            ["stats", session_id],
            ["search", "the", "--in", session_id, "--json"],
            ["rescue", session_id, "--out", str(tmp_path / "rescued")],
            ["export", session_id, "--output", str(tmp_path / f"{number}.zip")],
        ):
            run(*arguments)
