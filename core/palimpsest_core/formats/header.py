"""The first line of a log: read as far as it can be, every oddity noted (session format, section 3)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from palimpsest_core.formats.generations import generation, is_known
from palimpsest_core.formats.jsjson import BadJson, is_safe_int, loads
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.header import Header, StoredHeader

_RETIRED = ("sandboxMode", "approvalPolicy")
_WINDOWS_ABSOLUTE = re.compile(r"[A-Za-z]:[/\\]|\\\\")


class HeaderPeek(msgspec.Struct, frozen=True):
    """What is known of a header.

    `header` is None when the log cannot be told to be a session; then `findings` holds an `unreadable` one. `raw` is
    the JSON object of the line when it is one. `version` is the number in the header, also when the rest is unusable.
    """

    header: Header | None
    raw: dict[str, Any] | None
    findings: list[Finding]
    version: int | None
    line: bytes = b""

    def stored(self) -> StoredHeader | None:
        """The header with its raw object and line, None without header."""
        if self.header is None or self.raw is None:
            return None
        return StoredHeader(self.header, self.raw, self.line)


def is_absolute(cwd: str) -> bool:
    """Whether a working directory is absolute for the machine that wrote it (POSIX or Windows)."""
    return cwd.startswith("/") or _WINDOWS_ABSOLUTE.match(cwd) is not None


def unreadable(path: str, detail: str, message: str) -> HeaderPeek:
    """The peek of a log without usable header."""
    return HeaderPeek(None, None, [Finding(FindingCode.UNREADABLE, message, path, line=1, detail=detail)], None)


def parse_header(line: bytes, path: str, named_generation: int) -> HeaderPeek:
    """The header in `line`. Never raises: what is wrong is a finding with one of these details.

    "header-json", "header-type", "header-id" (then there is no header); "header-id-empty", "header-version",
    "header-created", "header-depth", "header-cwd", "header-cwd-relative", "header-parent", "header-seed",
    "header-origin", "header-preset", "header-retired", "header-missing", "header-unknown-key", "version".
    """
    try:
        raw = loads(line)
    except BadJson:
        return unreadable(path, "header-json", "The first line is no JSON, so this is not a session log.")
    if not isinstance(raw, dict) or raw.get("type") != "session":
        return unreadable(path, "header-type", "The first line is not a session header, so this is not a session log.")
    reader = _Reader(raw, path, named_generation)
    header = reader.header()
    version = raw.get("version")
    return HeaderPeek(header, raw, reader.findings, version if is_safe_int(version) else None, line)


class _Reader:
    def __init__(self, raw: dict[str, Any], path: str, named_generation: int) -> None:
        self.raw = raw
        self.path = path
        self.named_generation = named_generation
        self.findings: list[Finding] = []

    def note(self, detail: str, message: str, code: FindingCode = FindingCode.HEADER_KEYS) -> None:
        self.findings.append(Finding(code, message, self.path, line=1, detail=detail))

    def header(self) -> Header | None:
        raw = self.raw
        session_id = raw.get("id")
        if not isinstance(session_id, str):
            self.note("header-id", "The header holds no id, so the session cannot be named.", FindingCode.UNREADABLE)
            return None
        if not session_id:
            self.note("header-id-empty", "The header's id is empty.", FindingCode.UNREADABLE)
            return None
        version = self.version()
        seeds = "seedLength" in generation(version).header_optional
        header = Header(
            version=version,
            id=session_id,
            created_at=self.number("createdAt", "header-created"),
            cwd=self.cwd(),
            parent_session=self.text("parentSession", "header-parent"),
            seed_length=self.seed_length(),
            is_seeded=self.is_seeded(required=not seeds),
            origin=self.origin(version),
            delegation_depth=self.number("delegationDepth", "header-depth"),
            agent_preset=self.text("agentPreset", "header-preset"),
        )
        self.keys(version)
        return header

    def version(self) -> int:
        version = self.raw.get("version")
        if version == 0 and isinstance(version, float):
            # Minus zero, which the harness cannot tell from zero.
            version = 0
        if is_safe_int(version):
            assert isinstance(version, int)
            if not is_known(version):
                self.note(
                    "version",
                    f"Format version {version} is {'newer than' if version > 0 else 'none of'} those known here; it is "
                    "read as far as possible.",
                    FindingCode.UNSUPPORTED_VERSION,
                )
            return version
        if isinstance(version, int | float) and not isinstance(version, bool):
            self.note("version", f"Format version {version} is unknown.", FindingCode.UNSUPPORTED_VERSION)
        else:
            self.note("header-version", "The header's version is no number; the file name's is used.")
        return self.named_generation

    def number(self, key: str, detail: str) -> int:
        value = self.raw.get(key)
        if is_safe_int(value, 0):
            assert isinstance(value, int)
            return value
        if key not in self.raw:
            self.note(detail, f"The header lacks {key} (0 is assumed); the events are sound.")
        else:
            self.note(detail, f"The header's {key} is no whole number of at least 0 (0 is assumed).")
        return 0

    def text(self, key: str, detail: str) -> str | None:
        value = self.raw.get(key)
        if isinstance(value, str):
            return value
        if key in self.raw:
            self.note(detail, f"The header's {key} is no text and is ignored.")
        return None

    def cwd(self) -> str | None:
        cwd = self.text("cwd", "header-cwd")
        if cwd == "":
            self.note("header-cwd", "The header's cwd is empty and is ignored.")
            return None
        if cwd is not None and not is_absolute(cwd):
            self.note("header-cwd-relative", "The header's cwd is not absolute.")
        return cwd

    def origin(self, version: int) -> str | None:
        origin = self.text("origin", "header-origin")
        if origin is not None and origin != "subagent" and is_known(version):
            self.note("header-origin", "The header's origin is not known.")
        return origin

    def seed_length(self) -> int | None:
        if "seedLength" not in self.raw:
            return None
        value = self.raw["seedLength"]
        if is_safe_int(value, 0):
            assert isinstance(value, int)
            return value
        self.note("header-seed", "The header's seedLength is no whole number of at least 0 and is ignored.")
        return None

    def is_seeded(self, required: bool) -> bool | None:
        value = self.raw.get("isSeeded")
        if isinstance(value, bool):
            return value
        if "isSeeded" in self.raw:
            self.note("header-seed", "The header's isSeeded is neither true nor false and is ignored.")
        elif required:
            self.note("header-missing", "The header lacks isSeeded (false is assumed); the events are sound.")
        return None

    def keys(self, version: int) -> None:
        if not is_known(version):
            return
        rules = generation(version)
        for key in self.raw:
            if key in _RETIRED:
                self.note("header-retired", f"The header holds the retired key {key}; the events are sound.")
            elif key not in rules.header_required and key not in rules.header_optional:
                self.note("header-unknown-key", f"The header holds the unknown key {key[:80]!r}; the events are sound.")
