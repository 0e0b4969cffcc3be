"""Which events the timeline shows on which row: runs, opened folds, views. Pure; arrays, no object per event.

Every event has a class in the view that is shown: hidden, a row of its own, or part of a run of its kind that folds
into one row. Rows are found by bisection; opened folds hang below their row in a small tree.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import sub
from typing import NamedTuple

HIDDEN, SINGLE, CHUNK, BOUNDARY, RESUME = range(5)
"""Classes of an event in a view; everything above SINGLE folds with its neighbours of the same class."""

_SHOWN = bytes(0 if value == HIDDEN else 1 for value in range(256))
_STARTS_ALWAYS = bytes(1 if value == SINGLE else 0 for value in range(256))
_NONZERO = bytes(0 if value == 0 else 1 for value in range(256))

BLOCK = 1 << 15
"""Events arranged at a time. Calls into C hold the interpreter until they are through: a million events at once stop
the screen for 60 ms each, a block for two."""


class Span(NamedTuple):
    """The events of one row: so many of them from index `start` on."""

    start: int
    events: int


class FoldedRows:
    """Rows over a contiguous part of the log, one for each single event and one for each run."""

    __slots__ = ("_counts", "_end", "_last_class", "_starts")

    def __init__(self, classes: bytes = b"", offset: int = 0) -> None:
        """Rows for the events whose classes are given, the first of them at index `offset`."""
        self._starts = array("I")
        self._counts = array("I")
        self._end = offset
        self._last_class = HIDDEN
        self.extend(classes)

    def __len__(self) -> int:
        return len(self._starts)

    def span(self, row: int) -> Span:
        """The events of a row."""
        return Span(self._starts[row], self._counts[row])

    def find(self, event: int) -> int | None:
        """The row that holds an event, or None where the view hides it."""
        row = bisect_right(self._starts, event) - 1
        return row if row >= 0 and event < self._starts[row] + self._counts[row] else None

    def near(self, event: int) -> int:
        """The row that holds an event, else the first row after it (the last row when there is none)."""
        row = bisect_right(self._starts, event) - 1
        if row >= 0 and event < self._starts[row] + self._counts[row]:
            return row
        return min(row + 1, len(self._starts) - 1)

    def extend(self, classes: bytes) -> None:
        """Add events that follow the last one; a run goes on over the seam."""
        for at in range(0, len(classes), BLOCK):
            self._extend_block(classes[at : at + BLOCK])

    def _extend_block(self, classes: bytes) -> None:
        edges = array("I", compress(range(len(classes)), _row_starts(classes)))
        ends = edges[1:]
        ends.append(len(classes))
        lengths = array("I", map(sub, ends, edges))
        shown = bytes(map(classes.__getitem__, edges)).translate(_SHOWN)
        starts = array("I", compress(map(self._end.__add__, edges), shown))
        counts = array("I", compress(lengths, shown))
        if classes[0] > SINGLE and classes[0] == self._last_class and self._counts:
            self._counts[-1] += counts[0]
            del starts[0], counts[0]
        self._starts.extend(starts)
        self._counts.extend(counts)
        self._last_class = classes[-1]
        self._end += len(classes)

    def cut_back(self, event: int, last_class: int) -> None:
        """Forget the events from `event` on; `last_class` is the class of the event before it."""
        while self._starts and self._starts[-1] >= event:
            self._starts.pop()
            self._counts.pop()
        if self._starts:
            self._counts[-1] = min(self._counts[-1], event - self._starts[-1])
        self._end = min(self._end, event)
        self._last_class = last_class


class Singles:
    """Rows of one event each, by ascending index."""

    __slots__ = ("_events",)

    def __init__(self, events: Sequence[int]) -> None:
        self._events = events

    def __len__(self) -> int:
        return len(self._events)

    def span(self, row: int) -> Span:
        """The event of a row."""
        return Span(self._events[row], 1)

    def find(self, event: int) -> int | None:
        """The row of an event."""
        row = bisect_left(self._events, event)
        return row if row < len(self._events) and self._events[row] == event else None


def _row_starts(classes: bytes) -> bytes:
    """One byte for each event: whether a row (or a hidden stretch) starts there.

    Done on big integers and translate tables, a tenth of the time of a loop.
    """
    size = len(classes)
    if not size:
        return b""
    before = b"\xff" + classes[:-1]
    changed = (int.from_bytes(classes, "big") ^ int.from_bytes(before, "big")).to_bytes(size, "big").translate(_NONZERO)
    single = classes.translate(_STARTS_ALWAYS)
    return (int.from_bytes(changed, "big") | int.from_bytes(single, "big")).to_bytes(size, "big")


Rows = FoldedRows | Singles


class Place(NamedTuple):
    """What stands on a display row. `owner` names the fold that the row is part of: -1 for none."""

    span: Span
    depth: int
    owner: int
    opened: bool


@dataclass
class _Branch:
    rows: Rows
    depth: int
    owner: int
    opened: dict[int, _Branch] = field(default_factory=dict)

    def size(self) -> int:
        return len(self.rows) + sum(branch.size() for branch in self.opened.values())

    def locate(self, row: int) -> tuple[_Branch, int]:
        """The branch and the row in it for a row counted through everything that is open."""
        passed = 0
        for at in sorted(self.opened):
            if row <= at + passed:
                break
            branch = self.opened[at]
            size = branch.size()
            if row <= at + passed + size:
                return branch.locate(row - at - passed - 1)
            passed += size
        return self, row - passed

    def shown_row(self, row: int) -> int:
        """The other way: a row of this branch counted through everything that is open above it."""
        return row + sum(branch.size() for at, branch in self.opened.items() if at < row)


class TimelineRows:
    """Display rows of a timeline: the base rows and the folds that a person opened."""

    def __init__(self, rows: FoldedRows, prefix: FoldedRows | None = None, cut: int = 0) -> None:
        """`prefix` are the rows of the inherited prefix (`cut` events), shown as one folded row above the others."""
        self._base = _Branch(rows, 0, -1)
        self._prefix = _Branch(Singles([0]), 0, -2) if prefix is not None and cut else None
        self._prefix_rows = prefix
        self.cut = cut if self._prefix is not None else 0

    def __len__(self) -> int:
        return self._base.size() + (self._prefix.size() if self._prefix is not None else 0)

    @property
    def base(self) -> FoldedRows:
        """The rows without anything opened, for appending."""
        rows = self._base.rows
        assert isinstance(rows, FoldedRows)
        return rows

    def place(self, row: int) -> Place:
        """What stands on a row."""
        branch, at = self._locate(row)
        if branch is self._prefix:
            return Place(Span(0, self.cut), 0, -2, bool(branch.opened))
        return Place(branch.rows.span(at), branch.depth, branch.owner, at in branch.opened)

    def is_prefix(self, row: int) -> bool:
        """Whether a row is the folded inherited prefix."""
        return self._prefix is not None and row == 0

    def open(self, row: int, children: Rows, *, indent: bool = True) -> None:
        """Open a row: its children stand below it from now on."""
        branch, at = self._locate(row)
        if at not in branch.opened and len(children):
            owner = branch.rows.span(at).start
            branch.opened[at] = _Branch(children, branch.depth + indent, owner)

    def open_prefix(self) -> None:
        """Open the inherited prefix."""
        if self._prefix is not None and self._prefix_rows is not None and not self._prefix.opened:
            self._prefix.opened[0] = _Branch(self._prefix_rows, 0, -1)

    def close(self, row: int) -> int | None:
        """Close the fold that a row opens or stands in. The row that stays, or None where nothing is open."""
        branch, at = self._locate(row)
        if at in branch.opened:
            del branch.opened[at]
            return row
        for parent, opened_at in self._branches():
            if parent.opened.get(opened_at) is branch:
                del parent.opened[opened_at]
                return self._display(parent, opened_at)
        return None

    def row_of(self, event: int, owner: int | None = None) -> int | None:
        """The row of an event. With `owner` only in that fold; without it the innermost fold in log order wins."""
        best: tuple[int, int] | None = None
        for branch, row in self._occurrences(event):
            if owner is not None and branch.owner != owner:
                continue
            shown = self._display(branch, row)
            narrow = branch.rows.span(row).events
            if best is None or narrow < best[0]:
                best = (narrow, shown)
        return best[1] if best else None

    def row_near(self, event: int) -> int:
        """The row of an event, or the nearest row after it where the view hides it."""
        found = self.row_of(event)
        if found is not None:
            return found
        if event < self.cut:
            return 0
        return self._display(self._base, self.base.near(event)) if len(self.base) else 0

    def hides_in_prefix(self, event: int) -> bool:
        """Whether an event is only inside the folded inherited prefix."""
        return self._prefix is not None and event < self.cut and not self._prefix.opened

    def cut_back(self, event: int, last_class: int) -> None:
        """Forget the events from `event` on; what is open below the last rows closes."""
        self.base.cut_back(event, last_class)
        last = len(self.base) - 1
        self._base.opened = {at: branch for at, branch in self._base.opened.items() if at < last}

    def append(self, classes: bytes) -> None:
        """Add events at the end; the last row closes when it may become part of a longer run."""
        if len(self.base) and len(self.base) - 1 in self._base.opened and self.base.span(len(self.base) - 1).events > 1:
            del self._base.opened[len(self.base) - 1]
        self.base.extend(classes)

    def _locate(self, row: int) -> tuple[_Branch, int]:
        if self._prefix is not None:
            size = self._prefix.size()
            if row < size:
                return self._prefix.locate(row)
            row -= size
        return self._base.locate(row)

    def _occurrences(self, event: int) -> Iterator[tuple[_Branch, int]]:
        stack = [self._base]
        if self._prefix is not None:
            if event < self.cut:
                yield self._prefix, 0
            stack.extend(self._prefix.opened.values())
        while stack:
            branch = stack.pop()
            row = branch.rows.find(event)
            if row is not None:
                yield branch, row
            stack.extend(branch.opened.values())

    def _branches(self) -> Iterator[tuple[_Branch, int]]:
        stack = [self._base] if self._prefix is None else [self._prefix, self._base]
        while stack:
            branch = stack.pop()
            for at, child in list(branch.opened.items()):
                yield branch, at
                stack.append(child)

    def _display(self, branch: _Branch, row: int) -> int:
        """The display row of a row in a branch."""
        shown = branch.shown_row(row)
        while branch is not self._base and branch is not self._prefix:
            for parent, at in self._branches():
                if parent.opened.get(at) is branch:
                    shown = parent.shown_row(at) + 1 + shown
                    branch = parent
                    break
            else:
                raise LookupError("The fold is closed.")
        if branch is self._base and self._prefix is not None:
            shown += self._prefix.size()
        return shown
