"""Events as text to read, and what is shown of a log whose session is at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, row, write

from palimpsest_core import CancelToken, Engine, Event, Flag, SessionState, SessionSummary
from palimpsest_tui.flows.listing import with_known
from palimpsest_tui.jobs.opening import arrange_log, shown_length
from palimpsest_tui.reading.event_doc import TextBuilder
from palimpsest_tui.reading.lines import text_of
from palimpsest_tui.widgets.timeline_views import View


def read(kind: str, data: Any, stored: bool | None = None) -> list[str]:
    builder = TextBuilder(60, wrapped=True, cancel=CancelToken(), stored=lambda _id, _kind: stored)
    document = builder.document(Event(kind, 1, 1, data), [])
    return [text_of(document.line(number)) for number in range(len(document))]


def test_a_queued_message_is_read_as_a_message_with_its_payload_beneath() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "look here"}], "source": {"kind": "user"}}
    lines = read("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [message]})
    assert lines[0] == "user, queued for next-turn"
    assert "look here" in lines
    assert lines.index("look here") < lines.index("target: next-turn")


def test_an_edit_is_read_as_a_diff() -> None:
    arguments = '{"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}'
    lines = read("tool/call", {"callId": "c", "name": "edit", "arguments": arguments})
    assert "-x = 1" in lines
    assert "+x = 2" in lines


def test_an_image_is_read_as_a_card() -> None:
    attachment = {"attachmentId": "sha256:ab", "mediaType": "image/png", "bytes": 4100, "width": 64, "height": 48}
    block = {"type": "image", "attachment": {**attachment, "name": "shot.png"}}
    message = {"role": "user", "content": [block], "source": {"kind": "user"}, "id": "m"}
    for stored in (True, None):
        lines = read("user/message", message, stored)
        assert any("image: shot.png" in line for line in lines)
        assert any("image/png · 4.1 KB · 64x48" in line for line in lines)
        assert not any("attachment store" in line for line in lines)
    assert any("not in the attachment store" in line for line in read("user/message", message, stored=False))


def test_a_text_too_long_to_be_formatted_is_whole_and_says_so() -> None:
    text = "# Heading\n\nsome words\n" * 3_000 + "the end"
    message = {"role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}, "id": "m"}
    lines = read("user/message", message)
    assert "66,007 characters: plain text, formatted up to 40,000" in lines
    assert lines.count("# Heading") == 3_000
    assert "the end" in lines


@pytest.mark.parametrize(
    "data", [None, [], "x", 1, {"content": 1}, {"inserted": [1, {"content": [2]}]}, {"message": []}]
)
@pytest.mark.parametrize("kind", ["user/message", "tool/result", "tool/call", "agent/inbox/spliced", "no/such-type"])
def test_malformed_payloads_are_read_as_what_they_are(kind: str, data: Any) -> None:
    read(kind, data)


def test_nothing_closes_the_open_turn_of_a_session_at_work(tmp_path: Path) -> None:
    write(tmp_path, frames([header(session_id="one"), row(0), prompt(1, "still at it")]), session_id="one")
    with Engine(tmp_path, index=":memory:") as engine:
        log = engine.open_log("one")
        log.load()
    assert log.table.flags[len(log) - 1] & Flag.SYNTHETIC
    assert shown_length(log, live=True) == 2
    assert shown_length(log, live=False) == len(log)
    live = arrange_log(log, View.ALL, True, CancelToken())
    assert live.stop == 2


def test_a_log_that_waits_for_the_index_keeps_its_title_in_the_list() -> None:
    known = SessionSummary("a", "/r/a", SessionState.COMPLETE, title="told", indexed=True, size=5)
    now = SessionSummary("a", "/r/a", SessionState.COMPLETE, size=9, last_time=7)
    (kept,) = with_known([now], [known])
    assert (kept.title, kept.size, kept.last_time) == ("told", 9, 7)
