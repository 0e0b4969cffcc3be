"""Looking at anything: a root, a session folder, a lone log file, or an exported ZIP, each as a root to open.

What is no root itself is staged: a temporary root that links to the log, or holds what the archive held. Names inside
an archive are never used as paths; where a log goes follows from its own header.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.reader import read_header
from palimpsest_core.model.config import Config
from palimpsest_core.storage.layout import (
    PLAIN,
    ZSTD,
    LogFile,
    log_file_name,
    parse_log_name,
    project_folder_name,
    session_folder_name,
)

_LOG_ENTRY = re.compile(r"(?:subagents/[^/]+/)?(session(?:\.v[1-9][0-9]*)?\.jsonl)", re.ASCII)
_MEDIA_ENTRY = re.compile(r"media/sha256_([0-9a-f]{64})(?:-[0-9]+)?\.[a-z]+", re.ASCII)
_PIECE = 1 << 20
_LIMITS = Config()


class Target(NamedTuple):
    """A root to open, and the session that was meant (None: the whole root).

    `temporary`: the root was made for this; the folder around it (`root.parent`) is this target's alone, and goes.
    """

    root: Path
    session_id: str | None = None
    temporary: bool = False


class NotALog(Exception):
    """There is nothing to open at a path; `message` says why, in one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@contextmanager
def opened_target(path: Path, cancel: CancelToken | None = None) -> Iterator[Target]:
    """The root and session that `path` means; a temporary root lasts as long as the block.

    A folder that holds logs is a session, one that holds sessions is a project (its root is opened), the harness's own
    folder means its `sessions`; every other folder is taken for a root. A file is a ZIP or a log. Raises `NotALog`, and
    OSError for what cannot be read.
    """
    if path.is_dir():
        yield _folder_target(path)
        return
    if not path.exists():
        raise NotALog(f"There is nothing at {path}.")
    if zipfile.is_zipfile(path):
        with _temporary_root() as root:
            yield _unpacked(path, root, cancel)
        return
    if not path.name.endswith((".jsonl", ".jsonl.zstd")):
        raise NotALog(f"{path} is neither a session log nor an exported ZIP.")
    with _temporary_root() as root:
        yield _file_target(path, root)


@contextmanager
def _temporary_root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as place:
        root = Path(place) / "sessions"
        root.mkdir()
        yield root


def _logs_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if parse_log_name(entry.name) and entry.is_file())


def _folder_target(folder: Path) -> Target:
    logs = _logs_in(folder)
    if logs:
        for log in logs:
            session_id = _session_id(log)
            if session_id is not None:
                return Target(folder.resolve().parent.parent, session_id)
        raise NotALog(f"No log in {folder} has a header that can be read.")
    with os.scandir(folder) as entries:
        children = [Path(entry.path) for entry in entries if entry.is_dir()]
    if any(_logs_in(child) for child in children):
        return Target(folder.resolve().parent)
    inner = folder / "sessions"
    return Target(inner if inner.is_dir() else folder)


def _session_id(log: Path) -> str | None:
    header = read_header(LogFile.at(log), config=_LIMITS).header
    return header.id if header is not None else None


def _file_target(path: Path, root: Path) -> Target:
    """A log where the harness put it is opened in its own root; any other one in a root made for it."""
    log = path.resolve()
    header = read_header(LogFile.at(log), config=_LIMITS).header
    if header is None:
        raise NotALog(f"{path} does not begin with the header of a session log.")
    at_home = (
        parse_log_name(log.name) is not None
        and log.parent.name == session_folder_name(header.id)
        and log.parent.parent.name == project_folder_name(header.cwd)
    )
    if at_home:
        return Target(log.parents[2], header.id)
    place = _place_of(root, header.cwd, header.id)
    encoding = ZSTD if log.name.endswith(".zstd") else PLAIN
    (place / log_file_name(max(header.version, 0), encoding)).symlink_to(log)
    return Target(root, header.id, temporary=True)


def _place_of(root: Path, cwd: str | None, session_id: str) -> Path:
    place = root / project_folder_name(cwd) / session_folder_name(session_id)
    place.mkdir(parents=True, exist_ok=True)
    return place


def _unpacked(path: Path, root: Path, cancel: CancelToken | None) -> Target:
    """An archive of this program or of the harness as a root; the session that was exported is the one meant."""
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        room = shutil.disk_usage(root).free
        if sum(entry.file_size for entry in entries) > room:
            raise NotALog(f"{path} unpacks to more than the {room:,} bytes free for temporary files.")
        first: str | None = None
        for number, entry in enumerate(entries):
            log = _LOG_ENTRY.fullmatch(entry.filename)
            media = _MEDIA_ENTRY.fullmatch(entry.filename)
            if log is not None:
                session_id = _unpack_log(archive, entry, log[1], root, number, cancel)
                if "/" not in entry.filename:
                    first = session_id
            elif media is not None:
                objects = root.parent / "attachments" / "v1" / "objects" / media[1][:2]
                objects.mkdir(parents=True, exist_ok=True)
                _write_out(archive, entry, objects / media[1], cancel)
    if first is None:
        raise NotALog(f"{path} holds no session.jsonl, so it is no exported session.")
    return Target(root, first, temporary=True)


def _unpack_log(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, root: Path, number: int, cancel: CancelToken | None
) -> str | None:
    """Write one log of an archive to where its own header says; one without a header goes to a folder of its own."""
    arriving = root.parent / f"arriving-{number}.jsonl"
    _write_out(archive, entry, arriving, cancel)
    header = read_header(LogFile.at(arriving), config=_LIMITS).header
    cwd, session_id = (header.cwd, header.id) if header is not None else (None, f"unreadable-{number}")
    arriving.rename(_place_of(root, cwd, session_id) / name)
    return session_id


def _write_out(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, cancel: CancelToken | None) -> None:
    with archive.open(entry) as source, target.open("wb") as out:
        while piece := source.read(_PIECE):
            check(cancel)
            out.write(piece)
