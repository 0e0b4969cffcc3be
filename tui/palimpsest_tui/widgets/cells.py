"""Cutting and padding text by terminal cells, and finding the parts of a text that match a phrase."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rich.cells import cell_len, chop_cells, set_cell_size

ELLIPSIS = "…"


def clip(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is cut is shown as an ellipsis."""
    if width <= 0:
        return ""
    if len(text) * 2 <= width or (text.isascii() and len(text) <= width):
        return text
    head = text[: width + 1]
    if len(text) <= width and cell_len(text) <= width:
        return text
    if head.isascii():
        return head[: width - 1] + ELLIPSIS
    if width == 1:
        return ELLIPSIS
    if cell_len(head) <= width and len(head) == len(text):
        return text
    return chop_cells(head, width - 1)[0].rstrip("\n") + ELLIPSIS


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` cells: cut with an ellipsis or padded with spaces on the right."""
    if text.isascii():
        if len(text) <= width:
            return text.ljust(width)
        return clip(text, width)
    return set_cell_size(clip(text, width), max(width, 0))


def fit_right(text: str, width: int) -> str:
    """`text` in exactly `width` cells, aligned to the right."""
    cut = clip(text, width)
    return " " * (width - cell_len(cut)) + cut


def width_of(text: str) -> int:
    """The number of cells that `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


_MARKS = "[\u0300-\u036f]*"


class Matcher:
    """Finds a searched phrase in shown text the way the search does.

    Letters and digits of the phrase must follow each other with anything else between them; case and diacritics do not
    count. `literal` finds the characters as they are instead (case still folded, any whitespace run for a space).
    """

    def __init__(self, phrase: str, *, literal: bool = False) -> None:
        self.phrase = phrase
        self.literal = literal
        self._pattern = _literal_pattern(phrase) if literal else _phrase_pattern(phrase)

    def __bool__(self) -> bool:
        return self._pattern is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the phrase is in `text`: (start, end) pairs in order."""
        if self._pattern is None:
            return []
        return [match.span() for match in self._pattern.finditer(_folded(text)) if match.end() > match.start()]


def around_match(text: str, matcher: Matcher, width: int) -> str:
    """`text` begun late enough for its first match to stand within `width` cells, an ellipsis where it was cut.

    A snippet has a third of its room before the match; in a narrow pane that third alone fills the row. Here a quarter
    of the row stays before the match. Text without a match, or whose match shows anyway, is returned as it is.
    """
    spans = matcher.spans(text)
    if not spans or width_of(text[: spans[0][1]]) <= width:
        return text
    start, room = spans[0][0], max(1, width // 4)
    while start > 0 and width_of(text[start - 1 : spans[0][0]]) < room:
        start -= 1
    return "\u2026" + text[start:].lstrip()


@lru_cache(maxsize=64)
def _literal_pattern(phrase: str) -> re.Pattern[str] | None:
    parts = [re.escape(_folded(part)) for part in phrase.split()]
    return re.compile(r"\s+".join(parts)) if parts else None


@lru_cache(maxsize=64)
def _phrase_pattern(phrase: str) -> re.Pattern[str] | None:
    found = re.findall(r"[^\W_]+", _folded(phrase))
    words = ["".join(re.escape(char) + _MARKS for char in word) for word in found]
    if not words:
        return None
    body = r"[\W_]+".join(words)
    if any(is_cjk(char) for char in phrase):
        return re.compile(body)
    return re.compile(rf"(?<![^\W_]){body}(?![^\W_])")


def _folded(text: str) -> str:
    """`text` in lower case without diacritics, one character for each, so that places stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_char, text))


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    return (unicodedata.normalize("NFD", char)[:1] or char).lower()[:1] or char


def is_cjk(char: str) -> bool:
    """Whether a character is Han, Kana or Hangul, which are found by any substring."""
    code = ord(char)
    return (
        0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7AF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )
