"""Strict mode reads an old shape as the reference does, and leaves a malformed one to be refused."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.formats.legacy import LegacyState
from palimpsest_core.formats.legacy_exact import ExactModernizer
from palimpsest_core.model.event import Event

SOURCE = {"kind": "user"}
ID = "legacy-message:s:7"


def modern(type: str, data: Any) -> tuple[str, Any]:
    event = ExactModernizer("s", LegacyState(), lambda seq: None).modern(Event(type, 7, 0, data))
    return event.type, event.data


def ended(reason: Any, **more: Any) -> dict[str, Any]:
    return {"turn": 1, "reason": reason, **more}


FAILURE = {"message": "m", "code": "c", "status": 503}
READ = [
    ("turn/start", {"turn": 1, "trigger": {"kind": "user"}}, {"turn": 1}),
    ("turn/end", ended({"kind": "aborted"}), ended({"kind": "aborted", "reason": {"kind": "legacy"}})),
    ("turn/end", ended({"kind": "disposed"}), ended({"kind": "aborted", "reason": {"kind": "disposed"}})),
    (
        "turn/end",
        ended({"kind": "error", "step": 1, "message": "m"}),
        ended({"kind": "error", "error": {"message": "m", "code": "UNKNOWN"}}),
    ),
    ("turn/end", ended({"kind": "error", "step": 1, "failure": FAILURE}), ended({"kind": "error", "error": FAILURE})),
    ("user/message", {"content": [], "source": SOURCE}, {"content": [], "source": SOURCE, "id": ID, "role": "user"}),
    (
        "assistant/message",
        {"turn": 1, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}},
        {
            "turn": 1,
            "step": 1,
            "message": {
                "id": ID,
                "role": "assistant",
                "content": [],
                "source": {"provider": "p", "model": "m", "kind": "model"},
            },
        },
    ),
    (
        "tool/result",
        {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": False},
        {
            "turn": 1,
            "step": 1,
            "message": {
                "id": ID,
                "role": "user",
                "content": [{"type": "tool-result", "toolCallId": "c", "content": [], "isError": False}],
                "source": {"kind": "tool", "callId": "c"},
            },
        },
    ),
]


@pytest.mark.parametrize(("type", "old", "new"), READ)
def test_a_sound_old_shape_becomes_the_modern_one(type: str, old: Any, new: Any) -> None:
    assert modern(type, old) == (type, new)
    assert modern(type, new) == (type, new)


def test_a_steering_message_becomes_a_prompt() -> None:
    message = {"id": "z", "role": "user", "content": [], "source": SOURCE}
    assert modern("steering/message", {"turn": 1, "message": message}) == ("user/message", message)
    direct = {"turn": 1, "content": [], "source": SOURCE}
    assert modern("steering/message", direct) == ("user/message", {**message, "id": ID})
    bare = {"turn": 1, "message": {"content": [], "source": SOURCE}}
    assert modern("steering/message", bare) == ("user/message", {**message, "id": ID})


LEFT = [
    ("turn/start", {"turn": 0, "trigger": {"kind": "user"}}),
    ("turn/start", {"turn": 1, "trigger": {"kind": ""}}),
    ("turn/start", {"turn": 1, "trigger": {"kind": "user"}, "more": 1}),
    ("turn/end", ended({"kind": "aborted", "more": 1})),
    ("turn/end", ended({"kind": "aborted"}, more=1)),
    ("turn/end", ended({"kind": "error", "message": "m"})),
    ("turn/end", ended({"kind": "error", "step": 1, "message": "m", "code": None})),
    ("turn/end", ended({"kind": "error", "step": 1, "failure": {**FAILURE, "status": None}})),
    ("turn/end", ended("completed")),
    ("steering/message", {"turn": "1", "message": {}}),
    ("steering/message", {"turn": 1, "content": [], "source": SOURCE, "more": 1}),
    ("user/message", {"content": []}),
    ("user/message", {"content": [], "source": SOURCE, "role": "user"}),
    ("assistant/message", {"turn": 1, "content": []}),
    ("tool/result", {"callId": "c", "content": []}),
    ("compact/start", {}),
    ("compaction/start", {"turn": 1}),
    ("llm/retry", {"turn": 1, "retry": 1}),
    ("turn/end", None),
]


@pytest.mark.parametrize(("type", "data"), LEFT)
def test_everything_else_stays_as_it_is(type: str, data: Any) -> None:
    assert modern(type, data) == (type, data)
