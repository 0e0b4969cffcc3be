"""Messages of every generation's shape: who speaks, what was called, what came of it."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.log import messages
from palimpsest_core.log.messages import Attachment, ToolCall
from palimpsest_core.model.event import Event
from palimpsest_core.model.session import Speaker


def event(type: str, data: Any) -> Event:
    return Event(type, 3, 0, data)


def user(**source: Any) -> Event:
    return event("user/message", {"id": "m", "role": "user", "content": [], "source": source})


@pytest.mark.parametrize(
    ("said", "speaker"),
    [
        (user(kind="user"), Speaker.USER),
        (user(kind="plugin", plugin="compact"), Speaker.COMPACTION),
        (user(kind="compact-checkpoint"), Speaker.COMPACTION),
        (user(kind="plugin", plugin="other"), Speaker.CONTEXT),
        (user(kind="plugin", plugin="other", form="notice"), Speaker.NOTICE),
        (user(kind="subagent-settled"), Speaker.NOTICE),
        (user(kind="coordinator"), Speaker.RELAY),
        (user(kind="team-message"), Speaker.RELAY),
        (user(kind="agent-instructions", form="instructions"), Speaker.CONTEXT),
        (user(kind="automation"), Speaker.CONTEXT),
        (user(), Speaker.CONTEXT),
        (event("assistant/message", {}), Speaker.ASSISTANT),
        (event("tool/result", {}), Speaker.TOOL),
        (event("system/message", {}), Speaker.SYSTEM),
        (event("developer/message", {}), Speaker.DEVELOPER),
        (event("turn/start", {"turn": 1}), None),
    ],
)
def test_the_source_tells_who_speaks(said: Event, speaker: Speaker | None) -> None:
    assert messages.speaker_of(said) is speaker
    assert messages.is_human_prompt(said) is (speaker is Speaker.USER)
    assert messages.is_checkpoint(said) is (speaker is Speaker.COMPACTION)


OUT = [{"type": "text", "text": "out"}]
WRAPPED = {
    "message": {
        "id": "t",
        "role": "user",
        "source": {"kind": "tool", "callId": "c1"},
        "content": [{"type": "tool-result", "toolCallId": "c1", "isError": True, "content": OUT}],
    },
    "error": {"name": "E", "code": "C", "reason": "why"},
}
DIRECT = {
    "message": {
        "id": "t",
        "role": "tool",
        "source": {"kind": "tool", "callId": "c1"},
        "toolCallId": "c1",
        "isError": True,
        "content": OUT,
    },
    "error": {"name": "E", "code": "C", "reason": "why"},
}
BARE = {
    "callId": "c1",
    "isError": True,
    "content": OUT,
    "error": {"name": "E", "code": "C", "reason": "why"},
}


@pytest.mark.parametrize("data", [WRAPPED, DIRECT, BARE], ids=["wrapped", "direct", "bare"])
def test_a_result_reads_the_same_in_all_three_places(data: Any) -> None:
    result = messages.tool_result(event("tool/result", data))
    assert result == ("c1", True, OUT, "E", "C", "why")
    assert messages.content_blocks(event("tool/result", data)) == OUT


def test_only_a_tool_result_is_one() -> None:
    assert messages.tool_result(event("tool/call", WRAPPED)) is None
    assert messages.call_of(event("tool/result", WRAPPED)) is None


def test_calls_are_told_as_asked_for_and_as_recorded() -> None:
    asked = {
        "message": {"content": [{"type": "text"}, {"type": "tool-call", "id": "c", "name": "n", "arguments": "{"}]}
    }
    assert messages.tool_calls(event("assistant/message", asked)) == [ToolCall("c", "n", "{")]
    recorded = {"callId": "c", "name": "n", "arguments": "{"}
    assert messages.call_of(event("tool/call", recorded)) == ToolCall("c", "n", "{")


def test_images_are_counted_depth_first_through_nested_results() -> None:
    def image(name: str, **more: Any) -> dict[str, Any]:
        return {"type": "image", "attachment": {"attachmentId": f"sha256:{name}", "name": name, "bytes": 9.0}, **more}

    content = [
        image("a"),
        {"type": "tool-result", "content": [image("b", offloaded=True), {"type": "file", "attachment": {"name": "f"}}]},
        image("c"),
    ]
    said = event("user/message", {"content": content})
    assert [item.name for item in messages.images_of(said)] == ["a", "b", "c"]
    assert [item.name for item in messages.attachments_of(said)] == ["a", "b", "f", "c"]
    assert messages.images_of(said)[1] == Attachment("image", "sha256:b", "", 9, None, None, "b", True)


def test_a_message_keeps_its_id_wherever_it_stands() -> None:
    assert messages.message_id(user(kind="user")) == "m"
    assert messages.message_id(event("tool/result", DIRECT)) == "t"
    assert messages.message_id(event("step/end", {"id": "x"})) is None
    assert messages.message_id(event("user/message", {"id": 5, "content": []})) is None


def test_other_events_show_their_content_too() -> None:
    assert messages.content_blocks(event("compaction/summary", {"summary": OUT})) == OUT
    assert messages.content_blocks(event("tool/ptc-dispatch", {"content": OUT})) == OUT
    assert messages.content_blocks(event("team/message/queued", {"message": {"content": OUT}})) == OUT
    stream = [{"type": "text-chunks", "index": 0, "texts": ["o", "ut"]}]
    assert messages.content_blocks(event("assistant/attempt", {"stream": stream})) == OUT
