"""Text rules of the harness's own language where the contract has them (spec: conformance facts, "Whitespace")."""

from __future__ import annotations

import math
import re
from operator import methodcaller
from typing import Any

JS_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""Every character that counts as whitespace: U+FEFF is in, U+0085 and U+001C-001F are out."""

_trimmed = methodcaller("strip", JS_SPACE)
_RUN = re.compile(f"[{JS_SPACE}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = 1 << 63


def trim(text: str) -> str:
    """`text` without leading and trailing whitespace."""
    return text.strip(JS_SPACE)


def squeeze(text: str) -> str:
    """`text` trimmed, every whitespace run made one space."""
    return _RUN.sub(" ", text).strip(JS_SPACE)


def words(text: str) -> list[str]:
    """The parts of `text` between whitespace runs, empties dropped."""
    return [part for part in _RUN.split(text) if part]


def join_parts(parts: list[str]) -> str:
    """Parts trimmed, empties dropped, joined with a newline (spec: engine contract, section 4)."""
    if len(parts) == 1:
        return parts[0].strip(JS_SPACE)
    if len(parts) == 2:
        first, second = parts[0].strip(JS_SPACE), parts[1].strip(JS_SPACE)
        return f"{first}\n{second}" if first and second else first or second
    return "\n".join(filter(None, map(_trimmed, parts)))


def well_formed(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATE.sub("\ufffd", text)


def storable_value(value: Any) -> Any:
    """A plain JSON value as any store can hold it: lone surrogates as U+FFFD, integers beyond 64 bits as doubles."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, (list, tuple)):
        return [storable_value(item) for item in value]
    if isinstance(value, dict):
        return {storable_value(key): storable_value(item) for key, item in value.items()}
    return value
