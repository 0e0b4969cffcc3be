"""JSON as the harness's own language reads it, where the fast parser is stricter or laxer (performance notes, B2).

Unlike `json.loads`: NaN and Infinity are refused, a byte order mark is refused, invalid UTF-8 becomes U+FFFD (three for
an encoded surrogate). As there: 1e400 is infinity, lone surrogate escapes stay, the last of repeated keys wins. Unlike
both: a whole float within the safe integers is an int, and minus zero stays a float so that it can be told from zero.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

MAX_SAFE = (1 << 53) - 1
"""The largest number that counts as an integer coordinate."""


class BadJson(ValueError):
    """A text that is no JSON in the sense of this module, or (`cause` not empty) not the JSON that was expected."""

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> int | float:
    value = float(text)
    if value.is_integer() and -MAX_SAFE <= value <= MAX_SAFE and not (value == 0 and text[0] == "-"):
        return int(value)
    return value


def _int(text: str) -> int | float:
    if text == "-0":
        return -0.0
    if len(text) > 300:
        return float(text)
    return int(text)


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_float, parse_int=_int).decode


def loads(data: bytes) -> Any:
    """The value of one line (line feed and other JSON whitespace around it are fine). Raises `BadJson`."""
    try:
        return _decode(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadJson(str(error)) from error


def is_safe_int(value: object, least: int = -MAX_SAFE) -> bool:
    """Whether `value` is an integer coordinate: a safe integer of at least `least` (minus zero is none)."""
    return type(value) is int and least <= value <= MAX_SAFE
