"""Literal search: a text anywhere, in any letter case, not only at token boundaries (engine contract, section 3)."""

from __future__ import annotations

import re
from itertools import groupby

import msgspec

from palimpsest_core.base.casefold import case_variants, literal_pattern
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jstext import words
from palimpsest_core.search.indextext import safe_text

_SPECIAL = re.compile(r"[%_\\]")


class Literal(msgspec.Struct, frozen=True):
    """What to look for. `like` is a cheap test first: an SQL LIKE pattern (escape character `\\`) that every text which
    holds the literal matches; None when no part of the literal is fit for that."""

    pattern: re.Pattern[str]
    like: str | None


def parse_literal(text: object) -> Literal:
    """The literal of a caller's text. Raises `INVALID_QUERY` for what is no text or blank.

    NUL and lone surrogates count as U+FFFD, as in the index.
    """
    if not isinstance(text, str):
        raise SessionQueryError(ErrorCode.INVALID_QUERY, "The text to look for must be text.")
    safe = safe_text(text)
    pattern = literal_pattern(safe)
    if pattern is None:
        raise SessionQueryError(ErrorCode.INVALID_QUERY, "The text to look for must hold more than whitespace.")
    runs = ["".join(run) for word in words(safe) for fit, run in groupby(word, _is_fit) if fit]
    longest = max(runs, key=lambda run: len(run.encode()), default="")
    escaped = _SPECIAL.sub(r"\\\g<0>", longest)
    return Literal(pattern, f"%{escaped}%" if escaped else None)


def _is_fit(char: str) -> bool:
    """Whether LIKE, which knows the letter case of ASCII only, finds every spelling of a character."""
    variants = case_variants(char)
    return variants == char or (variants.isascii() and char.isascii())
