"""Results as JSON text, whatever a log may hold."""

from __future__ import annotations

import json
import re
from typing import Any

from palimpsest_core.base.jsjson import SAFE_INTEGER, js_number

_LONG_NUMBER = re.compile(r"[:,\[-][0-9]{16}|[0-9]e\+(?:1[5-9]|20)")


def results_text(value: Any) -> str:
    """`value` as one line of ASCII JSON: lone surrogates escaped, numbers that JSON does not have as null.

    Values may be nested as deep as memory allows (a lineage of 50,000 sessions is).
    """
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return _deep_text(value)


def as_doubles(value: Any) -> Any:
    """`value` with whole numbers beyond the safe range as the harness's language prints them.

    There they are doubles, printed by their shortest digits and zeros: 123456789012345680000. Only looked for where the
    text holds such a number, so that ordinary answers are not rebuilt.
    """
    return _doubles(value) if _LONG_NUMBER.search(results_text(value)) else value


def _doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    if isinstance(value, (int, float)) and abs(value) > SAFE_INTEGER and not isinstance(value, bool):
        printed = js_number(value)
        return int(printed) if printed.lstrip("-").isdigit() else float(printed) if printed != "null" else None
    return value


class _Raw(str):
    """Text that goes out as it is."""


def _deep_text(value: Any) -> str:
    """As `results_text`, with a stack of our own."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Raw):
            out.append(item)
        elif isinstance(item, dict):
            out.append("{")
            stack.append(_Raw("}"))
            pairs = list(item.items())
            for place in range(len(pairs) - 1, -1, -1):
                key, inner = pairs[place]
                stack.append(inner)
                stack.append(_Raw(f"{',' if place else ''}{json.dumps(key)}:"))
        elif isinstance(item, (list, tuple)):
            out.append("[")
            stack.append(_Raw("]"))
            for place in range(len(item) - 1, -1, -1):
                stack.append(item[place])
                if place:
                    stack.append(_Raw(","))
        elif isinstance(item, float):
            out.append(js_number(item))
        else:
            out.append(json.dumps(item))
    return "".join(out)
