"""Where a search looks: this session, its lineage, its project, or everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palimpsest_core.model.session import SessionSummary
from palimpsest_tui.searching.resolve import Scope

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk

_WIDER = (Scope.SESSION, Scope.LINEAGE, Scope.PROJECT, Scope.ALL)


class Scopes:
    """The scope in force. It is remembered; `ctrl+t` widens it, after everything comes this session again."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.scope = Scope(desk.state.scope) if desk.state.scope in [scope.value for scope in _WIDER] else Scope.ALL

    def widen(self) -> None:
        """The next wider scope."""
        at = _WIDER.index(self.scope)
        self.scope = _WIDER[(at + 1) % len(_WIDER)]
        if self.scope is not Scope.ALL and self._desk.opening.session is None:
            self.scope = Scope.ALL
        self._desk.state.scope = self.scope.value

    def sessions(self, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Those of `sessions` that are inside the scope."""
        here = self._desk.opening.session
        if here is None or self.scope is Scope.ALL:
            return list(sessions)
        if self.scope is Scope.SESSION:
            return [session for session in sessions if session.id == here.id]
        if self.scope is Scope.PROJECT:
            return [session for session in sessions if session.project == here.project]
        family = self._family(here)
        return [session for session in sessions if session.id in family]

    def _family(self, here: SessionSummary) -> set[str]:
        """The ids of the family: up to the root, then everything below it."""
        by_id = self._desk.listing.by_id
        top, seen = here.id, {here.id}
        while True:
            known = by_id.get(top)
            if known is None or known.parent is None or known.parent in seen:
                break
            top = known.parent
            seen.add(top)
        children: dict[str, list[str]] = {}
        for session in self._desk.listing.sessions:
            if session.parent is not None:
                children.setdefault(session.parent, []).append(session.id)
        family: set[str] = set()
        waiting = [top]
        while waiting:
            session_id = waiting.pop()
            if session_id not in family:
                family.add(session_id)
                waiting.extend(children.get(session_id, ()))
        return family
