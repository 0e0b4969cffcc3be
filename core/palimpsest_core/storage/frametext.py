"""The text of a compressed log: whole frames in bulk, broken ones as far as they go, and what lies behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import zstandard

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.storage.frames import MAGIC, Frame, FrameDecoder, ReadAt, Run, scan_frames, scan_runs
from palimpsest_core.storage.lines import CHUNK, Piece, Trust
from palimpsest_core.storage.segments import Segments

Note = Callable[[str, int, int, int], None]
"""Takes a fault: its cause, where it is in the file, how many stored bytes it is about, where the text stood."""

_RESYNC_TRIES = 1000
_TORN = "torn"


class FrameText:
    """Decodes the frames of one file in order. What is passed is entered in `segments`, faults go to `note`."""

    def __init__(self, read_at: ReadAt, decoder: FrameDecoder, segments: Segments, note: Note) -> None:
        self._read_at = read_at
        self._decoder = decoder
        self._segments = segments
        self._note = note

    def pieces(self, start: int, text_offset: int, end: int, cancel: CancelToken | None) -> Iterator[Piece]:
        """The text of the frames from stored offset `start` to `end`; `text_offset` is where it stands in the text.

        Past a broken frame comes, unverified, whatever can still be decoded. Raises `ABORTED` when cancelled.
        """
        trust = Trust.WHOLE
        tries = 0
        last = (0, 0)
        ended = True
        while 0 <= start < end:
            for found in scan_runs(self._read_at, start, end):
                check(cancel)
                if isinstance(found, Run):
                    start = found.offset + len(found.data)
                    text = self._run(found)
                    if text is not None:
                        # The usual case: live frames of a few lines each.
                        text_offset += len(text)
                        ended = text.endswith(b"\n") if text else ended
                        last = (found.offset, len(found.data))
                        self._segments.add(found.offset, start, text_offset)
                        yield Piece(text, trust, start if trust == Trust.WHOLE else -1)
                        continue
                    frames = list(scan_frames(self._read_at, found.offset, start))
                else:
                    frames = [found]
                for frame in frames:
                    if frame.fault == _TORN and not ended and trust == Trust.WHOLE:
                        self._note("unended-frame", *last, text_offset)
                    if frame.fault:
                        tries += 1
                        frame = self._delimit(frame, end, tries, cancel)
                    start = frame.offset + frame.length
                    for piece in self._frame(frame, start < end, trust, text_offset, cancel):
                        text_offset += len(piece.text)
                        trust = piece.trust
                        ended = piece.text.endswith(b"\n") if piece.text else ended
                        yield piece
                    last = (frame.offset, frame.length)
                    self._segments.add(frame.offset, start, text_offset, alone=bool(frame.fault))
                if frames[-1].fault:
                    break
            else:
                break
        if not ended and trust == Trust.WHOLE:
            self._note("unended-frame", *last, text_offset)

    def _run(self, run: Run) -> bytes | None:
        try:
            return self._decoder.run(run.data)
        except zstandard.ZstdError:
            return None

    def _frame(
        self, frame: Frame, more: bool, trust: Trust, text_offset: int, cancel: CancelToken | None
    ) -> Iterator[Piece]:
        """The text of one frame: a large one, a broken one, or one of a run in which something does not decode.

        `more`: something follows in the file.
        """
        if frame.skippable and not frame.fault:
            self._note("skippable", frame.offset, frame.length, text_offset)
            return
        if frame.window > self._decoder.window_max:
            self._note("window", frame.offset, frame.length, text_offset)
            yield Piece(b"", Trust.UNVERIFIED, broken=True)
            return
        if frame.fault == _TORN:
            self._note("torn-inside" if more else "torn-frame", frame.offset, frame.length, text_offset)
            trust = Trust.UNVERIFIED if more else max(trust, Trust.TORN)
        elif frame.fault:
            self._note(frame.fault, frame.offset, frame.length, text_offset)
            trust = Trust.UNVERIFIED
        else:
            # Its text is handed on before its checksum can be met, so it is decoded once beforehand.
            cause = self._verify(frame, cancel)
            if cause:
                self._note(cause, frame.offset, frame.length, text_offset)
                trust = Trust.UNVERIFIED
        if frame.length >= len(MAGIC):
            for text in self._decoder.readable(self._read_at, frame):
                check(cancel)
                yield Piece(text, trust)
        if trust == Trust.WHOLE:
            yield Piece(b"", trust, frame.offset + frame.length)
        elif trust == Trust.UNVERIFIED:
            yield Piece(b"", trust, broken=True)

    def _verify(self, frame: Frame, cancel: CancelToken | None) -> str:
        """Decode a frame for nothing; why it does not, "" when it does."""
        try:
            for _ in self._decoder.pieces(self._read_at, frame):
                check(cancel)
        except zstandard.ZstdError as error:
            return "checksum" if "checksum" in str(error) else "undecodable"
        return ""

    def _delimit(self, frame: Frame, end: int, tries: int, cancel: CancelToken | None) -> Frame:
        """A frame that reaches to the end of the file for want of a better place, cut where a sound frame begins."""
        place = frame.offset + (len(MAGIC) if frame.fault == _TORN else 1)
        while tries < _RESYNC_TRIES:
            place = self._next_magic(place, end, cancel)
            if place < 0:
                break
            first = next(scan_frames(self._read_at, place, end))
            if not first.fault and first.window <= self._decoder.window_max and not self._verify(first, cancel):
                return frame._replace(length=place - frame.offset)
            place += 1
            tries += 1
        return frame

    def _next_magic(self, place: int, end: int, cancel: CancelToken | None) -> int:
        """The stored offset of the next thing that looks like a frame, -1 without one."""
        while place < end:
            check(cancel)
            data = self._read_at(place, min(CHUNK, end - place))
            found = data.find(MAGIC)
            if found >= 0:
                return place + found
            if len(data) < CHUNK:
                break
            place += len(data) - len(MAGIC) + 1
        return -1
