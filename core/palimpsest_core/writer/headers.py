"""The header line of a log that we write: checked, in the harness's key order (session format, section 3)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from palimpsest_core.base.jsjson import SAFE_INTEGER, NotPlainJson, js_json, plain_copy
from palimpsest_core.model.header import Header
from palimpsest_core.writer.errors import Refusal, WriteRefused

HEADER_KEYS = frozenset(
    ("version", "id", "createdAt", "cwd", "parentSession", "seedLength", "origin", "delegationDepth", "agentPreset")
)
"""Every key that a header of generation 0 may hold beside its `type`."""

_ORDER = ("cwd", "parentSession", "seedLength", "origin", "delegationDepth", "agentPreset")
_COUNTS = ("createdAt", "seedLength", "delegationDepth")


def checked_header(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A detached header object `{version, id, createdAt, cwd?, ...}` with its keys in the harness's order.

    `raw` needs `id` and `createdAt`; absent optional keys stay absent. Raises `WriteRefused(BAD_HEADER)` naming the
    key for a wrong type or range, an unknown key, a `cwd` that is not absolute, or a version other than 0.
    """
    try:
        header = plain_copy(dict(raw))
    except NotPlainJson as error:
        raise WriteRefused(Refusal.BAD_HEADER, f"The header cannot be stored: {error}.") from error
    header.pop("type", None)
    version = header.pop("version", 0)
    if version != 0 or isinstance(version, bool):
        raise _bad("version", "0, the generation that this writer writes")
    session_id = header.pop("id", None)
    if not isinstance(session_id, str) or not session_id:
        raise _bad("id", "a text that is not empty")
    out: dict[str, Any] = {"version": 0, "id": session_id, "createdAt": header.pop("createdAt", None)}
    for key in _ORDER:
        if key in header:
            out[key] = header.pop(key)
    if header:
        raise WriteRefused(Refusal.BAD_HEADER, f"The header key {next(iter(header))!r} is not known.")
    for key in _COUNTS:
        if key in out and not _count(out[key]):
            raise _bad(key, "a whole number from 0 on")
    for key in ("cwd", "parentSession", "agentPreset"):
        if key in out and not isinstance(out[key], str):
            raise _bad(key, "a text")
    if "cwd" in out and not posixpath.isabs(out["cwd"]):
        raise _bad("cwd", "an absolute path")
    if out.get("origin", "subagent") != "subagent":
        raise _bad("origin", "'subagent' or absent")
    return out


def header_line(header: Mapping[str, Any]) -> bytes:
    """The stored first line. A stored header always has a `delegationDepth`; absent is written as 0, in its place."""
    row: dict[str, Any] = {"type": "session", "version": 0, "id": header["id"], "createdAt": header["createdAt"]}
    for key in _ORDER:
        if key == "delegationDepth":
            row[key] = header.get(key, 0)
        elif key in header:
            row[key] = header[key]
    return (js_json(row) + "\n").encode("utf-8")


def as_header(header: Mapping[str, Any]) -> Header:
    """The record of a checked header object."""
    return Header(
        version=header["version"],
        id=header["id"],
        created_at=header["createdAt"],
        cwd=header.get("cwd"),
        parent_session=header.get("parentSession"),
        seed_length=header.get("seedLength"),
        origin=header.get("origin"),
        delegation_depth=header.get("delegationDepth"),
        agent_preset=header.get("agentPreset"),
    )


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SAFE_INTEGER


def _bad(key: str, wanted: str) -> WriteRefused:
    return WriteRefused(Refusal.BAD_HEADER, f"The header's {key} must be {wanted}.")
