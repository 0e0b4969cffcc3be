"""Where a person was before each jump. Pure."""

from __future__ import annotations

from typing import NamedTuple

_KEPT = 200


class Spot(NamedTuple):
    """A place: a session, one of its generations or files, and an event of it (None: the session as a whole)."""

    session_id: str
    generation: int | None
    seq: int | None
    path: str | None = None
    pane: str = "timeline"
    """Where the jump started from: the focus comes back to it."""

    def same_place(self, other: Spot | None) -> bool:
        """Whether both name the same event, from whatever pane it was left."""
        return other is not None and self[:4] == other[:4]


class JumpHistory:
    """The spots behind and ahead, like pages of a browser."""

    def __init__(self) -> None:
        self._back: list[Spot] = []
        self._ahead: list[Spot] = []

    @property
    def can_go_back(self) -> bool:
        """Whether there is a spot to go back to."""
        return bool(self._back)

    def leave(self, spot: Spot | None) -> None:
        """Remember where a jump starts; what was ahead is forgotten."""
        if spot is None or (self._back and self._back[-1] == spot):
            return
        self._back.append(spot)
        del self._back[:-_KEPT]
        self._ahead.clear()

    def back(self, here: Spot | None) -> Spot | None:
        """The spot to go back to; `here` is put ahead."""
        return self._step(self._back, self._ahead, here)

    def forward(self, here: Spot | None) -> Spot | None:
        """The spot ahead; `here` is put behind."""
        return self._step(self._ahead, self._back, here)

    def _step(self, source: list[Spot], target: list[Spot], here: Spot | None) -> Spot | None:
        while source:
            spot = source.pop()
            if not spot.same_place(here):
                if here is not None:
                    target.append(here)
                return spot
        return None
