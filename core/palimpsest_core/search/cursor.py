"""Opaque page cursors, bound to one request and one engine instance (engine contract, section 5, point 7)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from typing import NamedTuple

import msgspec

from palimpsest_core.base.errors import ErrorCode, SessionQueryError

_SEAL_BYTES = 16


class Place(NamedTuple):
    """Where a page starts: how many hits precede it, and the generation of what it pages over."""

    generation: str
    offset: int


def invalid_cursor() -> SessionQueryError:
    """The error of a cursor that belongs to no such request of this engine."""
    return SessionQueryError(
        ErrorCode.INVALID_CURSOR, "The cursor must come from this engine's answer to the same request."
    )


def stale_cursor() -> SessionQueryError:
    """The error of a cursor whose corpus or session has changed since."""
    return SessionQueryError(ErrorCode.STALE_CURSOR, "What the cursor pages over has changed; start again without it.")


class CursorSeal:
    """Makes and opens the cursors of one engine instance; another instance refuses them. Thread-safe."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, digest: bytes, place: Place) -> str:
        """A cursor for the request with this digest (`SearchRequest.digest`), usable any number of times."""
        body = msgspec.msgpack.encode((place.generation, place.offset))
        return base64.urlsafe_b64encode(self._mark(digest, body) + body).decode("ascii").rstrip("=")

    def open(self, digest: bytes, cursor: str) -> Place:
        """The place that `cursor` stands for. Raises `INVALID_CURSOR` unless this instance made it for this request."""
        try:
            raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), b"-_", validate=True)
        except (ValueError, binascii.Error) as error:
            raise invalid_cursor() from error
        mark, body = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not secrets.compare_digest(mark, self._mark(digest, body)):
            raise invalid_cursor()
        return Place(*msgspec.msgpack.decode(body, type=tuple[str, int]))

    def _mark(self, digest: bytes, body: bytes) -> bytes:
        return hashlib.blake2b(digest + body, key=self._key, digest_size=_SEAL_BYTES).digest()
