"""What the index is told about sessions: documents, and one entry per log (engine contract, section 6)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionSummary

ACTIVE_SECONDS = 600.0
"""A log with an open turn counts as being written while it grew within this time."""


class IndexDocument(NamedTuple):
    """One searchable event: `text` is not empty; `surface` is a `Surface` value.

    `start` and `length` (bytes of the decoded log) place the stored row it comes from; -1 when there is none.
    """

    seq: int
    type: str
    time: int | float
    surface: str
    text: str
    start: int = -1
    length: int = 0


class LogEntry(msgspec.Struct, kw_only=True):
    """What the index keeps of one log file (or of one session that came without a file: `path` is None).

    `session_id` is None when not even the header could be read. `answers`: this file speaks for its session id (lower
    generations and twins do not); `listed`: it has a row of its own in the session list. `revision` tells states of the
    file apart; `fingerprint` names the extractors it was read with. `complete` is False while a long log is being read
    in parts. `cut` counts the inherited leading events. `first_time` and `last_time` bound the documents' times;
    None: not known.
    """

    path: str | None
    session_id: str | None
    revision: str
    fingerprint: str
    header: Header | None = None
    answers: bool = True
    listed: bool = True
    live: bool = False
    persisted: bool = True
    complete: bool = True
    cut: int = 0
    events: int = 0
    first_time: int | float | None = None
    last_time: int | float | None = None
    summary: SessionSummary | None = None


class KnownLog(NamedTuple):
    """What the reconciler needs to know of an indexed log; `number` names it to the index."""

    number: int
    session_id: str | None
    revision: str
    fingerprint: str
    complete: bool
    answers: bool
