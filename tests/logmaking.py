"""Small logs for tests: rows, frames, whole files and roots."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import zstandard

from palimpsest_core.model.config import Config
from palimpsest_core.storage.layout import LogFile, log_file_name, project_folder_name, session_folder_name

CONFIG = Config()


def row(seq: int, kind: str = "turn/start", data: Any = None, **more: Any) -> dict[str, Any]:
    """One event row with a sound envelope."""
    return {"type": kind, "seq": seq, "time": 1000 + seq, "data": {"turn": 1} if data is None else data, **more}


def prompt(seq: int, text: str) -> dict[str, Any]:
    """A human prompt on the surface."""
    content = [{"type": "text", "text": text}]
    data = {"id": f"m{seq}", "role": "user", "source": {"kind": "user"}, "content": content}
    return row(seq, "user/message", data, surfaceOp="append")


def packed(seq0: int, texts: Sequence[str], **more: Any) -> dict[str, Any]:
    """A packed row of text deltas, two milliseconds apart."""
    data = {"turn": 1, "step": 1, "index": 0, "dt": [2] * (len(texts) - 1), "texts": list(texts)}
    return {"type": "text-chunks", "seq0": seq0, "time0": 1000 + seq0, "data": data, **more}


def header(version: int = 0, session_id: str = "sess", **more: Any) -> dict[str, Any]:
    """A sound header of any generation."""
    seeded = {"isSeeded": False} if version > 1 else {}
    base = {"type": "session", "version": version, "id": session_id, "createdAt": 5, "delegationDepth": 0}
    return {**base, "cwd": "/srv/a", **seeded, **more}


def line(value: Any) -> bytes:
    """A stored line: bytes as they are, everything else as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode() + b"\n"


def text_of(values: Iterable[Any]) -> bytes:
    """Stored lines joined."""
    return b"".join(line(value) for value in values)


def frame(*values: Any, checksum: bool = True, size: bool = False) -> bytes:
    """One frame that holds these lines."""
    compressor = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=size)
    return compressor.compress(text_of(values))


def frames(values: Sequence[Any], each: int = 2) -> bytes:
    """A header frame and then a frame for every `each` rows, as a live writer leaves them."""
    groups = [values[at : at + each] for at in range(1, len(values), each)]
    return frame(values[0]) + b"".join(frame(*group) for group in groups)


def write(root: Path, content: bytes, *, name: str | None = None, plain: bool = False, **head: Any) -> LogFile:
    """A log file in its place below `root`; `head` holds `version`, `session_id`, `cwd`."""
    made = header(**head)
    folder = root / project_folder_name(made["cwd"]) / session_folder_name(made["id"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or log_file_name(made["version"], "plain" if plain else "zstd"))
    path.write_bytes(content)
    return LogFile.at(path)
