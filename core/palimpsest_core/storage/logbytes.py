"""The text of one log, whatever its encoding: streamed in whole lines, and read again at any place.

Nothing here is ever opened for writing. Memory does not grow with a log, except for a few numbers for each 64 KB of
text.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.storage.frames import MAGIC, FrameDecoder, ReadAt, file_reader, first_frame
from palimpsest_core.storage.frametext import FrameText
from palimpsest_core.storage.layout import PLAIN, ZSTD, LogFile, Stat
from palimpsest_core.storage.lines import CHUNK, Piece, TextChunk, Trust, split_lines
from palimpsest_core.storage.segments import Segments

_PEEK = 4096
_READ_ONLY = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FAULTS_KEPT = 100


class ByteFault(NamedTuple):
    """A defect of the stored bytes: a short cause, where it is in the file, how many stored bytes it concerns, and
    where the decoded text stood.

    Causes: "torn-frame", "torn-inside" (cut, and whole frames follow), "torn-line", "checksum", "undecodable",
    "bad-magic", "reserved", "dictionary", "skippable", "unended-frame" (the last whole frame does not end in a line
    feed), "window", "expansion" (more text than a file of this size may hold).
    """

    cause: str
    byte_offset: int
    length: int
    text_offset: int


class FirstLine(NamedTuple):
    """The first line of a log, line feed included when it is there; None when it cannot be had.

    `cause` is "" when it is as it should be; else "empty", "more" (its frame holds more than it), "too-long", "other",
    or the cause of a fault of its frame.
    """

    line: bytes | None
    cause: str


def usual_first_line(file: LogFile, window_max: int) -> bytes | None:
    """The header line of a log that begins as it should, in one small read; None when it takes a closer look.

    Ten thousand headers take a third of the time that opening as many logs would. Raises OSError.
    """
    descriptor = os.open(file.path, _READ_ONLY)
    try:
        head = os.pread(descriptor, _PEEK, 0)
    finally:
        os.close(descriptor)
    end = head.find(b"\n") + 1
    if file.encoding != ZSTD:
        return head[:end] if end and not head.startswith(MAGIC) else None
    text = first_frame(head, window_max)
    return text if text is not None and text.find(b"\n") + 1 == len(text) > 0 else None


class LogBytes:
    """One log opened for reading, up to the size it has now (`size_limit`).

    `faults` grows while `chunks` runs. `encoding` is what the bytes are, should the name be wrong about it.
    Close it, or use it in a `with` statement. Raises OSError where the file system does. One thread at a time.
    """

    def __init__(self, file: LogFile, *, window_max: int, row_max: int) -> None:
        self.file = file
        self.row_max = row_max
        self.faults: list[ByteFault] = []
        self._descriptor = os.open(file.path, _READ_ONLY)
        self.stat = Stat.of(os.fstat(self._descriptor))
        self.size_limit = self.stat.size
        self.read_at: ReadAt = file_reader(self._descriptor)
        self._decoder = FrameDecoder(window_max)
        self._segments = Segments(self.read_at, self._decoder)
        self._frames = FrameText(self.read_at, self._decoder, self._segments, self._note)
        self.encoding = self._real_encoding()

    def __enter__(self) -> LogBytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and forget what was kept of it. Twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._segments.close()

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.close()

    def _real_encoding(self) -> str:
        head = self.read_at(0, 4)
        if self.file.encoding == ZSTD and head[:2] == b'{"':
            found = PLAIN
        elif self.file.encoding == PLAIN and head == MAGIC:
            found = ZSTD
        else:
            return self.file.encoding
        return found

    def _note(self, cause: str, byte_offset: int, length: int, text_offset: int) -> None:
        if len(self.faults) < _FAULTS_KEPT:
            self.faults.append(ByteFault(cause, byte_offset, length, text_offset))

    def refresh(self) -> Stat:
        """Let the next `chunks` go up to the size the open file has now; returns its stat."""
        self.stat = Stat.of(os.fstat(self._descriptor))
        self.size_limit = self.stat.size
        return self.stat

    def chunks(
        self, byte_offset: int = 0, text_offset: int = 0, cancel: CancelToken | None = None
    ) -> Iterator[TextChunk]:
        """The text from a place that an earlier `commit` named (or from the start) to the end, in whole lines.

        `faults` is started anew. Raises `ABORTED` when cancelled.
        """
        self.faults = []
        if self.encoding == ZSTD:
            self._segments.begin(byte_offset, text_offset)
            yield from split_lines(
                self._frames.pieces(byte_offset, text_offset, self.size_limit, cancel), text_offset, self.row_max
            )
            return
        shift = byte_offset - text_offset
        pieces = self._plain_pieces(byte_offset, cancel)
        for chunk in split_lines(pieces, text_offset, self.row_max, any_line_commits=True, shift=shift):
            if chunk.cut:
                self._note("torn-line", chunk.offset + shift, chunk.end - chunk.offset, chunk.offset)
            yield chunk

    def first_line(self, most: int) -> FirstLine:
        """The header line, read without reading on: at most `most` bytes of text, usually 4 KB of the file."""
        if self.size_limit == 0:
            return FirstLine(None, "empty")
        cause = f"encoding-{self.encoding}" if self.encoding != self.file.encoding else ""
        if self.encoding != ZSTD:
            text = self.read_at(0, min(_PEEK, self.size_limit))
            if b"\n" not in text and len(text) < self.size_limit:
                text = self.read_at(0, min(most, self.size_limit))
            end = text.find(b"\n") + 1
            if end:
                return FirstLine(text[:end], cause)
            return FirstLine(None, "too-long") if len(text) < self.size_limit else FirstLine(text, "torn-line")
        usual = first_frame(self.read_at(0, min(_PEEK, self.size_limit)), self._decoder.window_max)
        if usual is not None and usual.find(b"\n") + 1 == len(usual) > 0:
            return FirstLine(usual, cause)
        return self._odd_first_line(most, cause)

    def _odd_first_line(self, most: int, cause: str) -> FirstLine:
        faults, self.faults = self.faults, []
        text = b""
        found: FirstLine | None = None
        for piece in self._frames.pieces(0, 0, self.size_limit, None):
            text += piece.text
            end = text.find(b"\n") + 1
            first = self.faults[0].cause if self.faults else ""
            if end:
                more = "more" if end < len(text) or (piece.trust == Trust.WHOLE and piece.end < 0) else cause
                found = FirstLine(text[:end], first or more)
            elif len(text) > most:
                found = FirstLine(None, "too-long")
            elif first and first != "skippable" and not piece.text:
                found = FirstLine(None, first)
            if found is not None:
                break
        first = self.faults[0].cause if self.faults else "other"
        self.faults = faults
        return found or FirstLine(text or None, first)

    def _plain_pieces(self, place: int, cancel: CancelToken | None) -> Iterator[Piece]:
        while place < self.size_limit:
            check(cancel)
            data = self.read_at(place, min(CHUNK, self.size_limit - place))
            if not data:
                return
            place += len(data)
            yield Piece(data)

    def read_range(self, offset: int, length: int, cancel: CancelToken | None = None) -> bytes:
        """`length` bytes of decoded text at `offset` (fewer at its end), wherever reading has been so far."""
        if self.encoding != ZSTD:
            return self.read_at(offset, length)
        if not self._segments.covers(offset, length):
            faults = self.faults.copy()
            for _ in self._frames.pieces(*self._segments.resume(offset), self.size_limit, cancel):
                if self._segments.covers(offset, length):
                    break
            self.faults = faults
        return self._segments.read(offset, length)
