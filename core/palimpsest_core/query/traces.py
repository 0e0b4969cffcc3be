"""Lineage of a session and links of an event (spec: engine contract, section 2).

Everything here is iterative: a chain of 50,000 sessions is walked without recursion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest_core.base.cancel import CancelToken, check, watched
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.session import LineageNode, SessionRecord, SessionTrace
from palimpsest_core.query.collate import sort_by_creation


class Ascent:
    """The way up from a session: `ancestors` nearest first, and how it ended.

    It ends at a session without parent (neither field set), at a parent that is not in the corpus
    (`unresolved_parent_id`), or where it comes back to a session already passed (`cycle_at`, that session's id).
    """

    __slots__ = ("ancestors", "cycle_at", "unresolved_parent_id")

    def __init__(self) -> None:
        self.ancestors: list[SessionRecord] = []
        self.unresolved_parent_id: str | None = None
        self.cycle_at: str | None = None


def ascend(by_id: Mapping[str, SessionRecord], target: SessionRecord, cancel: CancelToken | None = None) -> Ascent:
    """Walk from `target` to its parents until there is none, none is known, or one comes twice."""
    way = Ascent()
    passed = {target.header.id}
    parent_id = target.header.parent_session
    while parent_id is not None:
        check(cancel)
        if isinstance(parent_id, str) and parent_id in passed:
            way.cycle_at = parent_id
            break
        # Strict listings show a parent as it is stored, which may be anything.
        parent = by_id.get(parent_id) if isinstance(parent_id, str) else None
        if parent is None:
            way.unresolved_parent_id = parent_id
            break
        passed.add(parent_id)
        way.ancestors.append(parent)
        parent_id = parent.header.parent_session
    return way


def children_of(records: Sequence[SessionRecord], cancel: CancelToken | None = None) -> dict[str, list[SessionRecord]]:
    """Each parent id with its children by creation time, then id."""
    families: dict[str, list[SessionRecord]] = {}
    for record in watched(records, cancel):
        if isinstance(record.header.parent_session, str):
            families.setdefault(record.header.parent_session, []).append(record)
    return {
        parent: sort_by_creation(
            family,
            lambda child: child.header.created_at,
            lambda child: child.header.id,
            newest_first=False,
            cancel=cancel,
        )
        for parent, family in families.items()
    }


def forest(
    families: Mapping[str, Sequence[SessionRecord]],
    root_id: str,
    cancel: CancelToken | None = None,
    *,
    cycle_reason: str | None = None,
) -> list[LineageNode]:
    """The descendants of `root_id` as trees.

    A session met again below itself (possible only in a tolerant trace of a lineage that runs in a circle) is left out;
    its parent's node then carries `cycle_reason`.
    """
    order: list[SessionRecord] = []
    parents: list[int] = []
    circular: set[int] = set()
    stack = [(child, -1) for child in reversed(families.get(root_id, ()))]
    seen = {root_id}
    while stack:
        check(cancel)
        record, parent = stack.pop()
        if record.header.id in seen:
            circular.add(parent)
            continue
        seen.add(record.header.id)
        order.append(record)
        parents.append(parent)
        here = len(order) - 1
        stack.extend((child, here) for child in reversed(families.get(record.header.id, ())))
    # Records are frozen, so nodes are made leaves first: every child stands after its parent in `order`.
    below: list[list[LineageNode]] = [[] for _ in order]
    top: list[LineageNode] = []
    for index in watched(range(len(order) - 1, -1, -1), cancel):
        below[index].reverse()
        node = LineageNode(
            session=order[index],
            descendants=below[index],
            reason=cycle_reason if index in circular else None,
        )
        (top if parents[index] < 0 else below[parents[index]]).append(node)
    top.reverse()
    return top


def trace_session(records: Sequence[SessionRecord], session_id: Any, cancel: CancelToken | None = None) -> SessionTrace:
    """The lineage of a session within `records`.

    Raises `SESSION_NOT_FOUND`, and `INVALID_LINEAGE` naming the id at which the way up comes back to itself.
    """
    by_id = {record.header.id: record for record in watched(records, cancel)}
    target = by_id.get(session_id) if isinstance(session_id, str) else None
    if target is None:
        raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, f'There is no session "{session_id}".')
    way = ascend(by_id, target, cancel)
    if way.cycle_at is not None:
        raise SessionQueryError(
            ErrorCode.INVALID_LINEAGE,
            f'The parents of session "{session_id}" run in a circle, which closes at "{way.cycle_at}".',
        )
    descendants = forest(children_of(records, cancel), session_id, cancel)
    complete = way.unresolved_parent_id is None
    return SessionTrace(
        target=target,
        ancestors=way.ancestors,
        descendants=descendants,
        complete=complete,
        root=(way.ancestors[-1] if way.ancestors else target) if complete else None,
        unresolved_parent_id=way.unresolved_parent_id,
    )


def trace_tolerantly(
    records: Sequence[SessionRecord],
    session_id: str,
    unreadable: Mapping[str, str],
    cancel: CancelToken | None = None,
) -> SessionTrace:
    """As `trace_session`, for people: what the strict trace refuses ends the way up with a `reason` instead.

    `unreadable` maps the ids of sessions that are there but cannot be listed to why.
    """
    by_id = {record.header.id: record for record in watched(records, cancel)}
    target = by_id.get(session_id)
    if target is None:
        why = unreadable.get(session_id)
        detail = f'Session "{session_id}" cannot be read: {why}' if why else f'There is no session "{session_id}".'
        raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, detail)
    way = ascend(by_id, target, cancel)
    circle = "The lineage runs in a circle here."
    descendants = forest(children_of(records, cancel), session_id, cancel, cycle_reason=circle)
    reason = None
    unresolved = way.unresolved_parent_id
    if way.cycle_at is not None:
        unresolved = way.cycle_at
        reason = f'The parents run in a circle, which closes at "{way.cycle_at}".'
    elif unresolved is not None:
        why = unreadable.get(unresolved)
        reason = f"The parent's log cannot be read: {why}" if why else "The parent is not under this root."
    return SessionTrace(
        target=target,
        ancestors=way.ancestors,
        descendants=descendants,
        complete=unresolved is None,
        root=(way.ancestors[-1] if way.ancestors else target) if unresolved is None else None,
        unresolved_parent_id=unresolved,
        reason=reason,
    )
