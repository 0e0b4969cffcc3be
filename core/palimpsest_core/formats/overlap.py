"""What stands behind an overlap: a second writer's rows are compared with what was there (session format, section 9).

Only the tail of the accepted text is looked at, once for each log that has such a defect.
"""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest_core.model.event import Event

LOOK_BACK = 1 << 20
"""How much accepted text before the defect is read again at most (bytes)."""

_CLOSER_CODES = ("TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED")


def is_closer(event: Event) -> bool:
    """Whether an event looks like one that a repair appends: an unanswered call's result, a step's or a turn's end."""
    data = event.data
    if not isinstance(data, dict):
        return False
    if event.type == "tool/result":
        error = data.get("error")
        return isinstance(error, dict) and error.get("code") in _CLOSER_CODES
    if event.type == "turn/end":
        reason = data.get("reason")
        return isinstance(reason, dict) and reason.get("kind") in ("interrupted", "forked")
    return event.type == "step/end"


def judge(before: Iterable[Event], again: Iterable[Event], expected: int) -> str:
    """What an overlap is: "closers" (a repair's rows were overtaken by a writer that was still alive), "same" or
    "differs" (what is repeated equals what was there, or not), "" when nothing can be compared.

    `before` are the last accepted events, `again` those that the first rows of the second lane hold; `expected` is the
    sequence number that stood next.
    """
    there = {event.seq: event for event in before}
    repeated = {event.seq: event for event in again if event.seq < expected}
    if not repeated:
        return ""
    first = min(repeated)
    overtaken = [there.get(seq) for seq in range(first, expected)]
    end = overtaken[-1]
    if (
        end is not None
        and end.type == "turn/end"
        and all(event is not None and is_closer(event) for event in overtaken)
    ):
        return "closers"
    known = [seq for seq in repeated if seq in there]
    if not known:
        return ""
    return "same" if all(_says(there[seq]) == _says(repeated[seq]) for seq in known) else "differs"


def _says(event: Event) -> tuple[object, ...]:
    """What an event tells, without the time at which it was written."""
    return event.type, event.data, event.surface_op, event.source_event_seqs
