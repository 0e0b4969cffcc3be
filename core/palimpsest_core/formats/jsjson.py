"""JSON as the harness's own language reads it, where the fast parser is stricter or laxer (performance notes, B2).

Unlike `json.loads`: NaN and Infinity are refused, a byte order mark is refused, invalid UTF-8 becomes U+FFFD (three for
an encoded surrogate). As there: 1e400 is infinity (so is an integer of more than 4,300 characters), lone surrogate
escapes stay, the last of repeated keys wins. Unlike both: a whole float within the safe integers is an int, and minus
zero stays a float so that it can be told from zero.

A value nested deeper than `MAX_DEPTH` is refused: whoever shows, copies or writes it goes down step by step, and how
far that carries must not depend on who does.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any, NoReturn

MAX_SAFE = (1 << 53) - 1
"""The largest number that counts as an integer coordinate."""

MAX_DEPTH = 200
"""How deep arrays and objects may be nested; real logs stay below thirty."""

_LONGEST_INT = 4_300
"""Characters of an integer that the fast parser takes; a value must not depend on which parser met it."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\0\0")
_SIGNED = (-1, 1)

TOO_DEEP = "too-deep"
"""The cause of a refusal for nesting."""


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
    return int(text) if len(text) <= _LONGEST_INT else float(text)


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_float, parse_int=_int).decode


def too_deep(data: bytes) -> bool:
    """Whether a JSON text is nested deeper than `MAX_DEPTH`. Quick for all but texts with very many brackets."""
    if len(data) <= 2 * MAX_DEPTH or data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    steps = _STRING.sub(b"", data).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(map(_SIGNED.__getitem__, steps)), default=0) > MAX_DEPTH


def loads(data: bytes) -> Any:
    """The value of one line (line feed and other JSON whitespace around it are fine).

    Raises `BadJson`, with the cause "too-deep" beyond `MAX_DEPTH`.
    """
    if too_deep(data):
        raise BadJson("The text is nested too deep.", TOO_DEEP)
    try:
        return _decode(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadJson(str(error)) from error


def is_safe_int(value: object, least: int = -MAX_SAFE) -> bool:
    """Whether `value` is an integer coordinate: a safe integer of at least `least` (minus zero is none)."""
    return type(value) is int and least <= value <= MAX_SAFE


def is_minus_zero(value: object) -> bool:
    """Whether `value` is minus zero: a number that the reference takes for zero and cannot write again."""
    return type(value) is float and value == 0
