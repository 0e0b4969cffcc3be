"""Other programs in place of the app: the pager, an editor, the command that resumes a session."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

_PAGER = "less -S"


def view_text(name: str, text: str, editor: str | None) -> str:
    """Show a printable text in the editor, or else in `$PAGER`. A sentence when that failed, empty otherwise.

    The program gets a copy in a temporary file, never the log, and the copy is removed afterwards.
    """
    safe = re.sub(r"[^\w.#-]+", "_", name)[:80]
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        path = Path(folder) / f"{safe}.txt"
        path.write_bytes(text.encode("utf-8", "replace"))
        command = shlex.split(editor or os.environ.get("PAGER") or _PAGER)
        try:
            subprocess.run([*command, str(path)], check=False)
        except OSError as error:
            return f"{command[0]} cannot be run: {error.strerror}."
    return ""


def edit_file(path: Path, editor: str) -> str:
    """Open a file, which need not be there yet, in an editor. A sentence when that failed, empty otherwise."""
    command = shlex.split(editor)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, str(path)], check=False)
    except OSError as error:
        return f"{command[0]} cannot open {path}: {error.strerror}."
    return ""


def run_command(command: str, cwd: str | None) -> str:
    """Run a shell command in a directory. A sentence when it could not run or failed, empty otherwise."""
    try:
        done = subprocess.run(command, shell=True, cwd=cwd, check=False)
    except OSError as error:
        return f"The command cannot run in {cwd}: {error.strerror}."
    return f"The command ended with exit code {done.returncode}." if done.returncode else ""
