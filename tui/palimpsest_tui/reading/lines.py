"""Lines of styled text, wrapped to a width, and documents made of them. Pure.

A line is a list of pieces; a piece is a text and the name of its style (a component class of the inspector, or
nothing).
All text in here is printable already.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from rich.cells import cell_len, get_character_cell_size

from palimpsest_core import printable


class Piece(NamedTuple):
    """Text in one style."""

    text: str
    style: str = ""


Line = list[Piece]


class Link(NamedTuple):
    """Where a line leads: an event of this session, or of another one."""

    seq: int | None
    session_id: str | None = None


def plain(text: str, style: str = "") -> Line:
    """A line of one piece."""
    return [Piece(text, style)]


def text_of(line: Line) -> str:
    """The text of a line without its styles."""
    return "".join(piece.text for piece in line)


def wrap(line: Line, width: int, hang: int = 0) -> list[Line]:
    """`line` in lines of at most `width` cells, broken at spaces where possible; later lines are indented by `hang`."""
    text = text_of(line)
    if (text.isascii() and len(text) <= width) or cell_len(text) <= width:
        return [line]
    width = max(width, hang + 4, 2)
    cuts = _cuts(text, width, hang)
    lines: list[Line] = []
    for number, (start, end) in enumerate(cuts):
        part = _slice(line, start, end)
        lines.append([Piece(" " * hang), *part] if number and hang else part)
    return lines


def _cuts(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    """Where each wrapped line starts and ends; the spaces at a break belong to neither."""
    cuts: list[tuple[int, int]] = []
    start, room = 0, width
    size = len(text)
    while start < size:
        end, used, space = start, 0, -1
        while end < size:
            char = text[end]
            cells = 1 if char < "\u0300" else get_character_cell_size(char)
            if used + cells > room:
                break
            if char == " ":
                space = end
            used += cells
            end += 1
        if end >= size:
            cuts.append((start, size))
            break
        if text[end] == " ":
            space = end
        if space > start and space - start > room // 3:
            cuts.append((start, space))
            start = space + 1
        else:
            end = max(end, start + 1)
            cuts.append((start, end))
            start = end
        room = width - hang
    return cuts or [(0, 0)]


def _slice(line: Line, start: int, end: int) -> Line:
    part: Line = []
    at = 0
    for piece in line:
        stop = at + len(piece.text)
        if stop > start and at < end:
            part.append(Piece(piece.text[max(0, start - at) : end - at], piece.style))
        at = stop
        if at >= end:
            break
    return part


class Block(Protocol):
    """Some lines of a document."""

    def __len__(self) -> int: ...

    def line(self, number: int) -> Line:
        """A line by its number."""
        ...


class FixedBlock:
    """Lines that are there already."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, number: int) -> Line:
        """A line by its number."""
        return self._lines[number]


class LongBlock:
    """A long text whose lines are cut when they are drawn; wrapped at the cell, not at the word.

    Two arrays say where each screen line starts, so that a text of megabytes costs eight bytes a line beside itself.
    """

    def __init__(
        self, text: str, width: int, *, wrapped: bool, style: str = "", tick: Callable[[], None] | None = None
    ):
        self._text = printable(text).replace("\t", "    ")
        self._style = style
        self._starts = array("I")
        self._ends = array("I")
        self._fill(max(width, 4), wrapped, tick)

    def _fill(self, width: int, wrapped: bool, tick: Callable[[], None] | None) -> None:
        text, size, at = self._text, len(self._text), 0
        count = 0
        while at <= size:
            end = text.find("\n", at)
            end = size if end < 0 else end
            if at == size and count:
                break
            if not wrapped or end - at <= width // 2:
                self._add(at, end)
            elif (line := text[at:end]).isascii():
                for start in range(at, max(end, at + 1), width):
                    self._add(start, min(start + width, end))
            else:
                for start, stop in _cell_cuts(line, width):
                    self._add(at + start, at + stop)
            at = end + 1
            count += 1
            if tick is not None and count % 2000 == 0:
                tick()

    def _add(self, start: int, end: int) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def __len__(self) -> int:
        return len(self._starts)

    def line(self, number: int) -> Line:
        """A line by its number."""
        return [Piece(self._text[self._starts[number] : self._ends[number]], self._style)]


def _cell_cuts(line: str, width: int) -> Iterable[tuple[int, int]]:
    start, used = 0, 0
    for at, char in enumerate(line):
        cells = 1 if char < "\u0300" else get_character_cell_size(char)
        if used + cells > width:
            yield start, at
            start, used = at, 0
        used += cells
    yield start, len(line)


class Document:
    """What the inspector shows: blocks of lines, links on some lines, and the text that `y` copies."""

    def __init__(
        self,
        blocks: Sequence[Block],
        *,
        links: dict[int, Link] | None = None,
        copy_text: str = "",
        has_cursor: bool = False,
        first_line: int = 0,
    ) -> None:
        """`first_line` is where reading starts (the head of facts above it may scroll away)."""
        self._blocks = [block for block in blocks if len(block)]
        self._edges: list[int] = []
        total = 0
        for block in self._blocks:
            self._edges.append(total)
            total += len(block)
        self._total = total
        self.links = links or {}
        self.copy_text = copy_text
        self.has_cursor = has_cursor
        self.first_line = first_line

    def __len__(self) -> int:
        return self._total

    def line(self, number: int) -> Line:
        """A line by its number."""
        block = bisect_right(self._edges, number) - 1
        return self._blocks[block].line(number - self._edges[block])

    def fold(self, number: int) -> bool | None:
        """Close or open what starts on a line. The new state (open is True), or None where nothing folds."""
        del number
        return None


EMPTY = Document(())
