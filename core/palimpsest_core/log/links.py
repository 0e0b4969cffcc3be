"""Weaker links from an event to other sessions: references, senders, children (session format, section 8.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from palimpsest_core.log.messages import source_of
from palimpsest_core.log.shapes import member, objects_at, text_at, whole
from palimpsest_core.model.event import Event

_INBOX: Final = "agent/inbox/spliced"
_CHILDREN: Final = {"subagent/catalog": "catalog", "tool-workflow/agent-start": "agent"}


class SessionLink(NamedTuple):
    """Another session that an event names; whether it exists is not looked at.

    `kind`: "reference" (recalled from it), "sender" (it sent this), "catalog" (the parent's note of a child), "agent"
    (a workflow started it), "member", "target" (of a team), "delivery". `seq` is a place in it as the writer counted:
    in another generation of that session the number may mean another event.
    """

    kind: str
    session_id: str
    label: str = ""
    seq: int | None = None


def session_links(event: Event) -> list[SessionLink]:
    """The sessions that an event names, in order, each once. Never raises."""
    return list(dict.fromkeys(link for link in _links(event) if link.session_id))


def _links(event: Event) -> Iterator[SessionLink]:
    data = event.data
    if event.type == _INBOX:
        for message in objects_at(data, "inserted"):
            yield from _of_source(message.get("source"))
        return
    if event.type in _CHILDREN:
        yield SessionLink(_CHILDREN[event.type], text_at(data, "childId"), text_at(data, "label"))
    elif event.type == "team/member":
        yield SessionLink("member", text_at(data, "member", "id"), text_at(data, "member", "name"))
    elif event.type == "team/message/queued":
        yield SessionLink("sender", text_at(data, "message", "senderId"), text_at(data, "message", "senderName"))
        yield SessionLink("target", text_at(data, "message", "targetId"))
    elif event.type == "team/message/delivered":
        yield SessionLink("target", text_at(data, "targetId"))
    elif event.type == "session-log-deepseek/delivery-accepted":
        yield SessionLink("delivery", text_at(data, "sessionId"), "", whole(member(data, "throughSeq")))
    yield from _of_source(source_of(event))


def _of_source(source: Any) -> Iterator[SessionLink]:
    for reference in objects_at(source, "references"):
        through = whole(reference.get("capturedThroughSeq"))
        yield SessionLink("reference", text_at(reference, "sessionId"), text_at(reference, "label"), through)
    if text_at(source, "kind") == "team-message":
        yield SessionLink("sender", text_at(source, "senderId"), text_at(source, "senderName"))
    yield SessionLink("sender", text_at(source, "senderSessionId"))
