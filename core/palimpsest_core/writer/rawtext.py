"""The stored text of one log as it is: decoded, never rebuilt from events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import zstandard

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.model.config import Config
from palimpsest_core.storage.frames import FrameDecoder, scan_frames
from palimpsest_core.storage.frametext import allowed_text
from palimpsest_core.storage.layout import ZSTD, LogFile
from palimpsest_core.storage.logbytes import LogBytes

_PIECE = 256 << 10


class FrameEnd(NamedTuple):
    """What was yielded since the last of these is sound (`fault` empty), or must not be used (`fault` says why).

    `byte_offset` is the place of the frame in the stored file.
    """

    fault: str
    byte_offset: int


def stored_text(log: LogBytes, size: int, window_max: int, cancel: CancelToken | None) -> Iterator[bytes | FrameEnd]:
    """The text of the first `size` stored bytes, in pieces, with a `FrameEnd` after each frame.

    A torn final frame is left out; a plain log is given as it is. Reading ends after the first fault: damage, or more
    text than `allowed_text`.
    """
    if log.encoding != ZSTD:
        yield from _plain(log, size, cancel)
        return
    decoder = FrameDecoder(window_max)
    room = allowed_text(size)
    for frame in scan_frames(log.read_at, 0, size):
        check(cancel)
        if frame.fault == "torn":
            return
        if frame.skippable:
            continue
        if frame.fault or frame.window > decoder.window_max:
            yield FrameEnd(frame.fault or "window", frame.offset)
            return
        try:
            if decoder.is_small(frame):
                pieces: Iterable[bytes] = (decoder.whole(log.read_at(frame.offset, frame.length), frame),)
            else:
                pieces = decoder.pieces(log.read_at, frame, _PIECE)
            for piece in pieces:
                check(cancel)
                room -= len(piece)
                if room < 0:
                    yield FrameEnd("expansion", frame.offset)
                    return
                yield piece
        except zstandard.ZstdError as error:
            yield FrameEnd("checksum" if "checksum" in str(error) else "undecodable", frame.offset)
            return
        yield FrameEnd("", frame.offset)


def _plain(log: LogBytes, size: int, cancel: CancelToken | None) -> Iterator[bytes | FrameEnd]:
    place = 0
    while place < size:
        check(cancel)
        piece = log.read_at(place, min(_PIECE, size - place))
        if not piece:
            break
        place += len(piece)
        yield piece
    yield FrameEnd("", 0)


def open_log(file: LogFile, config: Config) -> LogBytes:
    """The log opened for reading up to its present size. Raises OSError."""
    return LogBytes(file, window_max=config.window_max_bytes, row_max=config.row_max_bytes)
