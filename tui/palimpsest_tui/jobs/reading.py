"""Making an event readable in a worker."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from palimpsest_tui.widgets.inspector import Tab

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, OpenLog, SecondLook
    from palimpsest_tui.reading.lines import Document

RUN_MAX = 20_000


class Reading(NamedTuple):
    """How an event is wanted."""

    tab: Tab
    width: int
    wrapped: bool
    pretty: bool
    events: int = 1
    """How many events the row stands for; more than one are a folded run that starts with the event."""
    look: SecondLook | None = None
    """What stands behind the readable part of the log."""
    known: Collection[str] = ()
    """The ids of sessions that exist: what names another one leads nowhere."""
    stored: Callable[[str, str], bool | None] | None = None
    """Whether an attachment, by id and kind, is still there; None when nobody knows."""


def read_event(log: OpenLog, index: int, reading: Reading, cancel: CancelToken) -> Document:
    """The document of one event."""
    # Loaded by the first worker that needs it: the first list does not wait for the highlighter and the rest.
    from palimpsest_tui.reading.beyond import damage_lines, foreign_lines, missing_lines
    from palimpsest_tui.reading.event_doc import TextBuilder
    from palimpsest_tui.reading.facts import fact_lines, facts_of
    from palimpsest_tui.reading.raw_doc import raw_document
    from palimpsest_tui.reading.trace_doc import trace_document

    facts = facts_of(log, index)
    head = fact_lines(facts, reading.width)
    head += damage_lines(log, index, reading.look, reading.width)
    head += foreign_lines(log, log.event(index), facts.flags, reading.width)
    head += missing_lines(log, facts.sources, reading.width)
    if reading.tab is Tab.RAW:
        stored = log.raw(index)
        return raw_document(stored, head, reading.width, pretty=reading.pretty, wrapped=reading.wrapped, cancel=cancel)
    if reading.tab is Tab.TRACE:
        return trace_document(log, facts, head, reading.width, cancel, reading.known)
    builder = TextBuilder(reading.width, wrapped=reading.wrapped, cancel=cancel, stored=reading.stored)
    if reading.events > 1:
        events = (log.event(at) for at in range(index, min(index + reading.events, index + RUN_MAX, len(log))))
        return builder.run_document(events, reading.events, head)
    return builder.document(log.event(index), head)
