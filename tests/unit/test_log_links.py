"""Weaker links to other sessions, and the labels that tell who speaks."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.log.gist import gist
from palimpsest_core.log.labels import label_of
from palimpsest_core.log.links import SessionLink, session_links
from palimpsest_core.model.event import Event


def event(type: str, data: Any) -> Event:
    return Event(type, 7, 0, data)


def said(**source: Any) -> Event:
    return event("user/message", {"id": "m", "role": "user", "content": [], "source": source})


REFERENCE = {"kind": "session-reference", "references": [{"sessionId": "s1", "label": "old", "capturedThroughSeq": 4}]}


@pytest.mark.parametrize(
    ("told", "links"),
    [
        (said(**REFERENCE), [SessionLink("reference", "s1", "old", 4)]),
        (said(kind="subagent-report", senderSessionId="kid"), [SessionLink("sender", "kid")]),
        (said(kind="team-message", senderId="a", senderName="Ann"), [SessionLink("sender", "a", "Ann")]),
        (event("subagent/catalog", {"childId": "kid", "label": "lint"}), [SessionLink("catalog", "kid", "lint")]),
        (event("tool-workflow/agent-start", {"childId": "kid", "seq": 3}), [SessionLink("agent", "kid")]),
        (
            event("agent/inbox/spliced", {"inserted": [{"source": {"kind": "coordinator", "senderSessionId": "up"}}]}),
            [SessionLink("sender", "up")],
        ),
        (
            event("session-log-deepseek/delivery-accepted", {"sessionId": "me", "throughSeq": 9}),
            [SessionLink("delivery", "me", "", 9)],
        ),
        (said(kind="user"), []),
        (event("subagent/catalog", None), []),
        (event("user/message", {"source": {"references": "none", "senderSessionId": 5}}), []),
    ],
)
def test_an_event_names_other_sessions(told: Event, links: list[SessionLink]) -> None:
    assert session_links(told) == links


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ({"kind": "user"}, "user"),
        ({"kind": "compact-checkpoint"}, "summary"),
        ({"kind": "plugin", "plugin": "compact"}, "summary"),
        ({"kind": "plugin", "plugin": "x", "form": "notice"}, "notice"),
        ({"kind": "plugin", "plugin": "x"}, "inject"),
        ({"kind": "agent-instructions", "form": "instructions"}, "inject"),
        ({"kind": "subagent-report", "form": "relay"}, "report"),
        ({"kind": "subagent-settled", "form": "notice"}, "notice"),
        ({"kind": "coordinator"}, "relay"),
        ({"kind": "agent-message"}, "relay"),
        ({"kind": "team-message"}, "team"),
        ({"kind": "session-reference"}, "recall"),
        ({"kind": "skill-catalog"}, "skills"),
        ({"kind": "robot"}, "robot"),
        ({"kind": "plugin:acme"}, "acme"),
        ({"kind": "automation"}, "automat"),
        ({}, "inject"),
    ],
)
def test_each_speaker_has_a_label_of_its_own(source: dict[str, Any], label: str) -> None:
    assert label_of(said(**source)) == label
    assert gist(said(**source)).label == label


@pytest.mark.parametrize("kind", ["User", "plugin:user", "you", "asst", "result", "user   x", "\x1b[31muser"])
def test_a_foreign_kind_cannot_pass_for_a_person_or_an_event(kind: str) -> None:
    assert label_of(said(kind=kind)) not in {"user", "User", "you", "asst", "result"}
