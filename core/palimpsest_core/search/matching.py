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
_HEAD = 2_048
_ASCII_SPACE = re.compile(r"[ \n\t\r]")
_SPACES = (b" ", b"\n", b"\t", b"\r")
_FOLDED = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff\u212a\u212b]")
"""Every character beyond ASCII that unicode61 folds to an ASCII letter, or drops, is among these (tried with all)."""


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
        self.is_ascii = bool(tokens) and all(token.isascii() for token in tokens)
        body = b"[^0-9A-Za-z]+".join(token.encode() for token in tokens) if self.is_ascii else b""
        self.ascii_pattern = re.compile(body + rb"(?![0-9A-Za-z])")
        """Matches the phrase at the begin of a word of lower-case ASCII text, exactly as unicode61 does."""


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
        is_ascii = text.isascii()
        if is_ascii and not phrase.is_ascii:
            return None
        indexed = text if is_ascii else indexed_text(text, self.tokenizer)
        with self._lock:
            offset = self._first(phrase, indexed, is_ascii)
        if offset is None or is_ascii or self.tokenizer != UNICODE61_CJK:
            return offset
        return unspaced_offset(indexed, offset)

    def _first(self, phrase: Phrase, indexed: str, is_ascii: bool) -> int | None:
        if phrase.is_ascii:
            place = _first_at_the_head(phrase, indexed) if is_ascii else None
            data = indexed.encode() if place is None else b""
            if place is None:
                place = self._first_by_bytes(phrase, data, is_ascii)
            if place is not None:
                offset = place if is_ascii else len(data[:place].decode())
                # What folds to ASCII letters may have matched before; then it is not so simple.
                if is_ascii or _FOLDED.search(indexed, 0, offset) is None:
                    return offset
            elif is_ascii or _FOLDED.search(indexed) is None:
                return None
        begin = self._first_in_chunks(phrase, indexed)
        if begin is None and len(indexed) > _CHUNKED_LIMIT:
            marked = self._highlighted(phrase, indexed)
            begin = marked.find(MARK_START) if marked is not None else None
        return begin

    def _first_by_bytes(self, phrase: Phrase, data: bytes, is_ascii: bool) -> int | None:
        """The first place where the phrase stands in plain ASCII letters, found by its bytes: no token is made of the
        rest. Measured on long texts: 900 MB a second, against 5 of the tokenizer."""
        low = data.lower()
        first = phrase.tokens[0].encode()
        place = low.find(first)
        while place >= 0:
            after = low[place + len(first) : place + len(first) + 1]
            if not (low[place - 1 : place].isalnum() if place else False) and not after.isalnum():
                if is_ascii:
                    if phrase.width == 1 or phrase.ascii_pattern.match(low, place) is not None:
                        return place
                elif self._stands_at(phrase, data, place):
                    return place
            place = low.find(first, place + 1)
        return None

    def _stands_at(self, phrase: Phrase, data: bytes, place: int) -> bool:
        """Whether the phrase's tokens begin at a byte of the text, judged on the words around it."""
        begin = max(data.rfind(space, 0, place) for space in _SPACES) + 1
        reach = len(phrase.expression.encode()) * 2
        while True:
            ends = [end for space in _SPACES if (end := data.find(space, place + reach)) >= 0]
            end = min(ends, default=len(data))
            tokens = self._tokens_of(data[begin:end])
            here = next((index for index, token in enumerate(tokens) if token[0] == place - begin), -1)
            if here < 0:
                return False
            found = tuple(token for _, _, token in tokens[here : here + phrase.width])
            if len(found) == phrase.width or end == len(data):
                return found == phrase.tokens
            reach *= 4

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
        return self._tokens_of(text.encode())

    def _tokens_of(self, data: bytes) -> list[tuple[int, int, str]]:
        """`(start, end, token)` by bytes."""
        found: list[tuple[int, int, str]] = self._unicode61(
            data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=True, include_colocated=False
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


def _first_at_the_head(phrase: Phrase, text: str) -> int | None:
    """The first match in a long ASCII text if it ends near its begin, as most do; None otherwise."""
    size = _HEAD
    while 2 * size < len(text):
        low = text[:size].encode().lower()
        first = phrase.tokens[0].encode()
        place = low.find(first)
        while place >= 0:
            match = phrase.ascii_pattern.match(low, place)
            # What reaches the end may go on behind it. A match that begins later ends later, so this one is the first.
            if match is not None and match.end() < len(low) and not (place and low[place - 1 : place].isalnum()):
                return place
            place = low.find(first, place + 1)
        size *= 4
    return None
