"""Generation 0 (0.1.0-rc to 0.1.2): packed rows, `seedLength`, wrapped tool results, and older shapes to be met."""

from __future__ import annotations

from palimpsest_core.formats.generation import HEADER_ALWAYS, HEADER_MAYBE, Generation

SURFACE_TYPES = frozenset({"user/message", "assistant/message", "tool/result"})

REFERENCE_TYPES = frozenset(
    {
        "user/message",
        "assistant/message",
        "assistant/chunk",
        "tool/call",
        "tool/result",
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "agent/inbox/spliced",
        "request/header",
        "request/context",
        "llm/retry",
        "llm/retry-started",
        "web/deepseek-search-llm-request",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "tool-workflow/run-start",
        "tool-workflow/agent-start",
        "tool-workflow/agent-end",
        "tool-workflow/run-end",
        "todo/write",
        "session/title",
        "session/title-llm-request",
        "session/end-seed",
        "agent-preset/selected",
        "permission/preset",
        "plan/mode",
        "sandbox/mode",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "command/run",
        "command/done",
        "compaction/start",
        "compaction/summary",
        "compaction/end",
        "compaction/prune",
        "feedback/record",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "schedule/change",
        "subagent/descriptor",
        "team/member",
        "team/task",
        "team/message/queued",
        "team/message/delivered",
    }
)
"""The 48 types that the last release of this generation declares."""

LATE_TYPES = frozenset({"model/selection", "subagent/model-selection-policy", "session-log-deepseek/delivery-accepted"})
"""Added by the pre-releases that still wrote generation 0."""

OLD_TYPES = frozenset(
    {
        "steering/message",
        "request/header-delta",
        "mode/set",
        "compact/start",
        "compact/summary",
        "compact/end",
        "compact/prune",
    }
)
"""Gone before the first release that is still about; `formats.legacy` reads those that have a newer name."""

TYPES = REFERENCE_TYPES | LATE_TYPES | OLD_TYPES

GENERATION = Generation(0, HEADER_ALWAYS, HEADER_MAYBE | {"seedLength"}, True, True, SURFACE_TYPES, TYPES)
