"""Mutants of session logs: bytes, frames, rows and values put wrong, each from a number alone."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import zstandard
from hostilejson import spoil

from palimpsest_core.storage.layout import log_file_name, parse_log_name
from palimpsest_core.writer.demo import write_demo

HEALTHY = "healthy-neighbour"
"""The id of the sound log beside a mutant; some mutants claim it."""

_TESTS = Path(__file__).parent
_LARGEST = 32 << 10


class Seed(NamedTuple):
    """A sound log: the generation of its name, and its lines, header first, each with its line feed."""

    name: str
    generation: int
    lines: tuple[bytes, ...]


class Mutant(NamedTuple):
    """A log file's name and content. `text` is what it decodes to where that is beyond doubt, else None.

    `intact`: lines of frames that were not touched, which a reader may show or withhold but must not lose.
    """

    seed: str
    kinds: str
    name: str
    content: bytes
    text: bytes | None
    intact: tuple[bytes, ...] = ()


def text_of_stored(content: bytes) -> bytes:
    """The text of a sound log file, whatever its encoding. Raises `zstandard.ZstdError`."""
    if not content.startswith(b"\x28\xb5\x2f\xfd"):
        return content
    with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as reader:
        return reader.read()


@cache
def seeds() -> dict[int, list[Seed]]:
    """Sound logs of every generation: the samples, the corpus of generations, the demo."""
    found: dict[int, list[Seed]] = {number: [] for number in range(6)}

    def add(name: str, path: str, content: bytes) -> None:
        parsed = parse_log_name(path)
        if parsed is None:
            return
        text = text_of_stored(content)
        lines = tuple(line + b"\n" for line in text.split(b"\n")[:-1])
        if len(lines) > 3 and len(text) < _LARGEST and all(line.startswith(b"{") for line in lines):
            found[min(parsed[0], 5)].append(Seed(name, parsed[0], lines))

    for path in sorted((_TESTS / "data" / "samples").glob("*/*")):
        add(f"samples/{path.parent.name}", path.name, path.read_bytes())
    with tarfile.open(_TESTS / "conformance" / "generations" / "roots.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                try:
                    add(member.name, member.name.rsplit("/", 1)[-1], file.read())
                except zstandard.ZstdError:
                    continue  # a log that is damaged already is no seed
    with TemporaryDirectory() as folder:
        demo = write_demo(Path(folder) / "sessions", now=1_786_000_000_000)
        for path in sorted(demo.root.rglob("session*")):
            if path.is_file() and demo.damaged_id not in str(path):
                add(f"demo/{path.parent.name}", path.name, path.read_bytes())
    return found


def frame(text: bytes, *, checksum: bool = True) -> bytes:
    """One frame of text."""
    return zstandard.ZstdCompressor(level=1, write_checksum=checksum).compress(text)


def mutant(generation: int, number: int) -> Mutant:
    """Mutant `number` of a generation; the same two numbers give the same one."""
    random = Random(f"{generation}/{number}")
    pool = seeds()[generation]
    # Every other mutant is of the hand-written sample, which is small and holds everything.
    seed = pool[0] if random.random() < 0.4 else random.choice(pool)
    lines = list(seed.lines)
    kinds = []
    how = random.random()
    if how < 0.45:
        kinds.append(_spoil_values(lines, random))
    if 0.35 < how < 0.65:
        kinds.append(_mutate_rows(lines, random, seed))
    if random.random() < 0.25:
        name = log_file_name(seed.generation, "plain")
        content = b"".join(lines)
        if how >= 0.65:
            kind, content = _mutate_bytes(content, random)
            kinds.append(kind)
        return Mutant(seed.name, "+".join(kinds), name, content, content)
    name = log_file_name(seed.generation, "zstd")
    groups = _group(lines, random)
    if how < 0.65:
        content = b"".join(frame(group) for group in groups)
        return Mutant(seed.name, "+".join(kinds), name, content, b"".join(groups))
    if how < 0.82:
        kind, content, intact = _mutate_stored(groups, random)
        return Mutant(seed.name, kind, name, content, None, intact)
    return _mutate_frames(seed, name, groups, random)


def _group(lines: Sequence[bytes], random: Random) -> list[bytes]:
    each = random.choice((1, 2, 7, 1000))
    return [lines[0], *(b"".join(lines[at : at + each]) for at in range(1, len(lines), each))]


def _spoil_values(lines: list[bytes], random: Random) -> str:
    for _ in range(random.choice((1, 1, 2, 5))):
        at = 0 if random.random() < 0.15 else random.randrange(len(lines))
        try:
            lines[at] = spoil(lines[at], random)
        except (ValueError, RecursionError):
            continue  # a line that was spoilt before
    return "value"


def _mutate_rows(lines: list[bytes], random: Random, seed: Seed) -> str:
    kind = random.choice(("drop", "twice", "swap", "block", "splice", "cut", "junk", "blank", "lane", "again", "claim"))
    at, to = sorted(random.randrange(len(lines)) for _ in range(2))
    if kind == "drop":
        del lines[at : to if random.random() < 0.3 else at + 1]
    elif kind == "twice":
        lines[at:at] = lines[at : at + random.choice((1, 3))]
    elif kind == "swap":
        lines[at], lines[to] = lines[to], lines[at]
    elif kind == "block":
        block = lines[at:to]
        del lines[at:to]
        place = random.randrange(len(lines) + 1)
        lines[place:place] = block
    elif kind == "splice":
        other = random.choice(seeds()[random.randrange(6)]).lines
        start = random.randrange(len(other))
        lines[at:to] = other[start : start + random.randrange(1, 20)]
    elif kind == "cut":
        lines[at] = lines[at][: random.randrange(len(lines[at]))] + random.choice((b"", b"\n", b"\r\n"))
    elif kind == "junk":
        lines[at:at] = [random.randbytes(random.randrange(1, 300)).replace(b"\n", b"") + b"\n"]
    elif kind == "blank":
        lines[at:at] = [
            random.choice((b"\n", b" \n", b"\r\n", b"\x00\x00\n", b"null\n", b"[]\n", b"{}\n", b"\xef\xbb\xbf\n"))
        ]
    elif kind == "lane":
        lines += lines[at:]  # a second writer that began at an earlier state
    elif kind == "claim":
        lines[0] = re.sub(rb'"id":"[^"]*"', f'"id":"{HEALTHY}"'.encode(), lines[0])
    else:
        lines += lines  # the whole log once more, header included
    if not lines:
        lines.append(seed.lines[0])
    return f"rows-{kind}"


def _mutate_bytes(data: bytes, random: Random) -> tuple[str, bytes]:
    kind = random.choice(("truncate", "flip", "bits", "delete", "twice", "insert", "swap", "zero", "splice"))
    at = random.randrange(len(data))
    end = min(len(data), at + random.choice((1, 2, 16, 300, 5000)))
    if kind == "truncate":
        return kind, data[:at]
    changed = bytearray(data)
    if kind == "flip":
        for _ in range(random.choice((1, 1, 3, 20))):
            changed[random.randrange(len(data))] = random.randrange(256)
    elif kind == "bits":
        changed[at] ^= 1 << random.randrange(8)
    elif kind == "delete":
        del changed[at:end]
    elif kind == "twice":
        changed[end:end] = data[at:end]
    elif kind == "insert":
        changed[at:at] = random.randbytes(random.choice((1, 4, 200)))
    elif kind == "swap":
        middle = (at + end) // 2
        changed[at:end] = data[middle:end] + data[at:middle]
    elif kind == "zero":
        changed[at:end] = bytes(end - at)
    else:
        other = random.choice(seeds()[random.randrange(6)])
        piece = frame(b"".join(other.lines)) if random.random() < 0.5 else b"".join(other.lines)
        start = random.randrange(len(piece))
        changed[at:end] = piece[start : start + random.choice((10, 400, 9000))]
    return kind, bytes(changed)


def _mutate_stored(groups: list[bytes], random: Random) -> tuple[str, bytes, tuple[bytes, ...]]:
    """Bytes of a compressed log changed; the frames before and after the change are intact."""
    stored = [frame(group) for group in groups]
    whole = b"".join(stored)
    kind, content = _mutate_bytes(whole, random)
    same = next((n for n, (a, b) in enumerate(zip(whole, content)) if a != b), min(len(whole), len(content)))
    intact: list[bytes] = []
    place = 0
    for group, piece in zip(groups, stored):
        place += len(piece)
        if place <= same:
            intact += _lines(group)
    return f"stored-{kind}", content, tuple(intact[1:])


def _mutate_frames(seed: Seed, name: str, groups: list[bytes], random: Random) -> Mutant:
    """Frames dropped, doubled, swapped, broken, or with something between them; and rows that cross frames."""
    kind = random.choice(
        ("drop", "twice", "swap", "flip", "skippable", "junk", "bare", "cross", "empty", "window", "torn")
    )
    at, to = sorted(random.randrange(len(groups)) for _ in range(2))
    stored = [frame(group) for group in groups]
    sound = True
    if kind == "drop":
        del stored[at], groups[at]
    elif kind == "twice":
        stored.insert(at, stored[at])
        groups.insert(at, groups[at])
    elif kind == "swap":
        stored[at], stored[to] = stored[to], stored[at]
        groups[at], groups[to] = groups[to], groups[at]
    elif kind == "skippable":
        stored.insert(at, (0x184D2A50 + random.randrange(16)).to_bytes(4, "little") + b"\x05\x00\x00\x00hello")
    elif kind == "bare":
        stored[at] = frame(groups[at], checksum=False)
    elif kind == "empty":
        stored.insert(at, frame(b""))
    elif kind == "cross":
        text = b"".join(groups[1:])
        each = random.randrange(1, 400)
        pieces = [text[start : start + each] for start in range(0, len(text), each)]
        stored = [stored[0], *map(frame, pieces)]
    else:
        sound = False
        broken = bytearray(stored[at])
        if kind == "flip":
            broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
        elif kind == "junk":
            broken[:0] = random.randbytes(random.randrange(1, 50))
        elif kind == "window":
            broken[5] = 0xF8  # a window of two terabytes
        else:
            del broken[random.randrange(len(broken)) :]
        stored[at] = bytes(broken)
        intact = [line for n, group in enumerate(groups) if n != at for line in _lines(group)]
        # Without its header a log is none, and which of its lines are rows is nobody's to say.
        return Mutant(seed.name, f"frames-{kind}", name, b"".join(stored), None, tuple(intact[1:]) if at else ())
    return Mutant(seed.name, f"frames-{kind}", name, b"".join(stored), b"".join(groups) if sound else None)


def _lines(text: bytes) -> list[bytes]:
    return [line + b"\n" for line in text.split(b"\n")[:-1]]
