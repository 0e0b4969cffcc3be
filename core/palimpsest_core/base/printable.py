"""The one door through which foreign text reaches a screen: control and direction characters made visible."""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = "\u00ad\u180e\u200b\u2028\u2029\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_HOSTILE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_BIDI}{_INVISIBLE}]")
_HOSTILE_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff{_BIDI}{_INVISIBLE}]")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd"


def _visible_line(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\n":
        return "\u23ce"
    if char in "\t\r\v\f":
        return " "
    return _visible(match)


def printable(text: str) -> str:
    """`text` safe for a terminal, line breaks and tabs kept.

    C0 controls become their control pictures (ESC is shown as U+241B), DEL U+2421; C1 controls, direction marks,
    invisible format characters and lone surrogates become U+FFFD. CR is dropped before LF. Idempotent.
    """
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return _HOSTILE.sub(_visible, text)


def printable_line(text: str) -> str:
    """`text` safe for a single row: as `printable`, line breaks shown as U+23CE and tabs as a space."""
    return _HOSTILE_LINE.sub(_visible_line, text)


def escaped(text: str) -> str:
    """JSON text safe for a terminal and still the same JSON: hostile characters as `\\uXXXX`, in lower case.

    In sound JSON they stand inside strings only, where the escape means the same.
    """
    return _HOSTILE.sub(_as_escape, text)


def _as_escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
