"""Short labels of event kinds, for the column in front of a gist."""

from __future__ import annotations

from typing import Final

from palimpsest_core.base.printable import printable_line
from palimpsest_core.log.messages import source_kind, speaker_of
from palimpsest_core.log.shapes import text_at
from palimpsest_core.model.event import Event
from palimpsest_core.model.session import Speaker

LABELS: Final = {
    "user/message": "user",
    "assistant/message": "asst",
    "assistant/attempt": "attempt",
    "assistant/chunk": "chunk",
    "tool/call": "call",
    "tool/result": "result",
    "system/message": "system",
    "developer/message": "dev",
    "steering/message": "user",
    "turn/start": "turn",
    "turn/end": "turn",
    "step/start": "step",
    "step/end": "step",
    "agent/inbox/spliced": "inbox",
    "request/header": "request",
    "request/context": "context",
    "request/header-delta": "request",
    "model/selection": "model",
    "llm/retry": "retry",
    "llm/retry-started": "retry",
    "web/deepseek-search-llm-request": "search",
    "tool/code-dispatch-start": "nested",
    "tool/code-dispatch": "nested",
    "tool/ptc-dispatch-start": "nested",
    "tool/ptc-dispatch": "nested",
    "tool-workflow/run-start": "flow",
    "tool-workflow/agent-start": "flow",
    "tool-workflow/agent-end": "flow",
    "tool-workflow/run-end": "flow",
    "todo/write": "todo",
    "deliverables/presented": "files",
    "workspace/changes": "files",
    "image/offload": "image",
    "session/title": "title",
    "session/title-llm-request": "title",
    "session/end-seed": "seed",
    "session-log-deepseek/delivery-accepted": "log",
    "agent-preset/selected": "preset",
    "permission/preset": "preset",
    "plan/mode": "plan",
    "sandbox/mode": "sandbox",
    "approval/asked": "approve",
    "approval/decided": "approve",
    "approval/policy": "approve",
    "command/run": "command",
    "command/done": "command",
    "compaction/start": "compact",
    "compaction/summary": "compact",
    "compaction/end": "compact",
    "compaction/prune": "prune",
    "compact/start": "compact",
    "compact/summary": "compact",
    "compact/end": "compact",
    "compact/prune": "prune",
    "feedback/record": "note",
    "feedback/message-put": "note",
    "feedback/message-delete": "note",
    "goal/change": "goal",
    "hook/invoked": "hook",
    "hook/result": "hook",
    "schedule/change": "sched",
    "subagent/descriptor": "agent",
    "subagent/model-selection-policy": "agent",
    "subagent/catalog": "agent",
    "team/member": "team",
    "team/task": "team",
    "team/message/queued": "team",
    "team/message/delivered": "team",
    "mode/set": "mode",
}
"""Label of each known event type; unknown types are labelled `other`, user messages by who speaks."""

OTHER: Final = "other"

_SOURCES: Final = {
    "session-reference": "recall",
    "goal": "goal",
    "skill-invocation": "skill",
    "skill-catalog": "skills",
    "subagent-report": "report",
    "team-message": "team",
    "webhook": "webhook",
    "agent-instructions": "inject",
    "plugin": "inject",
    "system-prompt": "inject",
    "runtime-context": "inject",
}
"""Sources with a label of their own; others are labelled by who speaks, and an unknown kind by itself."""

_SPEAKERS: Final = {
    Speaker.USER: "user",
    Speaker.COMPACTION: "summary",
    Speaker.NOTICE: "notice",
    Speaker.CONTEXT: "inject",
    Speaker.RELAY: "relay",
}


def label_of(event: Event) -> str:
    """The short label of an event's kind."""
    if event.type in ("user/message", "steering/message"):
        return _label_of_source(event)
    if event.type == "assistant/chunk" and text_at(event.data, "chunk", "type") == "usage":
        return "usage"
    return LABELS.get(event.type, OTHER)


def _label_of_source(event: Event) -> str:
    """Who speaks in a user message. Only a person's own prompt is ever called `user`."""
    speaker = speaker_of(event) or Speaker.CONTEXT
    kind = source_kind(event)
    known = _SOURCES.get(kind)
    if speaker in (Speaker.USER, Speaker.COMPACTION):
        return _SPEAKERS[speaker]
    if speaker in (Speaker.NOTICE, Speaker.RELAY):
        return known if known is not None and known != "inject" else _SPEAKERS[speaker]
    if known is not None:
        return known
    own = printable_line(kind.removeprefix("plugin:")[:_SOURCE_MAX]).strip()[:_SOURCE_MAX]
    # A foreign kind must not pass for one of ours.
    return own if own and own.casefold() not in _TAKEN else _SPEAKERS[Speaker.CONTEXT]


_SOURCE_MAX: Final = 7
_TAKEN: Final = frozenset({*LABELS.values(), *_SOURCES.values(), *_SPEAKERS.values(), "you", OTHER})
