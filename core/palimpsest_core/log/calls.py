"""Which call a tool result answers, and which calls nobody answered."""

from __future__ import annotations

from typing import Any


class CallPairs:
    """Pairs calls and results as they go by, in ascending order.

    A result answers the call that it cites; one that cites none answers the oldest open call with its id, since some
    steps use one id twice.
    """

    __slots__ = ("_open",)

    def __init__(self, unanswered: dict[int, str] | None = None) -> None:
        self._open = dict(unanswered or {})

    @property
    def unanswered(self) -> dict[int, str]:
        """The calls without a result so far: seq and call id. Do not change it."""
        return self._open

    def call(self, seq: int, call_id: str) -> None:
        """Take a `tool/call` event."""
        self._open[seq] = call_id

    def cited(self, sources: Any) -> int | None:
        """The open call that a result with these `sourceEventSeqs` answers, closed now; None when it cites none."""
        if isinstance(sources, list):
            for source in sources:
                if isinstance(source, int) and source in self._open:
                    del self._open[source]
                    return source
        return None

    def named(self, call_id: str) -> int | None:
        """The oldest open call with this id, closed now; None without one."""
        seq = next((seq for seq, name in self._open.items() if name == call_id), None)
        if seq is not None:
            del self._open[seq]
        return seq

    def copy(self) -> CallPairs:
        """An independent copy."""
        return CallPairs(self._open)
