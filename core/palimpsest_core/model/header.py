"""The first line of a log (spec: session format, section 3)."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.model.jsonable import Record


class Header(Record, frozen=True):
    """The immutable header of a session, as stored; fields that are absent are None and stay out of JSON.

    `created_at` is epoch milliseconds. `seed_length` (v0, v1) and `is_seeded` (v2+) tell a fork's inherited prefix.
    """

    version: int
    id: str
    created_at: int
    cwd: str | None = None
    parent_session: str | None = None
    seed_length: int | None = None
    is_seeded: bool | None = None
    origin: str | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None

    @property
    def seeded(self) -> bool:
        """Whether the log starts with a prefix that it inherited (possibly an empty one)."""
        return self.seed_length is not None or bool(self.is_seeded)


class StoredHeader(msgspec.Struct, frozen=True):
    """A header together with the whole object it was read from (unknown keys included) and its stored line."""

    header: Header
    raw: dict[str, Any]
    line: bytes
