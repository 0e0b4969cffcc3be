"""Withheld rows on their way into the index: they are found by searching too, and told apart from events."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest_core.formats.reader import LogReader, StoredRow
from palimpsest_core.log.text import Registry
from palimpsest_core.log.withheld import withheld_text
from palimpsest_core.model.event import Surface
from palimpsest_core.model.search import WITHHELD_FROM
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.sync.digest import LAST_SEQ

MOST_CHARS = 32_000_000
"""So much text (characters) of the withheld rows of one log is indexed; `WithheldRows.left_out` counts the rest."""


class WithheldRows:
    """The documents of the withheld rows of one log, gathered while it is read.

    `known`: what `saved` was when reading stopped before; documents of earlier rows are in the index then.
    """

    def __init__(self, registry: Registry, known: tuple[int, int, int] | None = None) -> None:
        self._registry = registry
        self._documents: list[IndexDocument] = []
        self._next_line, self._chars, self.left_out = known or (0, 0, 0)

    @property
    def saved(self) -> tuple[int, int, int]:
        """From where the withheld rows can be gone on with: the next line, and how much was taken and left out."""
        return self._next_line, self._chars, self.left_out

    def pass_by(self, next_line: int) -> None:
        """None of the rows before this line is withheld."""
        self._next_line = next_line

    def push_all(self, reader: LogReader, rows: Iterable[StoredRow]) -> None:
        """Take those of the next rows that are withheld."""
        for row in rows:
            self._next_line = row.line + 1
            if not row.withheld or row.length < 3:
                continue
            position = WITHHELD_FROM + row.line
            if self._chars + row.length > MOST_CHARS or position > LAST_SEQ:
                self.left_out += 1
                continue
            text = withheld_text(reader.line_of(row), self._registry)
            if text:
                self._chars += len(text)
                where = Surface.WITHHELD.value
                self._documents.append(IndexDocument(position, row.type, row.time, where, text, row.offset, row.length))

    def counted_to(self, line: int) -> None:
        """The rows before `line` that were not pushed were only counted: a reader tells no endless number of them."""
        self._next_line = max(self._next_line, line)

    def documents(self, next_seq: int) -> list[IndexDocument]:
        """What to index of a log with so many events; nothing where these take up the numbers."""
        return self._documents if next_seq < WITHHELD_FROM else []
