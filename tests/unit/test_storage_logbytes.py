"""Frames and lines: the text of a log in whole lines, and any part of it again."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from logmaking import frame, frames, header, line, prompt, row, text_of, write

from palimpsest_core.storage.frames import Frame, FrameDecoder, Run, file_reader, scan_frames, scan_runs
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.storage.lines import Piece, TextChunk, Trust, split_lines
from palimpsest_core.storage.logbytes import LogBytes

SKIPPABLE = b"\x50\x2a\x4d\x18\x03\0\0\0abc"


def opened(file: LogFile, *, row_max: int = 1 << 20, window_max: int = 1 << 27) -> LogBytes:
    return LogBytes(file, window_max=window_max, row_max=row_max)


def read(file: LogFile, **limits: int) -> tuple[list[TextChunk], list[str]]:
    with opened(file, **limits) as log:
        chunks = list(log.chunks())
        return chunks, [fault.cause for fault in log.faults]


def at(data: bytes) -> list[Frame]:
    return list(scan_frames(lambda offset, length: data[offset : offset + length], 0, len(data)))


def test_a_scan_finds_frames_without_decoding_them() -> None:
    one, two = frame(header()), frame(row(0), size=True)
    large = zstandard.ZstdCompressor(write_checksum=True).compress(os.urandom(300_000))
    found = at(one + SKIPPABLE + two + large)
    assert [(f.offset, f.length, f.skippable, f.fault) for f in found] == [
        (0, len(one), False, ""),
        (len(one), len(SKIPPABLE), True, ""),
        (len(one) + len(SKIPPABLE), len(two), False, ""),
        (len(one) + len(SKIPPABLE) + len(two), len(large), False, ""),
    ]
    assert found[-1].bound >= 300_000


def test_runs_cover_the_same_bytes_as_frames(tmp_path: Path) -> None:
    data = frames([header(), *[prompt(n, "x" * n) for n in range(400)]], each=1)
    data += zstandard.ZstdCompressor().compress(os.urandom(300_000)) + frame(row(1), checksum=False)
    path = tmp_path / "f"
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        place = 0
        for item in scan_runs(file_reader(descriptor), 0, len(data)):
            assert item.offset == place
            place += len(item.data) if isinstance(item, Run) else item.length
        assert place == len(data)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        (b"A", "torn"),
        (b"ABC", "torn"),
        (b"ABCD", "bad-magic"),
        (b"\x28\xb5\x2f\xfd", "torn"),
        (b"\0\0\0\0", "bad-magic"),
    ],
)
def test_what_follows_the_last_frame_is_torn_or_foreign(tail: bytes, fault: str) -> None:
    found = at(frame(header()) + tail)
    assert [f.fault for f in found] == ["", fault]
    assert found[1].length == len(tail)


def test_every_cut_of_a_frame_is_torn() -> None:
    data = frame(*[row(n) for n in range(50)])
    for cut in range(1, len(data)):
        assert [f.fault for f in at(data[:cut])] == ["torn"]


def test_reserved_bits_and_dictionaries_are_faults() -> None:
    data = bytearray(frame(header()))
    data[4] |= 8
    assert at(bytes(data))[0].fault == "reserved"
    data[4] = data[4] & ~8 | 1
    data[6] |= 1
    assert at(bytes(data))[0].fault == "dictionary"


def test_a_frame_that_claims_a_huge_size_allocates_nothing(tmp_path: Path) -> None:
    honest = zstandard.ZstdCompressor(write_content_size=True).compress(b"x" * 70_000)
    assert honest[4] >> 6 == 2
    # The four bytes of the content size say three gigabytes now.
    place = 5 if honest[4] & 0x20 else 6
    liar = honest[:place] + (3 << 30).to_bytes(4, "little") + honest[place + 4 :]
    chunks, faults = read(write(tmp_path, frame(header()) + liar))
    assert faults in (["window"], ["undecodable"])
    assert sum(len(c.text) for c in chunks) < 100_000


def test_text_comes_in_whole_lines_from_both_encodings(tmp_path: Path) -> None:
    rows = [header(), *[prompt(n, "word " * 40) for n in range(3000)]]
    whole = text_of(rows)
    for file in (write(tmp_path, frames(rows)), write(tmp_path, whole, plain=True)):
        chunks, faults = read(file)
        assert b"".join(c.text for c in chunks) == whole
        assert all(c.text.endswith(b"\n") and c.trust == Trust.WHOLE and not c.cut for c in chunks)
        assert len(chunks) > 2
        assert chunks[-1].commit == file.stat.size
        assert faults == []


def test_reading_goes_on_from_any_commit(tmp_path: Path) -> None:
    rows = [header(), *[prompt(n, "word " * 40) for n in range(3000)]]
    whole = text_of(rows)
    for file in (write(tmp_path, frames(rows)), write(tmp_path, whole, plain=True)):
        with opened(file) as log:
            for chunk in list(log.chunks()):
                rest = b"".join(c.text for c in log.chunks(chunk.commit, chunk.end))
                assert rest == whole[chunk.end :]


def test_any_part_can_be_read_again(tmp_path: Path) -> None:
    rows = [header(), *[prompt(n, "word " * 40) for n in range(2000)]]
    whole = text_of(rows)
    chance = random.Random(7)
    for file in (write(tmp_path, frames(rows)), write(tmp_path, whole, plain=True)):
        with opened(file) as fresh:
            assert fresh.read_range(len(whole) - 100, 50) == whole[-100:-50]
            for _ in range(100):
                start, length = chance.randrange(len(whole)), chance.randrange(5000)
                assert fresh.read_range(start, length) == whole[start : start + length]


def test_what_was_mapped_stays_mapped_when_reading_goes_on(tmp_path: Path) -> None:
    rows = [header(), *[prompt(n, "word " * 40) for n in range(3000)]]
    whole = text_of(rows)
    with opened(write(tmp_path, frames(rows))) as log:
        places = [chunk for chunk in log.chunks() if chunk.commit > 0]
        middle = len(whole) * 5 // 8
        reads: list[int] = []
        real = log.read_at
        for chunk in (places[-1], places[-2]):
            list(log.chunks(chunk.commit, chunk.end))
            log._segments._read_at = lambda offset, length: (reads.append(offset), real(offset, length))[1]
            assert log.read_range(middle, 100) == whole[middle:][:100]
        assert min(reads) > 0


def test_parts_can_be_read_while_lines_are_streamed(tmp_path: Path) -> None:
    body = text_of([prompt(n, "word " * 40) for n in range(12_000)])
    whole = line(header()) + body
    with opened(write(tmp_path, frame(header()) + frame(body) + frame(row(0)))) as log:
        got = []
        for chunk in log.chunks():
            got.append(chunk.text)
            assert log.read_range(chunk.offset // 2, 100) == whole[chunk.offset // 2 :][:100]
        assert b"".join(got) == whole + line(row(0))


def test_a_huge_frame_is_spooled_for_random_access(tmp_path: Path) -> None:
    body = text_of([prompt(n, "word " * 40) for n in range(12_000)])
    assert len(body) > 3 << 20
    whole = line(header()) + body
    with opened(write(tmp_path, frame(header()) + frame(body))) as log:
        assert b"".join(c.text for c in log.chunks()) == whole
        for start in (0, 10, 1 << 20, len(whole) - 300):
            assert log.read_range(start, 250) == whole[start : start + 250]


def test_a_line_may_cross_frames_and_the_commit_waits_for_its_end(tmp_path: Path) -> None:
    text = line(row(0))
    file = write(tmp_path, frame(header()) + frame(text[:20]) + frame(text[20:]))
    chunks, faults = read(file)
    assert b"".join(c.text for c in chunks) == line(header()) + text
    assert faults == []
    cut = write(tmp_path, frame(header()) + frame(row(0)) + frame(text[:20]))
    chunks, faults = read(cut)
    assert faults == ["unended-frame"]
    assert chunks[-1].cut
    assert max(c.commit for c in chunks) <= len(frame(header()) + frame(row(0)))


def test_whole_lines_of_a_torn_frame_are_kept(tmp_path: Path) -> None:
    last = frame(row(1), row(2))
    for missing in range(1, 5):
        chunks, faults = read(write(tmp_path, frame(header()) + frame(row(0)) + last[:-missing]))
        assert faults == ["torn-frame"]
        assert [c.text for c in chunks if c.trust == Trust.TORN] == [text_of([row(1), row(2)])]
        assert max(c.commit for c in chunks) == len(frame(header()) + frame(row(0)))


def test_a_last_line_without_end_is_cut(tmp_path: Path) -> None:
    chunks, faults = read(write(tmp_path, text_of([header(), row(0)]) + b'{"type":', plain=True))
    assert (chunks[-1].text, chunks[-1].cut, chunks[-1].trust) == (b'{"type":', True, Trust.TORN)
    assert faults == ["torn-line"]


@pytest.mark.parametrize("where", ["checksum", "data", "magic"])
def test_behind_a_damaged_frame_nothing_is_trusted_and_nothing_lost(tmp_path: Path, where: str) -> None:
    parts = [frame(header()), *[frame(row(2 * n), row(2 * n + 1)) for n in range(4)]]
    bad = bytearray(parts[2])
    if where == "checksum":
        bad[-1] ^= 1
    elif where == "data":
        bad[12] ^= 0x55
    else:
        bad[0] = 0
    parts[2] = bytes(bad)
    chunks, faults = read(write(tmp_path, b"".join(parts)))
    good = text_of([header(), row(0), row(1)])
    assert b"".join(c.text for c in chunks if c.trust == Trust.WHOLE) == good
    later = b"".join(c.text for c in chunks if c.trust == Trust.UNVERIFIED)
    assert later.endswith(text_of([row(4), row(5), row(6), row(7)]))
    assert faults[0] in ("checksum", "undecodable", "bad-magic")
    assert max(c.commit for c in chunks) == len(parts[0]) + len(parts[1])


def test_a_damaged_huge_frame_is_noticed_before_its_text_is_believed(tmp_path: Path) -> None:
    body = bytearray(frame(*[prompt(n, os.urandom(30).hex() * 9) for n in range(9000)]))
    body[-1] ^= 1
    chunks, faults = read(write(tmp_path, frame(header()) + bytes(body)))
    assert faults == ["checksum"]
    assert [c.offset for c in chunks if c.trust == Trust.WHOLE] == [0]
    assert all(c.trust == Trust.UNVERIFIED for c in chunks[1:])


def test_a_frame_with_too_large_a_window_is_not_decoded(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=24, write_content_size=False)
    wide = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = wide.compress(line(row(0))) + wide.flush()
    chunks, faults = read(write(tmp_path, frame(header()) + data + frame(row(1))), window_max=1 << 22)
    assert faults == ["window"]
    assert [c.trust for c in chunks] == [Trust.WHOLE, Trust.UNVERIFIED]


def test_a_line_that_is_too_long_is_skipped_and_measured(tmp_path: Path) -> None:
    long = line(prompt(0, "x" * 900_000))
    for file in (
        write(tmp_path, frame(header()) + frame(long, row(1))),
        write(tmp_path, text_of([header(), long, row(1)]), plain=True),
    ):
        chunks, _ = read(file, row_max=300_000)
        oversize = [c for c in chunks if c.oversize]
        assert [(c.oversize, c.text) for c in oversize] == [(len(long), b"")]
        assert b"".join(c.text for c in chunks) == text_of([header(), row(1)])
        assert chunks[-1].end == len(line(header()) + long + line(row(1)))


def test_a_bomb_of_frames_is_decoded_in_bounded_pieces(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=False).compress(b"\n" * (8 << 20))
    assert len(bomb) < 2000
    with opened(write(tmp_path, frame(header()) + bomb * 3)) as log:
        sizes = [len(c.text) for c in log.chunks()]
    assert sum(sizes) == len(line(header())) + 3 * (8 << 20)
    assert max(sizes) < 2 << 20


def test_foreign_bytes_are_searched_for_frames_but_not_for_ever(tmp_path: Path) -> None:
    noise = b"\x28\xb5\x2f\xfd\xff" * 5000
    chunks, faults = read(write(tmp_path, frame(header()) + b"ABCDEFG" + frame(row(0)) + noise))
    assert faults[0] == "bad-magic"
    assert [c.text for c in chunks if c.trust == Trust.UNVERIFIED][:1] == [line(row(0))]


def test_a_file_is_read_by_its_content_when_its_name_lies(tmp_path: Path) -> None:
    rows = [header(), row(0)]
    wrong = write(tmp_path, text_of(rows))
    assert b"".join(c.text for c in read(wrong)[0]) == text_of(rows)
    other = write(tmp_path, frames(rows), plain=True)
    assert b"".join(c.text for c in read(other)[0]) == text_of(rows)


def test_pieces_of_any_size_give_the_same_lines() -> None:
    text = text_of([row(n) for n in range(50)]) + b"rest"
    for size in (1, 7, 100, 5000):
        pieces = [Piece(text[n : n + size]) for n in range(0, len(text), size)]
        chunks = list(split_lines(pieces, 0, 1 << 20))
        assert b"".join(c.text for c in chunks) == text
        assert [c.cut for c in chunks][-1]
        assert sum(c.cut for c in chunks) == 1


def test_decoders_of_one_thread_do_not_disturb_each_other(tmp_path: Path) -> None:
    body = os.urandom(2 << 20)
    data = zstandard.ZstdCompressor(write_checksum=True).compress(body)
    decoder = FrameDecoder(1 << 27)
    one, two = at(data)[0], at(data)[0]
    slices = zip(
        decoder.pieces(lambda o, n: data[o : o + n], one, 9999),
        decoder.pieces(lambda o, n: data[o : o + n], two, 9999),
        strict=True,
    )
    left, right = zip(*slices, strict=True)
    assert b"".join(left) == b"".join(right) == body


class Counted(bytes):
    """Bytes of which it is known how many are alive."""

    alive = 0

    def __new__(cls, value: bytes) -> Counted:
        cls.alive += 1
        return super().__new__(cls, value)

    def __del__(self) -> None:
        type(self).alive -= 1


def test_a_row_that_is_too_long_is_given_up_before_it_is_whole() -> None:
    def pieces() -> Iterator[Piece]:
        for _ in range(100):
            yield Piece(Counted(b"x" * 300))
            assert Counted.alive < 6
        yield Piece(b"x\nrest\n", end=99)

    skipped, rest = split_lines(pieces(), 0, 1000)
    assert (skipped.oversize, skipped.text, rest.text, rest.commit) == (30_002, b"", b"rest\n", 99)
