"""Random access to compressed text: which stored bytes hold which part of it, and the parts decoded last."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import IO

from palimpsest_core.storage.frames import FrameDecoder, ReadAt, scan_frames

_SEGMENT = 64 << 10
_SPOOL_FROM = 2 << 20
_CACHE_BYTES = 4 << 20


class Segments:
    """A map from text offsets to runs of frames of about 64 KB of text, and a small cache.

    A run with more text than 2 MB (one huge frame) is decoded once into an anonymous temporary file.
    """

    def __init__(self, read_at: ReadAt, decoder: FrameDecoder) -> None:
        self._read_at = read_at
        self._decoder = decoder
        self._byte_start = array("q")
        self._byte_end = array("q")
        self._text_start = array("q")
        self._text_end = array("q")
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._spool: IO[bytes] | None = None
        self._spooled: dict[int, int] = {}
        self._origin = (0, 0)
        self._alone: set[int] = set()

    def close(self) -> None:
        """Forget the cache and the spool."""
        self._cache.clear()
        self._spooled.clear()
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def begin(self, byte_offset: int, text_offset: int) -> None:
        """Reading starts at this place: forget what was known from there on, and everything if a hole would be left."""
        keep = bisect_right(self._text_end, text_offset)
        if keep < len(self._text_end) and self._text_start[keep] < text_offset:
            # The place lies inside a run of frames: that run now ends there.
            self._text_end[keep] = text_offset
            self._byte_end[keep] = byte_offset
            keep += 1
        if keep and (self._text_end[keep - 1], self._byte_end[keep - 1]) != (text_offset, byte_offset):
            keep = 0
        for kept in (self._byte_start, self._byte_end, self._text_start, self._text_end):
            del kept[keep:]
        self._cache.clear()
        self._spooled = {index: place for index, place in self._spooled.items() if index < keep}
        self._alone = {index for index in self._alone if index < keep}
        self._origin = (byte_offset, text_offset)

    def add(self, byte_start: int, byte_end: int, text_end: int, *, alone: bool = False) -> None:
        """The frame stored at `byte_start`..`byte_end` brought the text to `text_end`. Known frames are passed over.

        `alone`: it is broken, so that no other may be found by going on from it.
        """
        last = len(self._text_end) - 1
        if last < 0:
            text_start = self._origin[1]
        elif byte_end <= self._byte_end[last]:
            return
        else:
            text_start = self._text_end[last]
            fits = text_end - self._text_start[last] <= _SEGMENT and byte_start == self._byte_end[last]
            if fits and not alone and last not in self._alone:
                self._byte_end[last] = byte_end
                self._text_end[last] = text_end
                self._cache.pop(last, None)
                return
        if alone:
            self._alone.add(len(self._text_end))
        self._byte_start.append(byte_start)
        self._byte_end.append(byte_end)
        self._text_start.append(text_start)
        self._text_end.append(text_end)

    def covers(self, offset: int, length: int) -> bool:
        """Whether this part of the text can be read without more mapping."""
        return bool(self._text_end) and self._text_start[0] <= offset and offset + length <= self._text_end[-1]

    def resume(self, offset: int) -> tuple[int, int]:
        """`(stored offset, text offset)` from which frames are to be added so that `offset` will be covered."""
        if not self._text_end or offset < self._text_start[0]:
            self.begin(0, 0)
            return 0, 0
        return self._byte_end[-1], self._text_end[-1]

    def read(self, offset: int, length: int) -> bytes:
        """Text at `offset`, fewer than `length` bytes where the map ends."""
        parts: list[bytes] = []
        index = bisect_right(self._text_end, offset)
        while length > 0 and index < len(self._text_end):
            start = offset - self._text_start[index]
            if start < 0:
                break
            part = self._part(index, start, length)
            parts.append(part)
            offset += len(part)
            length -= len(part)
            index += 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _part(self, index: int, start: int, length: int) -> bytes:
        if self._text_end[index] - self._text_start[index] > _SPOOL_FROM:
            return self._from_spool(index, start, min(length, self._text_end[index] - self._text_start[index] - start))
        text = self._cache.get(index)
        if text is None:
            text = b"".join(self._decode(index))
            self._cache[index] = text
            while len(self._cache) > 1 and sum(map(len, self._cache.values())) > _CACHE_BYTES:
                self._cache.popitem(last=False)
        else:
            self._cache.move_to_end(index)
        return text[start : start + length]

    def _decode(self, index: int) -> Iterator[bytes]:
        for frame in scan_frames(self._read_at, self._byte_start[index], self._byte_end[index]):
            if not frame.skippable and frame.window <= self._decoder.window_max:
                yield from self._decoder.readable(self._read_at, frame)

    def _from_spool(self, index: int, start: int, length: int) -> bytes:
        if self._spool is None:
            import tempfile  # not before it is needed, which is hardly ever: it brings much along

            self._spool = tempfile.TemporaryFile(prefix="palimpsest-")  # noqa: SIM115 (closed by close())
        if index not in self._spooled:
            place = self._spool.seek(0, 2)
            for text in self._decode(index):
                self._spool.write(text)
            self._spooled[index] = place
        self._spool.seek(self._spooled[index] + start)
        return self._spool.read(length)
