"""Copying with the system's own tool, in a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from platformdirs import user_state_path

if TYPE_CHECKING:
    from palimpsest_core import CancelToken

_TIMEOUT_S = 3
_TOOLS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("pbcopy", (), ()),
    ("wl-copy", (), ("WAYLAND_DISPLAY",)),
    ("xclip", ("-selection", "clipboard"), ("DISPLAY",)),
    ("xsel", ("--clipboard", "--input"), ("DISPLAY",)),
    ("clip.exe", (), ("WSL_DISTRO_NAME",)),
)


class Copied(NamedTuple):
    """Which tool took the text; None when there is none here."""

    tool: str | None


def copy_with_tool(text: str, cancel: CancelToken) -> Copied:
    """Hand the text to the system's clipboard tool. Over SSH the terminal is nearer to the person than any tool."""
    if os.environ.get("SSH_TTY") or os.environ.get("SSH_CONNECTION"):
        return Copied(None)
    for name, arguments, needs in _TOOLS:
        cancel.raise_if_set()
        path = shutil.which(name)
        if path is None or any(not os.environ.get(variable) for variable in needs):
            continue
        try:
            subprocess.run(
                [path, *arguments],
                input=text.encode("utf-8", "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            continue  # a tool without its display: the next one, in the end the terminal itself
        return Copied(name)
    return Copied(None)


def save_copy(text: str, cancel: CancelToken) -> Path:
    """Write a text that no clipboard takes into a file of the state place. Raises OSError."""
    cancel.raise_if_set()
    folder = user_state_path("palimpsest") / "copies"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=folder, prefix="copy-", suffix=".txt")
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode("utf-8", "replace"))
    return Path(name)
