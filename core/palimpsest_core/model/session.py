"""Session records, lineage, titles, surfaces (spec: engine contract, section 2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.model.event import EventRecord
from palimpsest_core.model.finding import Finding
from palimpsest_core.model.header import Header
from palimpsest_core.model.jsonable import Record, to_json


class Lineage(StrEnum):
    """How a session came to be (spec: session format, section 8.1)."""

    ORDINARY = "ordinary"
    FORK = "fork"
    SUBAGENT_FRESH = "subagent-fresh"
    SUBAGENT_FORKED = "subagent-forked"


class SessionRecord(Record, frozen=True):
    """One logical session: the live-preferred header and where it exists. The last six fields: tolerant mode only.

    `generation` is the format number of the file that answers. `inherited_cut` is the number of leading events that a
    fork took over (absent when nothing is inherited); `own` and `inherited` count events.
    """

    header: Header
    live: bool
    persisted: bool
    generation: int | None = None
    findings: list[str] | None = None
    lineage: Lineage | None = None
    inherited_cut: int | None = None
    own: int | None = None
    inherited: int | None = None


class SessionLog(Record, frozen=True):
    """A header and all events of the balanced view, as JSON objects."""

    session: Header
    events: list[dict[str, Any]]


class SurfaceSnapshot(Record, frozen=True):
    """The folded surface: current events in model order; `captured_through_seq` is null for an empty log."""

    session: Header
    captured_through_seq: int | None
    events: list[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The JSON object; `capturedThroughSeq` is always present."""
        out: dict[str, Any] = to_json(self)
        out["capturedThroughSeq"] = self.captured_through_seq
        return out


class LineageNode(Record, frozen=True):
    """A session and its children (by creation time, then id). `reason` (tolerant traces only): why it ends here."""

    session: SessionRecord
    descendants: list[LineageNode]
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON object; built without recursion, since a lineage may be tens of thousands of sessions deep."""
        return _forest_json([self])[0]


class SessionTrace(Record, frozen=True):
    """The lineage of a session. `complete` with `root`, or not with `unresolved_parent_id`."""

    target: SessionRecord
    ancestors: list[SessionRecord]
    descendants: list[LineageNode]
    complete: bool
    root: SessionRecord | None = None
    unresolved_parent_id: str | None = None
    reason: str | None = None
    """Why a tolerant trace's way up ends where it does (an absent or unreadable parent, a circle)."""

    def as_json(self) -> dict[str, Any]:
        """The JSON object; built without recursion, since a lineage may be tens of thousands of sessions deep."""
        out: dict[str, Any] = to_json(msgspec.structs.replace(self, descendants=[]))
        out["descendants"] = _forest_json(self.descendants)
        return out


def _forest_json(nodes: list[LineageNode]) -> list[dict[str, Any]]:
    top: list[dict[str, Any]] = []
    waiting = [(node, top) for node in reversed(nodes)]
    while waiting:
        node, into = waiting.pop()
        below: list[dict[str, Any]] = []
        shown = {"session": to_json(node.session), "descendants": below}
        if node.reason is not None:
            shown["reason"] = node.reason
        into.append(shown)
        waiting.extend((child, below) for child in reversed(node.descendants))
    return top


class Title(Record, frozen=True):
    """The title in force: the last `session/title` event.

    Tolerant reading passes over titles that are no text; strict reading gives them as they are logged (UNSET: absent).
    """

    title: str
    message_seqs: Any
    source: Any
    event_seq: int
    updated_at: int


class TitleSnapshot(Record, frozen=True):
    """A session's header with its title, if it has one."""

    session: Header
    title: Title | None = None


class SettledTitle(msgspec.Struct, frozen=True):
    """One result of `read_title_snapshots`: `value`, or the `reason` why this session's title cannot be read.

    `session_id` is the id as it was asked for.
    """

    session_id: Any
    value: TitleSnapshot | None = None
    reason: SessionQueryError | None = None

    def as_json(self) -> dict[str, Any]:
        """`{sessionId, status: "fulfilled", value}` or `{sessionId, status: "rejected", reason: {code, message}}`."""
        if self.reason is not None:
            reason = {"code": self.reason.code.value, "message": self.reason.message}
            return {"sessionId": self.session_id, "status": "rejected", "reason": reason}
        return {"sessionId": self.session_id, "status": "fulfilled", "value": to_json(self.value)}


class Speaker(StrEnum):
    """Who speaks in a message: only `user` is a human prompt (spec: session format, section 7.3)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    DEVELOPER = "developer"
    COMPACTION = "compaction"
    NOTICE = "notice"
    CONTEXT = "context"
    RELAY = "relay"


class SessionState(StrEnum):
    """The state mark of a session in a list."""

    COMPLETE = "complete"
    ACTIVE = "active"
    INTERRUPTED = "interrupted"
    DAMAGED = "damaged"
    NEWER = "newer"
    UNREADABLE = "unreadable"


class SessionSummary(Record, frozen=True):
    """One row of the app's list and of `ls`: everything known without reading the log again.

    Sizes are stored bytes; times epoch milliseconds. `title` is the title in force, or the first human prompt, or None;
    `first_prompt` is that prompt, shortened, whatever the title. Counts are None until the log has been read (`indexed`
    False). `rows_shown` and `rows_withheld` are the rows behind the header; together they are all that the file holds.
    `reason` says why a session cannot be read.
    """

    id: str
    path: str
    state: SessionState
    header: Header | None = None
    generation: int | None = None
    title: str | None = None
    project: str | None = None
    created_at: int | None = None
    last_time: int | None = None
    events: int | None = None
    own: int | None = None
    inherited: int | None = None
    inherited_cut: int | None = None
    current: int | None = None
    shadowed: int | None = None
    size: int = 0
    parent: str | None = None
    lineage: Lineage | None = None
    findings: list[Finding] | None = None
    reason: str | None = None
    model: str | None = None
    indexed: bool = False
    live: bool = False
    generations: list[int] | None = None
    first_prompt: str | None = None
    rows_shown: int | None = None
    rows_withheld: int | None = None


__all__ = [
    "EventRecord",
    "Lineage",
    "LineageNode",
    "SessionLog",
    "SessionRecord",
    "SessionState",
    "SessionSummary",
    "SessionTrace",
    "SettledTitle",
    "Speaker",
    "SurfaceSnapshot",
    "Title",
    "TitleSnapshot",
]
