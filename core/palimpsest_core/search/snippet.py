"""The plain-text snippet of a hit (engine contract, section 5, point 5).

Lengths are code points. The rules, as the recorded answers show them: whitespace runs count as one space; a text that
fits is shown whole; otherwise a third of the room (rounded down) goes before the match, an ellipsis stands on each cut
side, and room that the end of the text leaves unused goes to the front.
"""

from __future__ import annotations

import re

from palimpsest_core.base.jstext import JS_SPACE

ELLIPSIS = "\u2026"
_RUN = re.compile(f"[{JS_SPACE}]+")
_ONLY_PYTHON_SPACE = "\x1c\x1d\x1e\x1f"


def snippet(text: str, match_start: int, limit: int) -> str:
    """At most `limit` (at least 1) code points of `text` around the match that begins at `match_start`.

    Only the neighbourhood that can be shown is looked at, so a long text costs no more than a short one.
    """
    before, begins = _squeezed_tail(text, match_start, limit + 1)
    after, ends = _squeezed_head(text, match_start, limit + 1)
    if begins and ends and len(before) + len(after) <= limit:
        return before + after
    if limit == 1:
        return ELLIPSIS
    lead = min(limit // 3, max(0, limit - 3), len(before))
    if begins and lead == len(before):
        return (before + after)[: limit - 1] + ELLIPSIS
    if ends and lead + len(after) <= limit - 2:
        return ELLIPSIS + (before + after)[1 - limit :]
    shown = (before[len(before) - lead :] + after)[: max(1, limit - 2)]
    return ELLIPSIS + shown + (ELLIPSIS if limit > 2 else "")


def _squeezed_tail(text: str, stop: int, wanted: int) -> tuple[str, bool]:
    """What precedes `stop`, squeezed: all of it (True), or its last `wanted` code points and perhaps more (False)."""
    reach = 2 * wanted
    while reach < stop:
        # A run cut by the window may still begin before it: its first space is not trusted.
        tail = _squeezed(text[stop - reach : stop]).removeprefix(" ")
        if len(tail) >= wanted:
            return tail, False
        reach *= 4
    return _squeezed(text[:stop]).removeprefix(" "), True


def _squeezed_head(text: str, start: int, wanted: int) -> tuple[str, bool]:
    """What follows `start`, squeezed: all of it (True), or its first `wanted` code points and perhaps more (False)."""
    reach = 2 * wanted
    while start + reach < len(text):
        head = _squeezed(text[start : start + reach])
        if len(head.removesuffix(" ")) >= wanted:
            return head, False
        reach *= 4
    return _squeezed(text[start:]).removesuffix(" "), True


def _squeezed(text: str) -> str:
    """`text` with every whitespace run as one space, at its ends too. Plain text in a tenth of the time."""
    if not text.isascii() or any(char in text for char in _ONLY_PYTHON_SPACE):
        return _RUN.sub(" ", text)
    words = " ".join(text.split())
    if not words:
        return " " if text else ""
    return f"{' ' if text[0].isspace() else ''}{words}{' ' if text[-1].isspace() else ''}"
