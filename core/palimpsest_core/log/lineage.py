"""How a session came to be, and how much of its log it took over (spec: session format, section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from palimpsest_core.log.shapes import member
from palimpsest_core.model.event import Event
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Lineage


def lineage_of(header: Header) -> Lineage | None:
    """The kind of session that a header tells of (section 8.1); None where it fits no row of that table."""
    child, deep = header.parent_session is not None, (header.delegation_depth or 0) >= 1
    if header.origin == "subagent":
        if not child or not deep:
            return None
        return Lineage.SUBAGENT_FORKED if header.seeded else Lineage.SUBAGENT_FRESH
    if child != header.seeded:
        return None
    # A fork has depth 0 even when its source is a subagent; an unknown origin says nothing about the kind.
    return (Lineage.FORK if child else Lineage.ORDINARY) if not deep else None


class CutFinder:
    """The number of inherited leading events, found while the log goes by.

    v0 and v1 say it in the header and nowhere else. From v2 on it is the seq of the last `session/end-seed` that is
    tagged as inherited: the marker itself is the session's own.
    """

    __slots__ = ("_count", "_generation", "_seed_length", "_seeded", "marker")

    def __init__(self, header: Header) -> None:
        self._generation = header.version
        self._seed_length = header.seed_length
        self._seeded = header.seeded
        self.marker: int | None = None
        """Seq of the last marker tagged as inherited; kept with a saved state, to go on from it."""
        self._count = 0

    def push(self, event: Event) -> None:
        """Take the next event."""
        self.push_data(event.type, event.seq, event.data)

    def push_data(self, type: str, seq: int, data: Any) -> None:
        """Take the next event by its parts; `data` matters for `session/end-seed` only."""
        self._count = seq + 1
        if type == "session/end-seed" and member(data, "inherited") is True:
            self.marker = seq

    @property
    def cut(self) -> int | None:
        """How many leading events are inherited; None when nothing is, or when it cannot be known."""
        if not self._seeded:
            return None
        return self.marker if self._generation >= 2 else self._seed_length

    @property
    def missing(self) -> bool:
        """Whether the cut contradicts the log read so far (the finding `seed-cut-missing`).

        From v2 on: seeded without a tagged marker, or a marker without a seed. Before: fewer events than inherited.
        """
        if self._generation >= 2:
            return self._seeded != (self.marker is not None)
        return self._seed_length is not None and self._seed_length > self._count


def inherited_cut(header: Header, events: Iterable[Event]) -> int | None:
    """The number of inherited leading events of a whole log, or None."""
    finder = CutFinder(header)
    for event in events:
        finder.push(event)
    return finder.cut
