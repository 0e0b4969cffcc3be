"""JSON text exactly as the harness's own language prints it, and the check for values that JSON can hold without loss.

Log rows must come out byte for byte as the harness would write them: keys in their order, no space, no escape but the
ones JSON needs, lone surrogates as `\\ud83d`, numbers in their shortest decimal form with the harness's exponents.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

SAFE_INTEGER = 2**53 - 1
"""The largest integer that a double holds without doubt; coordinates in logs stay within it."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class NotPlainJson(ValueError):
    """A value that JSON cannot carry without loss; `path` says where it stands (`data.message.content[0]`)."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path or 'the value'} is {what}")
        self.path = path
        self.what = what


def join_pairs(text: str) -> str:
    """`text` with each high surrogate followed by a low one made the character they spell; lone halves stay."""
    if text.isascii():
        return text
    return _PAIR.sub(lambda m: m.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


def js_number(value: float) -> str:
    """A number as the harness prints it: `1` for 1.0, `1e+21`, `1e-7`, `0` for -0, `null` for what is not finite."""
    if isinstance(value, int):
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:
            return str(value)
        value = float(value) if abs(value) < 1 << 1024 else math.inf
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = _shortest(abs(value))
    count = len(digits)
    if count <= exponent <= 21:
        return sign + digits + "0" * (exponent - count)
    if 0 < exponent <= 21:
        return f"{sign}{digits[:exponent]}.{digits[exponent:]}"
    if -6 < exponent <= 0:
        return f"{sign}0.{'0' * -exponent}{digits}"
    power = exponent - 1
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"


def _shortest(value: float) -> tuple[str, int]:
    """The shortest digits that read back as `value`, and the place of the point (digits * 10**(place - count))."""
    mantissa, _, power = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    place = len(whole) + int(power or 0)
    digits = whole + ("" if fraction == "0" else fraction)
    stripped = digits.lstrip("0")
    place -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", place


def _text(value: str) -> str:
    quoted: str = encode_basestring(value)
    if quoted.isascii() or not _SURROGATE.search(quoted):
        return quoted
    return _SURROGATE.sub(lambda m: f"\\u{ord(m.group()):04x}", join_pairs(quoted))


def js_json(value: Any) -> str:
    """The JSON text of a plain value (dict, list, tuple, str, int, float, bool, None), one line without spaces.

    The text never holds a lone surrogate, so it always encodes as UTF-8. Raises TypeError for other types and
    RecursionError for a nesting that the interpreter cannot follow.
    """
    out: list[str] = []
    _write(value, out.append)
    return "".join(out)


def _write(value: Any, put: Any) -> None:
    if isinstance(value, str):
        put(_text(value))
    elif value is None:
        put("null")
    elif value is True:
        put("true")
    elif value is False:
        put("false")
    elif isinstance(value, (int, float)):
        put(js_number(value))
    elif isinstance(value, Mapping):
        mark = "{"
        for key, item in value.items():
            put(mark)
            put(_text(key))
            put(":")
            _write(item, put)
            mark = ","
        put("{}" if mark == "{" else "}")
    elif isinstance(value, (list, tuple)):
        mark = "["
        for item in value:
            put(mark)
            _write(item, put)
            mark = ","
        put("[]" if mark == "[" else "]")
    else:
        raise TypeError(f"{type(value).__name__} has no JSON text")


def plain_copy(value: Any, path: str = "") -> Any:
    """A detached copy of a value that JSON carries without loss.

    Accepted: dicts with text keys, lists and tuples (copied as lists), text, booleans, None, finite numbers except -0.
    Whole floats become integers and integers beyond the safe range become doubles, as the harness would hold them.
    Text halves of one character are joined. Raises `NotPlainJson` with the place of the first value that is
    something else, a cycle included.
    """
    return _copy(value, path, set())


def _copy(value: Any, path: str, open_ids: set[int]) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else join_pairs(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else _plain_float(_double(value), path)
    if kind is float:
        return _plain_float(value, path)
    if kind is dict or kind is list or kind is tuple:
        mark = id(value)
        if mark in open_ids:
            raise NotPlainJson(path, "a value that holds itself")
        open_ids.add(mark)
        try:
            if kind is dict:
                out: dict[str, Any] = {}
                for key, item in value.items():
                    if type(key) is not str:
                        raise NotPlainJson(path, f"an object with a key that is no text ({key!r})")
                    out[join_pairs(key)] = _copy(item, f"{path}.{key}" if path else key, open_ids)
                return out
            return [_copy(item, f"{path}[{index}]", open_ids) for index, item in enumerate(value)]
        except RecursionError:
            raise NotPlainJson(path.split(".", 1)[0], "nested too deeply") from None
        finally:
            open_ids.discard(mark)
    raise NotPlainJson(path, f"a {kind.__name__}, which JSON cannot carry")


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _plain_float(value: float, path: str) -> int | float:
    if not math.isfinite(value):
        raise NotPlainJson(path, f"the number {value}, which JSON cannot carry")
    if value == 0 and math.copysign(1.0, value) < 0:
        raise NotPlainJson(path, "the number -0, which JSON would lose")
    if float(value).is_integer() and abs(value) <= SAFE_INTEGER:
        return int(value)
    return value


def spread(value: Any) -> dict[str, Any]:
    """`{...value}`: an object's own copy; a list and a text by their indices (a text by UTF-16 units); else nothing."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, str):
        units = value.encode("utf-16-le", "surrogatepass")
        value = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    return {str(place): item for place, item in enumerate(value)} if isinstance(value, list) else {}
