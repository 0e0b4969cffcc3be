"""Lines to rows: the envelope is read, the payload only scanned (performance notes, B2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

import msgspec

from palimpsest_core.formats.jsjson import BadJson, is_safe_int, loads, too_deep

NOTHING = msgspec.Raw(b"")
"""An envelope key that is absent."""


ABSENT = -(1 << 62)
"""The number of an envelope key that is absent; no log can hold it, since coordinates are safe integers."""


class Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The known keys of a row. Raw pieces point into the text they were read from and keep it alive."""

    type: str
    data: msgspec.Raw = NOTHING
    seq: int = ABSENT
    time: int = ABSENT
    surfaceOp: msgspec.Raw = NOTHING
    sourceEventSeqs: msgspec.Raw = NOTHING
    ignorable: msgspec.Raw = NOTHING
    seq0: int = ABSENT
    time0: int = ABSENT


class StoredRow(msgspec.Struct, gc=False):
    """One line of a log after the header.

    `line` counts lines of the decoded text (the header is 1); `offset` and `length` are its place there in bytes, line
    feed included. `type` is what it claims ("row" when that cannot be told), `seq` the first sequence number it claims
    (-1 when unknown), `count` how many events it holds (0 when withheld), `time` the time of its first event (epoch
    ms). `provisional`: from a torn or damaged place, so a later read of a grown log may tell otherwise. `problem` says
    in a word why a row is withheld ("after" when only because of an earlier one); `fault` what is wrong with the
    envelope of a row that is shown nevertheless. `envelope` or `value` hold what was read; use `LogReader.expand` and
    `LogReader.line_of`. Do not keep rows: they keep their text alive.
    """

    type: str
    seq: int
    time: int
    count: int
    line: int
    offset: int
    length: int
    withheld: bool = False
    provisional: bool = False
    problem: str = ""
    fault: str = ""
    envelope: Envelope | None = None
    value: Any = None
    packed: Any = None


def has_marks(row: StoredRow) -> bool:
    """Whether a row carries a surface marker or sources, whatever they hold."""
    envelope = row.envelope
    if envelope is not None:
        return envelope.surfaceOp is not NOTHING or envelope.sourceEventSeqs is not NOTHING
    return isinstance(row.value, dict) and ("surfaceOp" in row.value or "sourceEventSeqs" in row.value)


_MINUS_ZERO = re.compile(rb"(?:^|[\[:,])\s*-0(?![0-9.eE])")
"""What the fast parser reads as zero (or something inside a text that looks like it)."""

_FIRST, _LAST = itemgetter(0), itemgetter(-1)
_OPENING, _CLOSING = {ord("{")}, {ord("}")}

_decode_lines = msgspec.json.Decoder(Envelope).decode_lines
_decode_line = msgspec.json.Decoder(Envelope).decode


def scan_lines(text: bytes, lines: Sequence[bytes]) -> list[Envelope] | None:
    """The envelopes of whole lines, one each, or None when some line needs the slow path.

    `lines` is the same text split. Each line must begin with a brace and end with one: then lines and objects cannot be
    out of step. How deep they are nested is for the caller to see to (`too_deep`).
    """
    try:
        envelopes: list[Envelope] = _decode_lines(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if len(envelopes) != len(lines) or not all(lines):
        return None
    if set(map(_FIRST, lines)) != _OPENING or set(map(_LAST, lines)) != _CLOSING:
        return None
    return envelopes


def scan_line(line: bytes) -> Envelope | dict[str, Any]:
    """One line: its envelope, or the whole object when the fast parser does not take it. Raises `BadJson`.

    A line that is JSON but no object is `BadJson` with the cause "null" or "not-object".
    """
    if b":-0" not in line and not too_deep(line):
        with suppress(msgspec.MsgspecError, RecursionError):
            return _decode_line(line)
    value = loads(line)
    if not isinstance(value, dict):
        raise BadJson("The line is no object.", "null" if value is None else "not-object")
    return value


def integer(value: Any, least: int) -> int | None:
    """`value` if it is an integer coordinate of at least `least`."""
    return value if is_safe_int(value, least) else None


def payload(raw: msgspec.Raw) -> Any:
    """The value of a raw piece; what the fast parser refuses goes the slow way. Raises `BadJson`.

    Minus zero may come as zero; `exact_payload` tells them apart.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return loads(bytes(raw))


def exact_payload(raw: msgspec.Raw) -> Any:
    """As `payload`, for twice the time: minus zero is a float, as the reference would have it."""
    data = bytes(raw)
    return loads(data) if b"-0" in data and _MINUS_ZERO.search(data) else payload(raw)
