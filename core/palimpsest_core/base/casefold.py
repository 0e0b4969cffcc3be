"""Unicode simple case folding, one character to one, and literal patterns on it (conformance facts, "Text filters").

The running Python's tables may be older than Unicode 17, which the contract's answers were recorded with; the pairs
added since Unicode 14 (the tables of Python 3.11) are listed here, so every supported Python folds alike.
"""

from __future__ import annotations

import re
from functools import cache

from palimpsest_core.base.jstext import JS_SPACE, words

_CASED_RANGES = (
    (0x0041, 0x2D30),
    (0xA640, 0xAC00),
    (0xFB00, 0xFF5B),
    (0x10400, 0x10D90),
    (0x118A0, 0x118E0),
    (0x16E40, 0x16EE0),
    (0x1E900, 0x1E944),
)
"""Where characters with case live; scanning only these keeps the table's cost at a few milliseconds."""

_ADDED: dict[int, int] = {
    0x1C89: 0x1C8A,
    0xA7CB: 0x0264,
    0xA7CC: 0xA7CD,
    0xA7CE: 0xA7CF,
    0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5,
    0xA7DA: 0xA7DB,
    0xA7DC: 0x019B,
    0x1FD3: 0x0390,
    0x1FE3: 0x03B0,
    0xFB05: 0xFB06,
    **{0x10D50 + k: 0x10D70 + k for k in range(0x16)},
    **{0x16EA0 + k: 0x16EBB + k for k in range(0x19)},
}
"""Pairs of Unicode 15.1 to 17."""


def fold_char(char: str) -> str:
    """The simple case folding of one character: itself, or one other character.

    Characters whose full folding is longer (ß, İ, ﬁ) keep to one-to-one pairs: ẞ folds to ß, İ and ﬁ to themselves.
    """
    code = ord(char)
    if code in _ADDED:
        return chr(_ADDED[code])
    folded = char.casefold()
    if len(folded) == 1:
        return folded
    lowered = char.lower()
    return lowered if len(lowered) == 1 else char


@cache
def _classes() -> dict[str, str]:
    """Every character that folds or is folded to, with all characters of its class."""
    members: dict[str, list[str]] = {}
    for start, end in _CASED_RANGES:
        for code in range(start, end):
            char = chr(code)
            folded = fold_char(char)
            if folded != char:
                members.setdefault(folded, [folded]).append(char)
    return {char: "".join(group) for group in members.values() for char in group}


def case_variants(char: str) -> str:
    """All characters that `literal_pattern` takes for `char`, itself among them."""
    return _classes().get(char, char)


def _any_case(char: str) -> str:
    group = _classes().get(char)
    return re.escape(char) if group is None else f"[{group}]"


def literal_pattern(text: str) -> re.Pattern[str] | None:
    """A pattern that finds `text` literally, in any letter case, every whitespace run matching one or more whitespace.

    Leading and trailing whitespace of `text` does not count; None when nothing is left. Matching goes by code point on
    the text as it is, so `Match.span()` are offsets into it. Nothing is normalised.
    """
    parts = words(text)
    if not parts:
        return None
    return re.compile(f"[{JS_SPACE}]+".join("".join(map(_any_case, part)) for part in parts))
