"""Where a phrase occurs in a text, judged by the index's own tokenizer (engine contract, section 5, points 2 and 3)."""

from __future__ import annotations

import re
import threading
from typing import Any

import apsw

from palimpsest_core.search.indextext import (
    MARK_END,
    MARK_START,
    UNICODE61,
    UNICODE61_CJK,
    indexed_text,
    safe_text,
    unspaced_offset,
)

_CHUNK = 8_192
_CHUNKED_LIMIT = 4 * _CHUNK
_ASCII_SPACE = re.compile(r"[ \n\t\r]")


class Phrase:
    """A query as the index sees it: its tokens, and the expression that FTS5 is asked with.

    `overlaps` tells whether the phrase can overlap itself (a proper prefix of its tokens is also a suffix); only then
    can it have fewer highlighted spans than instances.
    """

    def __init__(self, tokens: tuple[str, ...], expression: str) -> None:
        self.tokens = tokens
        self.expression = expression
        self.width = len(tokens)
        self.overlaps = any(tokens[:size] == tokens[-size:] for size in range(1, len(tokens)))
        self._ascii: re.Pattern[str] | None = None

    @property
    def ascii_pattern(self) -> re.Pattern[str] | None:
        """A pattern that finds the phrase in ASCII text exactly as unicode61 does; None when no ASCII text holds it."""
        if self._ascii is None and self.tokens and all(token.isascii() for token in self.tokens):
            body = "[^0-9A-Za-z]+".join(self.tokens)
            self._ascii = re.compile(f"(?<![0-9A-Za-z]){body}(?![0-9A-Za-z])", re.IGNORECASE | re.ASCII)
        return self._ascii


class Matcher:
    """Tokenizes queries and finds their matches in texts. Thread-safe; cheap enough to keep one per index.

    >>> matcher = Matcher("unicode61")
    >>> matcher.spans(matcher.phrase("CAFE"), "a café")
    [(2, 6)]
    """

    def __init__(self, tokenizer: str = UNICODE61) -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()
        self._db = apsw.Connection(":memory:")
        self._unicode61: Any = self._db.fts5_tokenizer("unicode61", [])
        self._db.execute("create virtual table page using fts5(text, tokenize='unicode61')")

    def phrase(self, query: str) -> Phrase:
        """The phrase of a normalized query; one without tokens matches nothing."""
        text = indexed_text(safe_text(query), self.tokenizer)
        with self._lock:
            tokens = tuple(token for _, _, token in self._tokens(text))
        return Phrase(tokens, '"' + text.replace('"', '""') + '"')

    def first(self, phrase: Phrase, text: str) -> int | None:
        """The offset (code points) of the first match in a safe text, None when there is none."""
        if not phrase.tokens:
            return None
        if text.isascii():
            pattern = phrase.ascii_pattern
            match = pattern.search(text) if pattern is not None else None
            return match.start() if match else None
        indexed = indexed_text(text, self.tokenizer)
        with self._lock:
            offset = self._first_in_chunks(phrase, indexed)
            if offset is None and len(indexed) > _CHUNKED_LIMIT:
                marked = self._highlighted(phrase, indexed)
                offset = marked.find(MARK_START) if marked is not None else None
        if offset is None:
            return None
        return unspaced_offset(indexed, offset) if self.tokenizer == UNICODE61_CJK else offset

    def spans(self, phrase: Phrase, text: str) -> list[tuple[int, int]]:
        """All highlighted spans `(start, end)` in code points of any text, in order; overlapping matches are merged."""
        if not phrase.tokens:
            return []
        indexed = indexed_text(safe_text(text), self.tokenizer)
        with self._lock:
            marked = self._highlighted(phrase, indexed)
        if marked is None:
            return []
        out, gone, start = [], 0, marked.find(MARK_START)
        while start >= 0:
            end = marked.index(MARK_END, start)
            out.append((start - gone, end - gone - 1))
            gone += 2
            start = marked.find(MARK_START, end)
        if self.tokenizer == UNICODE61_CJK:
            return [(unspaced_offset(indexed, a), unspaced_offset(indexed, b - 1) + 1) for a, b in out]
        return out

    def _tokens(self, text: str) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = self._unicode61(
            text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=True, include_colocated=False
        )
        return found

    def _first_in_chunks(self, phrase: Phrase, text: str) -> int | None:
        """Look at the beginning of the text piece by piece: tokens never cross an ASCII space."""
        wanted, width = list(phrase.tokens), phrase.width
        kept: list[tuple[int, str]] = []
        begin = 0
        while begin < min(len(text), _CHUNKED_LIMIT):
            space = _ASCII_SPACE.search(text, begin + _CHUNK)
            end = space.start() if space else len(text)
            if end - begin > 2 * _CHUNKED_LIMIT:
                return None
            chunk = text[begin:end]
            data = chunk.encode()
            for start, _, token in self._tokens(chunk):
                kept.append((begin + len(data[:start].decode()) if token == wanted[0] else -1, token))
            for index in range(len(kept) - width + 1):
                if kept[index][1] == wanted[0] and [token for _, token in kept[index : index + width]] == wanted:
                    return kept[index][0]
            kept = kept[len(kept) - width + 1 :] if width > 1 else []
            begin = end
        return None

    def _highlighted(self, phrase: Phrase, text: str) -> str | None:
        self._db.execute("delete from page")
        self._db.execute("insert into page(text) values(?)", (text,))
        row = self._db.execute(
            "select highlight(page, 0, ?, ?) from page(?)", (MARK_START, MARK_END, phrase.expression)
        ).fetchone()
        return None if row is None else str(row[0])
