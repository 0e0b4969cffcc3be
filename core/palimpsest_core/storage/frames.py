"""Zstandard frames: where they begin and end, found without decoding them; and bounded decoding of one frame.

Only frame and block headers are looked at (RFC 8878, sections 3.1.1 and 3.1.2), so a scan costs a few per cent of a
decode.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
MAGIC_NUMBER = 0xFD2FB528
SKIPPABLE_LOW = 0x184D2A50
SKIPPABLE_HIGH = 0x184D2A5F
MAX_BLOCK = 128 << 10
MAX_HEADER = 18
"""The longest frame header with its magic number."""

_READ = 1 << 20
_RUN = 64 << 10
_PLAIN_HEADERS = [
    0 if b & 0x1B else 5 + (0 if b & 0x20 else 1) + (1 if b & 0xE0 == 0x20 else (0, 2, 4, 8)[b >> 6])
    for b in range(256)
]
"""By frame descriptor: the length of a header without dictionary or unknown bits, else 0."""
_WINDOWS = [(1 << (10 + (b >> 3))) + ((1 << (10 + (b >> 3))) >> 3) * (b & 7) for b in range(256)]
_WHOLE_FRAME = 1 << 20

ReadAt = Callable[[int, int], bytes]
"""`read_at(offset, length)`: stored bytes, fewer at the end of the file."""


class Frame(NamedTuple):
    """One frame of a file. `length` counts stored bytes, header and checksum included; for a torn frame, what is there.

    `bound` is the most it can decode to (or claims to, if that is more), `window` what decoding needs in memory
    (bytes). `fault` is "" for a frame that is whole, "torn" for one cut by the end of the file, "bad-magic", "reserved"
    (a reserved bit or block type) or "dictionary" for one that cannot be followed: then `length` is all that is left of
    the file.
    """

    offset: int
    length: int
    bound: int
    window: int
    checksum: bool
    skippable: bool
    fault: str


def _header(data: bytes, at: int) -> tuple[int, int, int, bool, str] | None:
    """`(header length, window, claimed text size, has checksum, fault)` of the frame header at `at`, None when cut."""
    if at + 5 > len(data):
        return None
    descriptor = data[at + 4]
    if descriptor & 0x18:
        return 0, 0, 0, False, "reserved"
    single = bool(descriptor & 0x20)
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    size_bytes = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    length = 5 + (0 if single else 1) + dictionary + size_bytes
    if at + length > len(data):
        return None
    place = at + 5
    window = 0
    if not single:
        window = _WINDOWS[data[place]]
        place += 1
    if dictionary and any(data[place : place + dictionary]):
        return 0, 0, 0, False, "dictionary"
    place += dictionary
    claimed = int.from_bytes(data[place : place + size_bytes], "little") + (256 if size_bytes == 2 else 0)
    return length, claimed if single else window, claimed, bool(descriptor & 0x04), ""


class _Buffer:
    """A sliding piece of the file, so that block headers are met without holding what is between them."""

    def __init__(self, read_at: ReadAt, end: int) -> None:
        self._read_at = read_at
        self.end = end
        self.start = 0
        self.data = b""

    def reach(self, offset: int, length: int) -> int:
        """Make `length` bytes at `offset` available (fewer at the end); returns the index of `offset` in `data`."""
        index = offset - self.start
        if index < 0 or index + length > len(self.data):
            self.data = self._read_at(offset, max(0, min(_READ, self.end - offset)))
            self.start = offset
            index = 0
            if len(self.data) < length:
                self.end = offset + len(self.data)
        return index


def scan_frames(read_at: ReadAt, start: int, end: int) -> Iterator[Frame]:
    """The frames between two offsets of a file, in order, without decoding anything.

    A frame with a fault is the last one. Fewer than four bytes at the end count as torn.
    """
    buffer = _Buffer(read_at, end)
    offset = start
    while offset < buffer.end:
        frame = _scan_one(buffer, offset)
        if frame is None:
            return
        yield frame
        if frame.fault:
            return
        offset += frame.length


class Run(NamedTuple):
    """Whole small frames in a row, of one block each: the stored bytes of all of them."""

    offset: int
    data: bytes


def scan_runs(read_at: ReadAt, start: int, end: int) -> Iterator[Run | Frame]:
    """As `scan_frames`, with small frames gathered into runs of about 64 KB.

    Live logs are made of thousands of tiny frames; measured this way a frame costs 0.6 us instead of 4.7.
    """
    buffer = _Buffer(read_at, end)
    offset = start
    while offset < buffer.end:
        index = buffer.reach(offset, MAX_HEADER + 3)
        data = buffer.data
        place = _run_end(data, index, min(len(data), index + _RUN))
        if place > index:
            yield Run(offset, data[index:place])
            offset += place - index
            continue
        frame = _scan_one(buffer, offset)
        if frame is None:
            return
        yield frame
        if frame.fault:
            return
        offset += frame.length


def _run_end(data: bytes, place: int, limit: int, at_most: int = 1 << 30) -> int:
    """Where the whole one-block frames that begin at `place` end, not past `limit` and not more than `at_most`."""
    while at_most and place + MAX_HEADER < limit and data.startswith(MAGIC, place):
        at_most -= 1
        descriptor = data[place + 4]
        length = _PLAIN_HEADERS[descriptor]
        if not length:
            break
        block = place + length
        head = data[block] | data[block + 1] << 8 | data[block + 2] << 16
        kind = head & 7
        if kind == 5 or kind == 1:  # the last block: compressed, or stored as it is
            after = block + 3 + (head >> 3)
        elif kind == 3:  # one byte repeated
            after = block + 4
        else:
            break
        if descriptor & 4:
            after += 4
        if after > limit:
            break
        place = after
    return place


def _scan_one(buffer: _Buffer, offset: int) -> Frame | None:
    index = buffer.reach(offset, MAX_HEADER)
    data = buffer.data
    rest = buffer.end - offset
    if rest <= 0:
        return None
    if rest < 4:
        return Frame(offset, rest, 0, 0, False, False, "torn")
    if data[index : index + 4] != MAGIC:
        number = int.from_bytes(data[index : index + 4], "little")
        if not SKIPPABLE_LOW <= number <= SKIPPABLE_HIGH:
            return Frame(offset, rest, 0, 0, False, False, "bad-magic")
        length = 8 + int.from_bytes(data[index + 4 : index + 8], "little")
        if rest < 8 or length > rest:
            return Frame(offset, rest, 0, 0, False, True, "torn")
        return Frame(offset, length, 0, 0, False, True, "")
    head = _header(data, index)
    if head is None:
        return Frame(offset, rest, 0, 0, False, False, "torn")
    length, window, claimed, checksum, fault = head
    if fault:
        return Frame(offset, rest, 0, window, checksum, False, fault)
    place = offset + length
    block_limit = min(window, MAX_BLOCK)
    bound = 0
    while True:
        index = place - buffer.start
        if index + 3 > len(buffer.data):
            index = buffer.reach(place, 3)
        if place + 3 > buffer.end:
            return Frame(offset, buffer.end - offset, bound + MAX_BLOCK, window, checksum, False, "torn")
        data = buffer.data
        head24 = data[index] | data[index + 1] << 8 | data[index + 2] << 16
        kind = (head24 >> 1) & 3
        size = head24 >> 3
        if kind == 3:
            return Frame(offset, buffer.end - offset, bound, window, checksum, False, "reserved")
        if kind == 1:
            place += 4
            bound += size
        else:
            place += 3 + size
            bound += size if kind == 0 else block_limit
        if head24 & 1:
            break
    if checksum:
        place += 4
    if place > buffer.end:
        return Frame(offset, buffer.end - offset, bound, window, checksum, False, "torn")
    return Frame(offset, place - offset, max(bound, claimed), window, checksum, False, "")


class _Decompressors(threading.local):
    """One decompressor for each thread and window limit: making one costs more than decoding a small frame. And room
    for the text of a run: a megabyte that is new each time costs as much as decoding into it."""

    def __init__(self) -> None:
        self.by_window: dict[int, zstandard.ZstdDecompressor] = {}
        self._room: memoryview | None = None

    def of(self, window_max: int) -> zstandard.ZstdDecompressor:
        found = self.by_window.get(window_max)
        if found is None:
            found = self.by_window[window_max] = _decompressor(window_max)
        return found

    @property
    def room(self) -> memoryview:
        if self._room is None:
            self._room = memoryview(bytearray(_WHOLE_FRAME))
        return self._room


_DECOMPRESSORS = _Decompressors()


def _decompressor(window_max: int) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=max(window_max, 1 << 10))


class FrameDecoder:
    """Decodes frames in bounded pieces; `window_max` is the largest window (bytes) that will be allocated for one.

    Any thread may use it.
    """

    def __init__(self, window_max: int) -> None:
        self.window_max = window_max

    def whole(self, data: bytes, frame: Frame) -> bytes:
        """The text of a small whole frame in one go. Raises `zstandard.ZstdError` when it does not decode."""
        decompress = _DECOMPRESSORS.of(self.window_max).decompress
        try:
            return decompress(data, max_output_size=min(frame.bound, 8 * frame.length + 512) or 1)
        except zstandard.ZstdError:
            return decompress(data, max_output_size=frame.bound or 1)

    def run(self, data: bytes) -> bytes | None:
        """The text of a run of frames, None when it is longer than a megabyte. Raises `zstandard.ZstdError`."""
        room = _DECOMPRESSORS.room
        with _DECOMPRESSORS.of(self.window_max).stream_reader(data, read_across_frames=True) as reader:
            length = reader.readinto(room)
        return bytes(room[:length]) if length < _WHOLE_FRAME else None

    def pieces(self, read_at: ReadAt, frame: Frame, piece: int = 256 << 10) -> Iterator[bytes]:
        """The text of a frame, at most `piece` bytes at a time; a torn one gives what can be decoded of it.

        Raises `zstandard.ZstdError` where decoding fails; what was yielded before is good as far as is known.
        """
        source = _Range(read_at, frame.offset, frame.length)
        # A decompressor of its own: readers that share one must not be interleaved.
        decoder = _decompressor(self.window_max)
        with decoder.stream_reader(source, read_size=64 << 10, read_across_frames=False) as reader:  # type: ignore[arg-type]  # ty: ignore[invalid-argument-type]
            while True:
                data = reader.read(piece)
                if not data:
                    return
                yield data

    def readable(self, read_at: ReadAt, frame: Frame) -> Iterator[bytes]:
        """As `pieces`, ending quietly where decoding fails."""
        with contextlib.suppress(zstandard.ZstdError):
            yield from self.pieces(read_at, frame)

    @staticmethod
    def is_small(frame: Frame) -> bool:
        """Whether `whole` is right for it: then neither text nor stored bytes exceed a megabyte."""
        return frame.bound <= _WHOLE_FRAME and frame.length <= _WHOLE_FRAME


def first_frame(data: bytes, window_max: int) -> bytes | None:
    """The text of the small whole frame that `data` begins with; None when there is none or it does not decode."""
    end = _run_end(data, 0, len(data), at_most=1)
    try:
        return _DECOMPRESSORS.of(window_max).decompressobj().decompress(data[:end]) if end else None
    except zstandard.ZstdError:
        return None


class _Range:
    """A part of a file as a readable object for the decoder."""

    def __init__(self, read_at: ReadAt, offset: int, length: int) -> None:
        self._read_at = read_at
        self._offset = offset
        self._left = length

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._left:
            size = self._left
        if size <= 0:
            return b""
        data = self._read_at(self._offset, size)
        self._offset += len(data)
        self._left -= len(data)
        return data


def file_reader(descriptor: int) -> ReadAt:
    """`read_at` over an open file: `pread`, so that threads may share the descriptor."""

    def read_at(offset: int, length: int) -> bytes:
        data = os.pread(descriptor, length, offset)
        if len(data) == length or not data:
            return data
        parts = [data]
        got = len(data)
        while got < length:
            data = os.pread(descriptor, length - got, offset + got)
            if not data:
                break
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    return read_at
