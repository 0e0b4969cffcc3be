"""The order, grouping and tree of the session list. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from palimpsest_core.model.session import SessionSummary


class Sort(StrEnum):
    """What the list is sorted by."""

    ACTIVITY = "activity"
    CREATION = "creation"
    SIZE = "size"
    TITLE = "title"


class Grouping(StrEnum):
    """How the list is arranged."""

    FLAT = "flat"
    PROJECT = "project"
    TREE = "tree"


class ListRow(NamedTuple):
    """One row: a session with the branches drawn before it, or the heading of a project (no session)."""

    session: SessionSummary | None
    rail: str = ""
    heading: str = ""
    sessions: int = 0


def arrange(sessions: Iterable[SessionSummary], sort: Sort, grouping: Grouping) -> list[ListRow]:
    """The rows of the list. In a tree, a family stands where its most prominent member would stand alone."""
    ordered = sorted(sessions, key=_sort_key(sort))
    if grouping is Grouping.FLAT:
        return [ListRow(session) for session in ordered]
    if grouping is Grouping.PROJECT:
        return _by_project(ordered)
    return _as_tree(ordered)


def session_key(session: SessionSummary) -> str:
    """What a row stays the same by: the path, since one id may stand in two folders."""
    return session.path


def project_name(session: SessionSummary) -> str:
    """The last part of a session's working directory; empty when it has none."""
    return (session.project or "").rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]


def _sort_key(sort: Sort) -> Callable[[SessionSummary], tuple[object, ...]]:
    if sort is Sort.CREATION:
        return lambda session: (-(session.created_at or 0), session.id, session.path)
    if sort is Sort.SIZE:
        return lambda session: (-session.size, session.id, session.path)
    if sort is Sort.TITLE:
        return lambda session: (not session.title, (session.title or session.id).casefold(), session.id, session.path)
    return lambda session: (-(session.last_time or session.created_at or 0), session.id, session.path)


def _by_project(ordered: Sequence[SessionSummary]) -> list[ListRow]:
    groups: dict[str, list[SessionSummary]] = defaultdict(list)
    for session in ordered:
        groups[session.project or ""].append(session)
    rows: list[ListRow] = []
    for project, members in groups.items():
        rows.append(ListRow(None, heading=project or "no project", sessions=len(members)))
        rows.extend(ListRow(session) for session in members)
    return rows


def _as_tree(ordered: Sequence[SessionSummary]) -> list[ListRow]:
    by_id: dict[str, SessionSummary] = {}
    for session in ordered:
        by_id.setdefault(session.id, session)
    children: dict[str, list[SessionSummary]] = {}
    tops: list[SessionSummary] = []
    for session in ordered:
        if session.parent is not None and session.parent in by_id and session.parent != session.id:
            children.setdefault(session.parent, []).append(session)
        else:
            tops.append(session)
    if not children:
        return [ListRow(session) for session in tops]
    rank = {id(session): place for place, session in enumerate(ordered)}
    best = _best_ranks(tops, children, by_id, rank)
    tops.sort(key=lambda session: best[id(session)])
    rows: list[ListRow] = []
    placed: set[int] = set()
    _place_trees(tops, children, by_id, rows, placed)
    # What is left hangs in a circle of parents: it is listed too, each circle from its first session.
    for session in ordered:
        if id(session) not in placed:
            _place_trees([session], children, by_id, rows, placed)
    return rows


def _best_ranks(
    tops: Sequence[SessionSummary],
    children: dict[str, list[SessionSummary]],
    by_id: dict[str, SessionSummary],
    rank: dict[int, int],
) -> dict[int, int]:
    best: dict[int, int] = {}
    for top in tops:
        lowest = rank[id(top)]
        waiting = [top] if top.id in children else []
        seen: set[int] = set()
        while waiting:
            session = waiting.pop()
            if id(session) in seen:
                continue
            seen.add(id(session))
            lowest = min(lowest, rank[id(session)])
            if by_id[session.id] is session:
                waiting.extend(children.get(session.id, ()))
        best[id(top)] = lowest
    return best


def _place_trees(
    tops: Sequence[SessionSummary],
    children: dict[str, list[SessionSummary]],
    by_id: dict[str, SessionSummary],
    rows: list[ListRow],
    placed: set[int],
) -> None:
    # (session, rail of its own row, rail that its children start with); a stack, since a chain may be thousands deep
    waiting = [(top, "", "") for top in reversed(tops)]
    while waiting:
        session, rail, below = waiting.pop()
        if id(session) in placed:
            continue
        placed.add(id(session))
        rows.append(ListRow(session, rail=rail))
        below_it = children.get(session.id)
        if below_it is None or by_id[session.id] is not session:
            continue
        members = [child for child in below_it if id(child) not in placed]
        for number, child in reversed(list(enumerate(members))):
            last = number == len(members) - 1
            waiting.append((child, below + ("└ " if last else "├ "), below + ("  " if last else "│ ")))
