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

_TORN = "torn"
_EXPANSION = "expansion"
_NO_TEXT = frozenset({"window", _EXPANSION})
_LENGTH_UNSURE = frozenset({"checksum", "undecodable"})
_ALWAYS_ALLOWED = 64 << 20
_ALLOWED_RATIO = 200
_TRIES = 10_000
_TRIAL_TEXT = 256 << 20


def allowed_text(stored: int) -> int:
    """How much text (bytes) a log of this stored size may decode to: far more than a real one ever does."""
    return max(_ALWAYS_ALLOWED, _ALLOWED_RATIO * stored)


class _Trials:
    """How often it may still be tried to find a frame behind a broken one, and how much text that may cost (bytes)."""

    def __init__(self) -> None:
        self.tries = _TRIES
        self.text = _TRIAL_TEXT

    @property
    def left(self) -> bool:
        return self.tries > 0 and self.text > 0


class FrameText:
    """Decodes the frames of one file in order. What is passed is entered in `segments`, faults go to `note`."""

    def __init__(self, read_at: ReadAt, decoder: FrameDecoder, segments: Segments, note: Note) -> None:
        self._read_at = read_at
        self._decoder = decoder
        self._segments = segments
        self._note = note

    def pieces(self, start: int, text_offset: int, end: int, cancel: CancelToken | None) -> Iterator[Piece]:
        """The text of the frames from stored offset `start` to `end`; `text_offset` is where it stands in the text.

        Past a broken frame comes, unverified, whatever can still be decoded; past a frame that brings more text than
        `allowed_text`, nothing. Raises `ABORTED` when cancelled.
        """
        most = allowed_text(end)
        trust = Trust.WHOLE
        trials = _Trials()
        last = (0, 0)
        ended = True
        while 0 <= start < end:
            again = False
            for found in scan_runs(self._read_at, start, end):
                check(cancel)
                if isinstance(found, Run):
                    text = self._run(found)
                    if text is not None and text_offset + len(text) <= most:
                        # The usual case: live frames of a few lines each.
                        start = found.offset + len(found.data)
                        text_offset += len(text)
                        ended = text.endswith(b"\n") if text else ended
                        last = (found.offset, len(found.data))
                        self._segments.add(found.offset, start, text_offset)
                        yield Piece(text, trust, start if trust == Trust.WHOLE else -1)
                        continue
                    frames = list(scan_frames(self._read_at, found.offset, found.offset + len(found.data)))
                else:
                    frames = [found]
                for frame in frames:
                    if frame.fault == _TORN and not ended and trust == Trust.WHOLE:
                        self._note("unended-frame", *last, text_offset)
                    cause = self._cause(frame, most - text_offset, cancel)
                    if cause in _LENGTH_UNSURE or frame.fault:
                        # Its length is hearsay: what lies inside it may be frames of their own.
                        whole = frame.length
                        frame = self._delimit(frame, end, trials, cancel)
                        again = bool(frame.fault) or frame.length != whole
                    start = frame.offset + frame.length
                    for piece in self._frame(frame, cause, start < end, trust, most - text_offset, text_offset, cancel):
                        text_offset += len(piece.text)
                        trust = piece.trust
                        ended = piece.text.endswith(b"\n") if piece.text else ended
                        yield piece
                    last = (frame.offset, frame.length)
                    self._segments.add(frame.offset, start, text_offset, alone=bool(frame.fault or cause))
                    if cause == _EXPANSION:
                        return
                    if again:
                        break
                if again:
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

    def _cause(self, frame: Frame, room: int, cancel: CancelToken | None) -> str:
        """Why the text of a frame cannot be believed or had, "" when it can; `room` is how much text it may bring."""
        if frame.fault:
            return frame.fault
        if frame.skippable:
            return "skippable"
        if frame.window > self._decoder.window_max:
            return "window"
        # Its text is handed on before its checksum can be met, so it is decoded once beforehand.
        return self._verify(frame, room, cancel)[0]

    def _frame(
        self,
        frame: Frame,
        cause: str,
        more: bool,
        trust: Trust,
        room: int,
        text_offset: int,
        cancel: CancelToken | None,
    ) -> Iterator[Piece]:
        """The text of one frame: a large one, a broken one, or one of a run in which something does not decode.

        `more`: something follows in the file.
        """
        if cause == _TORN:
            cause = "torn-inside" if more else "torn-frame"
        if cause:
            self._note(cause, frame.offset, frame.length, text_offset)
        if cause == "skippable":
            return
        if cause in _NO_TEXT:
            yield Piece(b"", Trust.UNVERIFIED, broken=True)
            return
        if cause:
            trust = max(trust, Trust.TORN) if cause == "torn-frame" else Trust.UNVERIFIED
        if frame.length >= len(MAGIC):
            for text in self._decoder.readable(self._read_at, frame):
                check(cancel)
                room -= len(text)
                if room < 0:
                    break
                yield Piece(text, trust)
        if trust == Trust.WHOLE:
            yield Piece(b"", trust, frame.offset + frame.length)
        elif trust == Trust.UNVERIFIED:
            yield Piece(b"", trust, broken=True)

    def _verify(self, frame: Frame, room: int, cancel: CancelToken | None) -> tuple[str, int]:
        """Decode a frame for nothing: why it does not decode ("" when it does) and how much text came."""
        seen = 0
        try:
            for text in self._decoder.pieces(self._read_at, frame):
                check(cancel)
                seen += len(text)
                if seen > room:
                    return _EXPANSION, seen
        except zstandard.ZstdError as error:
            return "checksum" if "checksum" in str(error) else "undecodable", seen
        return "", seen

    def _delimit(self, frame: Frame, end: int, trials: _Trials, cancel: CancelToken | None) -> Frame:
        """A broken frame, cut where a sound frame begins inside it (or right at the end that it claims)."""
        place = frame.offset + (1 if frame.fault and frame.fault != _TORN else len(MAGIC))
        limit = min(end, frame.offset + frame.length + len(MAGIC) - 1)
        while trials.left:
            trials.tries -= 1
            place = self._next_magic(place, limit, cancel)
            if place < 0:
                break
            first = next(scan_frames(self._read_at, place, end))
            if not first.fault and first.window <= self._decoder.window_max:
                cause, cost = self._verify(first, trials.text, cancel)
                trials.text -= cost
                if not cause:
                    return frame._replace(length=place - frame.offset)
            place += 1
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
