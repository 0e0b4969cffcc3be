"""Where logs live: file and folder names, and one walk over a root (session format, sections 1.2 and 1.3)."""

from __future__ import annotations

import os
import re
import stat as statmod
from functools import lru_cache
from typing import NamedTuple

import msgspec

from palimpsest_core.base.cancel import CancelToken, check

PLAIN = "plain"
ZSTD = "zstd"

_LOG_NAME = re.compile(r"session(?:\.v([1-9][0-9]*))?\.jsonl(\.zstd)?", re.ASCII)
_TEMPORARY = re.compile(r"(?s)session\..*\.tmp")
_LOG_LIKE = re.compile(r"(?s).*\.jsonl(?:\.zstd)?")
_KEEP = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_SEPARATORS = frozenset("/\\:")
_MAX_GENERATION_DIGITS = 15
_PROJECT_KEY_LENGTH = 251


def _escape_char(char: str) -> str:
    """`~XXXX` for each UTF-16 code unit of `char`."""
    code = ord(char)
    if code > 0xFFFF:
        code -= 0x10000
        return f"~{0xD800 + (code >> 10):04X}~{0xDC00 + (code & 0x3FF):04X}"
    return f"~{code:04X}"


def session_folder_name(session_id: str) -> str:
    """The folder of a session: an injective escape of its id (empty ids are invalid and stay empty)."""
    if session_id in (".", ".."):
        return "~002E" * len(session_id)
    return "".join([c if c in _KEEP else _escape_char(c) for c in session_id])


_ESCAPE = re.compile("~([0-9A-F]{4})")


def session_id_of_folder(name: str) -> str:
    """The id that a session folder was named after; what is no escape stays as it is."""
    if "~" not in name:
        return name
    units = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), name)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def project_folder_name(cwd: str | None) -> str:
    """The folder of a working directory: a lossy key, `_no-cwd` without one. Two directories may share it."""
    if cwd is None:
        return "_no-cwd"
    parts: list[str] = []
    in_run = False
    for char in cwd:
        if char in _SEPARATORS:
            if not in_run:
                parts.append("-")
            in_run = True
        else:
            parts.append(char if char in _KEEP else _escape_char(char))
            in_run = False
    key = "".join(parts).lstrip("-") or "root"
    return f"--{key[:_PROJECT_KEY_LENGTH]}--"


def log_file_name(generation: int, encoding: str) -> str:
    """The canonical name of a log: `session.jsonl`, `session.v3.jsonl.zstd`, ..."""
    version = "" if generation == 0 else f".v{generation}"
    return f"session{version}.jsonl" + (".zstd" if encoding == ZSTD else "")


@lru_cache(maxsize=64)
def parse_log_name(name: str) -> tuple[int, str] | None:
    """`(generation, encoding)` of a canonical log name, None for every other name (full match, case-sensitive)."""
    match = _LOG_NAME.fullmatch(name)
    if match is None:
        return None
    digits = match.group(1) or "0"
    if len(digits) > _MAX_GENERATION_DIGITS:
        return None
    return int(digits), ZSTD if match.group(2) else PLAIN


