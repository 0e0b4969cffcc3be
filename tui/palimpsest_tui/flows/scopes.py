"""Where a search looks: this event, its session, its lineage, its project, or everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palimpsest_core import Flag
from palimpsest_tui.searching.resolve import Scope

if TYPE_CHECKING:
    from palimpsest_core.model.session import SessionSummary
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.jobs.searching import Hits

_WIDER = (Scope.EVENT, Scope.SESSION, Scope.LINEAGE, Scope.PROJECT, Scope.ALL)


class Scopes:
    """The scope in force. It is remembered; `ctrl+t` widens it, after everything comes this event again."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.scope = Scope(desk.state.scope) if desk.state.scope in [scope.value for scope in _WIDER] else Scope.ALL
        if self.scope is Scope.EVENT:
            self.scope = Scope.SESSION  # an event is meant only while one looks at it

    def widen(self) -> None:
        """The next wider scope."""
        at = _WIDER.index(self.scope)
        self.scope = _WIDER[(at + 1) % len(_WIDER)]
        if self.scope is Scope.EVENT and self.event() is None:
            self.scope = Scope.SESSION
        if self.scope is not Scope.ALL and self._desk.opening.session is None:
            self.scope = Scope.ALL
        self._desk.state.scope = self.scope.value

    def event(self) -> int | None:
        """The number of the event under the cursor of the timeline, where it has one."""
        log, index = self._desk.opening.log, self._desk.timeline.event_index
        if log is None or index is None or index >= len(log) or log.table.flags[index] & Flag.WITHHELD:
            return None
        return log.table.seqs[index]

    def events(self) -> list[dict[str, Any]]:
        """The engine's filter of events that the scope stands for."""
        seq = self.event() if self.scope is Scope.EVENT else None
        return [] if seq is None else [{"kind": "seq", "from": seq, "to": seq}]

    def counted(self, hits: Hits) -> dict[Scope, int]:
        """How many events match in each scope that lies inside the one in force, as far as its whole answer tells."""
        found = {hit.header.id: hit.matches or 1 for hit in hits.hits}
        known = [session for session in self._desk.listing.sessions if session.id in found]
        inside = _WIDER[1 : _WIDER.index(self.scope) + 1]
        return {
            scope: sum(found[session_id] for session_id in {session.id for session in self.sessions(known, scope)})
            for scope in inside
            if scope is Scope.ALL or self._desk.opening.session is not None
        }

    def sessions(self, sessions: Sequence[SessionSummary], scope: Scope | None = None) -> list[SessionSummary]:
        """Those of `sessions` that are inside a scope, the one in force if none is named."""
        here = self._desk.opening.session
        scope = self.scope if scope is None else scope
        if here is None or scope is Scope.ALL:
            return list(sessions)
        if scope in (Scope.EVENT, Scope.SESSION):
            return [session for session in sessions if session.id == here.id]
        if scope is Scope.PROJECT:
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
