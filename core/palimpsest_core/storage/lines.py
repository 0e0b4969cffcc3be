"""Pieces of decoded text to chunks of whole lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

CHUNK = 256 << 10
"""About how much text (bytes) is handed on at once."""

LINES = 8192
"""About how many lines are handed on at once, at most."""


class Trust(IntEnum):
    """How far text may be believed: `WHOLE` (committed), `TORN` (from a last frame or line that the end of the file
    cuts), `UNVERIFIED` (from a damaged place or behind one)."""

    WHOLE = 0
    TORN = 1
    UNVERIFIED = 2


class Piece(NamedTuple):
    """Some decoded text as it comes. `end` is the stored offset right after it where reading could go on, else -1.

    `broken` tells that nothing can continue the last line (what follows comes from behind damage).
    """

    text: bytes
    trust: Trust = Trust.WHOLE
    end: int = -1
    broken: bool = False


class TextChunk(NamedTuple):
    """Some whole lines, each with its line feed, from text offset `offset` on.

    `cut`: the text is one line without line feed. `oversize`: the length of one line (line feed included) that is
    longer than allowed and was skipped; `text` is empty then. `commit`: the stored offset at which reading can go on
    after this chunk another time, else -1. `lines`: the lines without their line feeds, where they were told apart.
    """

    offset: int
    text: bytes
    trust: Trust
    cut: bool = False
    oversize: int = 0
    commit: int = -1
    lines: Sequence[bytes] = ()

    @property
    def end(self) -> int:
        """The text offset after this chunk."""
        return self.offset + (self.oversize or len(self.text))


class _Splitter:
    def __init__(self, text_offset: int, row_max: int, any_line_commits: bool, shift: int) -> None:
        self.row_max = row_max
        self.any_line_commits = any_line_commits
        self.shift = shift
        self.offset = text_offset
        self.parts: list[bytes] = []
        self.size = 0
        self.trust = Trust.WHOLE
        self.boundary = (text_offset, text_offset + shift)
        self.skipping = 0

    def chunk(self, text: bytes, cut: bool = False, oversize: int = 0) -> TextChunk:
        end = self.offset + (oversize or len(text))
        commit = -1
        if self.trust == Trust.WHOLE and not cut:
            if self.any_line_commits:
                commit = end + self.shift
            elif self.boundary[0] == end:
                commit = self.boundary[1]
        made = TextChunk(self.offset, text, self.trust, cut, oversize, commit)
        self.offset = end
        return made

    def flush(self, keep_rest: bool) -> Iterator[TextChunk]:
        """Hand on the whole lines gathered; the unfinished line stays, or goes as a `cut` chunk."""
        text = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        self.parts.clear()
        self.size = 0
        if self.skipping:
            place = text.find(b"\n") + 1
            self.skipping += place or len(text)
            if not place and keep_rest:
                return
            yield self.chunk(b"", not place, self.skipping)
            self.skipping = 0
            text = text[place:] if place else b""
        place = text.rfind(b"\n") + 1
        if place:
            yield self.chunk(text if place == len(text) else text[:place])
            text = text[place:]
        if not text:
            return
        if not keep_rest:
            yield self.chunk(text, cut=True)
        elif len(text) > self.row_max:
            self.skipping = len(text)
        else:
            self.parts.append(text)
            self.size = len(text)

    def push(self, piece: Piece) -> Iterator[TextChunk]:
        if piece.trust != self.trust:
            if self.parts or self.skipping:
                yield from self.flush(keep_rest=piece.trust == Trust.TORN)
            self.trust = piece.trust
        if piece.text:
            self.parts.append(piece.text)
            self.size += len(piece.text)
        if piece.end >= 0:
            self.boundary = (self.offset + self.skipping + self.size, piece.end)
        if piece.broken:
            yield from self.flush(keep_rest=False)
        elif self.size > self.row_max and not self.skipping and not any(b"\n" in part for part in self.parts):
            self.skipping = self.size
            self.parts.clear()
            self.size = 0
        elif self.skipping or (self.size >= CHUNK and (b"\n" in piece.text or self.size > self.row_max)):
            yield from self.flush(keep_rest=True)


def split_lines(
    pieces: Iterable[Piece], text_offset: int, row_max: int, *, any_line_commits: bool = False, shift: int = 0
) -> Iterator[TextChunk]:
    """Chunks of whole lines, in order, without gaps.

    `text_offset` is where the first piece stands in the text; `shift` what turns text offsets into stored ones where
    text is stored as it is (`any_line_commits`). A line longer than `row_max` bytes is skipped and reported as
    oversize. The last line, when it has no line feed, comes as a `cut` chunk.
    """
    splitter = _Splitter(text_offset, row_max, any_line_commits, shift)
    for piece in pieces:
        for chunk in splitter.push(piece):
            yield from _thinned(chunk)
    if splitter.parts or splitter.skipping:
        if splitter.any_line_commits:
            for chunk in splitter.flush(keep_rest=True):
                yield from _thinned(chunk)
            splitter.trust = max(splitter.trust, Trust.TORN)
        for chunk in splitter.flush(keep_rest=False):
            yield from _thinned(chunk)


def _thinned(chunk: TextChunk) -> Iterator[TextChunk]:
    """A chunk in parts of about `LINES` lines; real logs have far fewer in one."""
    lines = chunk.text.split(b"\n")
    count = len(lines) - 1
    if count <= LINES:
        lines.pop()
        yield chunk if chunk.cut else chunk._replace(lines=lines)
        return
    del lines  # so many are a burden
    text, place = chunk.text, 0
    step = len(text) * LINES // count
    while place < len(text):
        end = text.find(b"\n", min(place + step, len(text) - 1)) + 1
        part = chunk._replace(offset=chunk.offset + place, text=text[place:end], commit=-1)
        place = end
        yield part if place < len(text) else part._replace(commit=chunk.commit)