class Stat(msgspec.Struct, frozen=True, array_like=True):
    """What tells one state of a file from another: device, inode, size in bytes, times in nanoseconds."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, result: os.stat_result) -> Stat:
        """The stat of an `os.stat` result."""
        return cls(result.st_dev, result.st_ino, result.st_size, result.st_mtime_ns, result.st_ctime_ns)


class LogFile(msgspec.Struct, frozen=True):
    """One log file: its path, the two folder names above it, what its name says, and its stat when it was found."""

    path: str
    project: str
    folder: str
    generation: int
    encoding: str
    stat: Stat

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> LogFile:
        """The log at `path`, stat taken now. A name that is not canonical counts as generation 0, encoding by its end.

        Raises OSError when the file cannot be examined.
        """
        text = os.fspath(path)
        folder, name = os.path.split(os.path.abspath(text))
        named = parse_log_name(name) or (0, ZSTD if name.endswith(".zstd") else PLAIN)
        return cls(
            text,
            os.path.basename(os.path.dirname(folder)),
            os.path.basename(folder),
            named[0],
            named[1],
            Stat.of(os.stat(text)),
        )

    def restat(self) -> LogFile:
        """The same log with its stat taken now. Raises OSError when it is gone."""
        return msgspec.structs.replace(self, stat=Stat.of(os.stat(self.path)))


class Stray(NamedTuple):
    """Something below a root that is no log but worth a word.

    `kind`: "temporary" (left by a publication or a migration), "legacy-layout" (a log-like file directly in a project
    folder), "in-root" (the same directly in the root), "unreadable" (a folder or file that cannot be examined; `reason`
    says why), "dangling" (a link under a log's name that leads nowhere), "not-a-file" (a folder or device under a log's
    name).
    """

    kind: str
    path: str
    reason: str = ""


class Discovery(NamedTuple):
    """What one walk over a root found, in no particular order.

    `folders` counts session folders, logs in them or not. `missing` is True when the root itself does not exist.
    """

    files: list[LogFile]
    strays: list[Stray]
    folders: int
    missing: bool = False


def _scandir(path: str, strays: list[Stray]) -> list[os.DirEntry[str]]:
    """The entries of a folder; one that cannot be read becomes a stray."""
    try:
        with os.scandir(path) as found:
            return list(found)
    except OSError as error:
        strays.append(Stray("unreadable", path, error.strerror or str(error)))
        return []


def _reals_first(entries: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
    """Links after all others, so that a link never hides the thing itself."""
    links = [entry for entry in entries if entry.is_symlink()]
    return [entry for entry in entries if not entry.is_symlink()] + links if links else entries


class _Walk:
    def __init__(self, cancel: CancelToken | None) -> None:
        self.files: list[LogFile] = []
        self.strays: list[Stray] = []
        self.folders = 0
        self._seen: set[tuple[int, int]] = set()
        self._cancel = cancel

    def first_visit(self, entry: os.DirEntry[str], device: int) -> bool:
        """Whether `entry` is a folder that this walk has not been in; links are resolved, circles end here."""
        try:
            if not entry.is_dir():
                return False
            if entry.is_symlink():
                result = entry.stat()
                key = (result.st_dev, result.st_ino)
            else:
                key = (device, entry.inode())
        except OSError as error:
            self.strays.append(Stray("unreadable", entry.path, error.strerror or str(error)))
            return False
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def root(self, path: str) -> None:
        result = os.stat(path)
        # A root that cannot be listed is an error, unlike a folder below it.
        os.scandir(path).close()
        self._seen.add((result.st_dev, result.st_ino))
        for entry in _reals_first(_scandir(path, self.strays)):
            if self.first_visit(entry, result.st_dev):
                self.project(entry)
            elif _LOG_LIKE.fullmatch(entry.name) and entry.is_file():
                self.strays.append(Stray("in-root", entry.path))

    def project(self, project: os.DirEntry[str]) -> None:
        try:
            device = project.stat().st_dev
        except OSError as error:
            self.strays.append(Stray("unreadable", project.path, error.strerror or str(error)))
            return
        for entry in _reals_first(_scandir(project.path, self.strays)):
            if self.first_visit(entry, device):
                check(self._cancel)
                self.session(project.name, entry)
            elif _LOG_LIKE.fullmatch(entry.name) and entry.is_file():
                self.strays.append(Stray("legacy-layout", entry.path))

    def session(self, project: str, folder: os.DirEntry[str]) -> None:
        self.folders += 1
        for entry in _scandir(folder.path, self.strays):
            name = entry.name
            if not name.startswith("session."):
                continue
            named = parse_log_name(name)
            if named is None:
                if _TEMPORARY.fullmatch(name):
                    self.strays.append(Stray("temporary", entry.path))
                continue
            try:
                result = os.stat(entry.path)
            except FileNotFoundError:
                self.strays.append(Stray("dangling", entry.path))
                continue
            except OSError as error:
                self.strays.append(Stray("unreadable", entry.path, error.strerror or str(error)))
                continue
            if statmod.S_ISREG(result.st_mode):
                self.files.append(LogFile(entry.path, project, folder.name, named[0], named[1], Stat.of(result)))
            else:
                self.strays.append(Stray("not-a-file", entry.path))


def discover(root: str | os.PathLike[str], cancel: CancelToken | None = None) -> Discovery:
    """Every log below `root` with its stat: one walk over `<root>/<project>/<session>/session*.jsonl*`.

    Symbolic links are followed, each folder is visited once. A folder that cannot be read becomes a stray, never an
    error. Raises `ABORTED` when cancelled, OSError only when the root exists and cannot be examined.
    """
    path = os.fspath(root)
    walk = _Walk(cancel)
    try:
        walk.root(path)
    except FileNotFoundError:
        return Discovery([], [], 0, missing=True)
    return Discovery(walk.files, walk.strays, walk.folders)
