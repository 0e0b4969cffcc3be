"""A stored JSON line laid out for reading, every token as stored: numbers, escapes, key order, repeated keys.

The layout comes from a scan of the text itself, never from parsed values, so that `1.0`, `1e2`, `\\u0041` and a key
that stands twice are seen as they are. Objects and lists fold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from palimpsest_core import printable_line
from palimpsest_tui.reading.lines import Document, FixedBlock, Piece, plain

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Line

LAYOUT_MAX_CHARS = 400_000
"""A longer line is shown as stored: laying out runs at about 3 MB a second."""
_DEPTH_MAX = 400
_FOLD_AT = 60
_TOKEN = re.compile(r'[\s]*(?:([{}\[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}\[\],:"]+))', re.DOTALL)


class JsonRow(NamedTuple):
    """One laid-out line. `closes` is the row that ends what this row opens (the row itself when it opens nothing)."""

    depth: int
    line: Line
    closes: int
    members: int


class NotLaidOut(ValueError):
    """The text is no JSON, is too long, or is nested too deep: show it as stored."""


def lay_out(text: str) -> list[JsonRow]:
    """The rows of a JSON text. Raises `NotLaidOut`."""
    if len(text) > LAYOUT_MAX_CHARS:
        raise NotLaidOut("The line is too long to be laid out.")
    return _Layout(text).rows


class _Layout:
    def __init__(self, text: str) -> None:
        self.rows: list[JsonRow] = []
        self._text = text
        self._open: list[tuple[int, str, int]] = []  # (row, bracket, members)
        self._line: Line = []
        self._run()

    def _run(self) -> None:
        at, size = 0, len(self._text)
        expect_value = False
        while at < size:
            match = _TOKEN.match(self._text, at)
            if match is None:
                if self._text[at:].strip():
                    raise NotLaidOut("The line is not valid JSON.")
                break
            at = match.end()
            sign, string, bare = match.groups()
            if sign is not None:
                expect_value = self._sign(sign)
            elif string is not None:
                is_key = bool(self._open) and self._open[-1][1] == "{" and not expect_value
                self._line.append(Piece(printable_line(string), "json--key" if is_key else "json--string"))
                expect_value = False
            else:
                self._line.append(Piece(printable_line(bare), "json--value"))
                expect_value = False
        if self._open:
            raise NotLaidOut("The line ends inside an object or a list.")
        self._flush()

    def _sign(self, sign: str) -> bool:
        if sign in "{[":
            self._line.append(Piece(sign, "json--sign"))
            self._open.append((len(self.rows), sign, 0))
            if len(self._open) > _DEPTH_MAX:
                raise NotLaidOut("The line is nested too deep to be laid out.")
            self._flush(opening=True)
        elif sign in "}]":
            if not self._open or (self._open[-1][1] == "{") != (sign == "}"):
                raise NotLaidOut("The brackets of the line do not match.")
            if self._line:
                self._count()
            self._flush()
            row, _, members = self._open.pop()
            opened = self.rows[row]
            if row == len(self.rows) - 1:  # empty: {} or [] stay on one line
                self.rows.pop()
                self._line = [*opened.line, Piece(sign, "json--sign")]
            else:
                self.rows[row] = opened._replace(closes=len(self.rows), members=members)
                self._line = [Piece(sign, "json--sign")]
        elif sign == ",":
            self._line.append(Piece(",", "json--sign"))
            self._count()
            self._flush()
        else:
            self._line.append(Piece(": ", "json--sign"))
            return True
        return False

    def _count(self) -> None:
        if self._open:
            row, bracket, members = self._open[-1]
            self._open[-1] = (row, bracket, members + 1)

    def _flush(self, *, opening: bool = False) -> None:
        if self._line:
            number = len(self.rows)
            self.rows.append(JsonRow(len(self._open) - opening, self._line, number, 0))
            self._line = []


class JsonDocument(Document):
    """Laid-out JSON whose objects and lists fold; long ones start folded."""

    def __init__(self, head: list[Line], rows: list[JsonRow], copy_text: str) -> None:
        self._rows = rows
        self._head = head
        self._closed = {number for number, row in enumerate(rows) if row.closes - number > _FOLD_AT and row.depth > 1}
        self._shown: list[int] = []
        super().__init__([FixedBlock(head)], copy_text=copy_text, has_cursor=True, first_line=len(head))
        self._show()

    def _show(self) -> None:
        shown: list[int] = []
        number = 0
        while number < len(self._rows):
            shown.append(number)
            number = self._rows[number].closes + 1 if number in self._closed else number + 1
        self._shown = shown

    def __len__(self) -> int:
        return len(self._head) + len(self._shown)

    def line(self, number: int) -> Line:
        """A line by its number: two spaces for each level, a sign where it folds."""
        if number < len(self._head):
            return self._head[number]
        at = self._shown[number - len(self._head)]
        row = self._rows[at]
        if row.closes == at:
            return [Piece("  " * row.depth + "  "), *row.line]
        if at not in self._closed:
            return [Piece("  " * row.depth), Piece("- ", "line--dim"), *row.line]
        end = self._rows[row.closes].line
        inside = Piece(f" … {row.members} ", "line--dim")
        return [Piece("  " * row.depth), Piece("+ ", "line--strong"), *row.line, inside, *end]

    def fold(self, number: int) -> bool | None:
        """Close or open the object or list that starts on a line."""
        if number < len(self._head):
            return None
        at = self._shown[number - len(self._head)]
        if self._rows[at].closes == at:
            return None
        opened = at in self._closed
        if opened:
            self._closed.discard(at)
        else:
            self._closed.add(at)
        self._show()
        return opened


def stored_notice(why: str) -> Line:
    """The line that says why a stored line is shown as it is."""
    return plain(why, "line--dim")
