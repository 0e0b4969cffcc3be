"""What the checks of a case run in: a copy-free look at its roots, a command line, and a proof that nothing changed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from palimpsest_tui.cli import main as script

TOP = Path(__file__).resolve().parents[2]
HANG_SECONDS = 60.0
TRACES = ("Traceback (most recent call last)", "internal error")


@dataclass
class Ran:
    """What one command did."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def text(self) -> str:
        """stdout, which has to be UTF-8 whatever the locale."""
        return self.out.decode("utf-8")

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@dataclass
class World:
    """One case that was made, an index and a folder of its own for what its checks write."""

    case: Path
    scratch: Path
    made: int = field(default=0)

    @property
    def record(self) -> dict[str, Any]:
        """The case's case.json."""
        found: dict[str, Any] = json.loads((self.case / "case.json").read_text("ascii"))
        return found

    def root(self, check: dict[str, Any]) -> Path:
        """The root that a check is about."""
        return self.case / str(check.get("root", "root"))

    def fresh(self, name: str) -> Path:
        """A path that nobody has used."""
        self.made += 1
        return self.scratch / f"{self.made}-{name}"

    def run(self, check: dict[str, Any], *arguments: str, index: Path | None = None) -> Ran:
        """Run the command on the check's root: in this process, or in one of its own where the environment matters."""
        where = ["--root", str(self.root(check)), "--index", str(index or self.fresh("index.sqlite"))]
        outer = run_outside if check.get("env") else run_inside
        ran = outer([*where, *arguments], check.get("env") or {})
        for name in TRACES:
            assert name.encode() not in ran.out + ran.err, ran.err.decode("utf-8", "replace")
        assert ran.seconds < float(check.get("seconds", HANG_SECONDS)), f"{arguments} took {ran.seconds:.1f} s"
        codes = check.get("exit", [0, 1, 3])
        assert ran.code in codes, f"{arguments} ended with {ran.code}: {ran.err.decode('utf-8', 'replace')}"
        return ran


def run_inside(arguments: list[str], _: dict[str, str]) -> Ran:
    """The command in this process; quick."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    started = time.monotonic()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, {"PALIMPSEST_DEBUG": ""}),
    ):
        code = script.run(arguments)
    seconds = time.monotonic() - started
    out.flush()
    err.flush()
    return Ran(code, _bytes(out), _bytes(err), seconds)


def _bytes(stream: io.TextIOWrapper) -> bytes:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def run_outside(arguments: list[str], env: dict[str, str], before: tuple[str, ...] = ()) -> Ran:
    """The command in a process of its own, with these settings of the environment."""
    paths = [str(TOP / "core"), str(TOP / "tui")]
    whole = {name: value for name, value in os.environ.items() if name not in {"PYTHONIOENCODING", "LC_CTYPE"}}
    whole |= {"PYTHONPATH": os.pathsep.join(paths)} | env
    started = time.monotonic()
    done = subprocess.run(
        [*before, sys.executable, "-m", "palimpsest_tui.cli.main", *arguments],
        env=whole,
        capture_output=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - started)


def state_of(case: Path) -> dict[str, tuple[int, int, int, str]]:
    """Everything below a case's folders: mode, size, time of modification and digest, links as links."""
    found = {}
    for folder, folders, files in os.walk(case):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            seen = os.lstat(path)
            if stat.S_ISLNK(seen.st_mode):
                digest = str(Path(path).readlink())
            elif stat.S_ISREG(seen.st_mode):
                digest = hashlib.blake2b(Path(path).read_bytes(), digest_size=12).hexdigest()
            else:
                digest = ""
            found[path] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, digest)
    return found
