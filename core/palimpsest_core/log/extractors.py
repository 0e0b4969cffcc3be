"""The built-in extractors: one small function for each kind of payload, gathered in tables.

Each takes JSON of any shape and gives text parts, or `Inside` where nested content blocks go on. Reasoning is private:
no extractor gives any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from palimpsest_core.log.shapes import member, objects_at, strings_of, text_at
from palimpsest_core.log.streams import attempt_content


class Inside(NamedTuple):
    """Content blocks whose parts belong here."""

    content: Any


Part = str | Inside
_Extract = Callable[[Any], Iterable[Part]]


def nothing(_: Any) -> Iterable[Part]:
    """No text: boundaries, settings, private reasoning."""
    return ()


def every_string(value: Any) -> Iterable[Part]:
    """Every string of a payload that nobody knows, except the type tags in it."""
    return strings_of(value)


def texts(*keys: str) -> _Extract:
    """The texts directly under `keys`."""
    return lambda data: [text_at(data, key) for key in keys]


# Blocks.


def tool_call(block: Any) -> Iterable[Part]:
    """Name and raw arguments, of a block as of a `tool/call`."""
    return (text_at(block, "name"), text_at(block, "arguments"))


def nested(block: Any) -> Iterable[Part]:
    """What the block's own content gives."""
    return (Inside(member(block, "content")),)


def attached_name(block: Any) -> Iterable[Part]:
    """The file name of an attachment."""
    return (text_at(block, "attachment", "name"),)


# The events of the contract's table.


def _message_content(message: Any) -> Any:
    """The blocks of a message; a v4 tool message counts like the wrapped result of older generations."""
    return member(message, "content")


def user_message(data: Any) -> Iterable[Part]:
    """A user message: its payload is the message."""
    return (Inside(_message_content(data)),)


def wrapped_message(data: Any) -> Iterable[Part]:
    """A payload with a message in it."""
    return (Inside(_message_content(member(data, "message"))),)


def tool_result(data: Any) -> Iterable[Part]:
    """The result's content, then the error's name and code."""
    return (
        Inside(_message_content(member(data, "message"))),
        text_at(data, "error", "name"),
        text_at(data, "error", "code"),
    )


def todos(data: Any) -> Iterator[Part]:
    """For each todo its status, then its content."""
    for todo in objects_at(data, "todos"):
        yield text_at(todo, "status")
        yield text_at(todo, "content")


def turn_end(data: Any) -> Iterable[Part]:
    """How the turn ended, unless it was completed."""
    reason = member(data, "reason")
    kind = text_at(reason, "kind")
    if kind == "error":
        return ("error", text_at(reason, "error", "message"))
    return (kind,) if kind in ("aborted", "max-tokens", "interrupted") else ()


# What the full set adds.


def _source(message: Any) -> Iterator[Part]:
    """Texts that a message's source carries: a notice's summary, the sections of a snapshot."""
    source = member(message, "source")
    yield text_at(source, "summary")
    for section in objects_at(source, "sections"):
        yield text_at(section, "text")


def full_user_message(data: Any) -> Iterator[Part]:
    """A user message and the texts of its source."""
    yield from user_message(data)
    yield from _source(data)


def full_wrapped_message(data: Any) -> Iterator[Part]:
    """A payload with a message in it, and the texts of that message's source."""
    yield from wrapped_message(data)
    yield from _source(member(data, "message"))


def full_tool_result(data: Any) -> Iterator[Part]:
    """A tool result and the reason of its error."""
    yield from tool_result(data)
    yield text_at(data, "error", "reason")


def full_turn_end(data: Any) -> Iterator[Part]:
    """How the turn ended, with a hook's reason and the failures of old logs."""
    yield from turn_end(data)
    reason = member(data, "reason")
    yield text_at(reason, "reason", "reason")
    yield text_at(reason, "message")
    yield text_at(reason, "failure", "message")


def attempt(data: Any) -> Iterable[Part]:
    """An attempt that never became a message: its stream is the only copy of its text."""
    return (Inside(attempt_content(data)),)


def dispatch(data: Any) -> Iterator[Part]:
    """A nested call: name, every string of its arguments, content, the reason of its error."""
    yield text_at(data, "name")
    yield from strings_of(member(data, "arguments"), skip=None)
    yield Inside(member(data, "content"))
    yield text_at(data, "error", "reason")


def request_header(data: Any) -> Iterator[Part]:
    """The system prompt of old generations, the descriptions of tools, old prefix messages; never tool schemas."""
    header = member(data, "header")
    yield text_at(header, "system")
    for message in objects_at(header, "messagePrefix"):
        yield Inside(member(message, "content"))
    for tool in objects_at(header, "tools"):
        yield text_at(tool, "description")


def summary(data: Any) -> Iterable[Part]:
    """A compaction's summary and the model's raw output."""
    return (Inside(member(data, "summary")), Inside(member(data, "rawOutput")))


def failure(data: Any) -> Iterable[Part]:
    """The message of a failed request."""
    return (text_at(data, "failure", "message"),)


def compaction_end(data: Any) -> Iterable[Part]:
    """Why a compaction failed, as text or as an object with a message."""
    return (text_at(data, "error"), text_at(data, "error", "message"))


def command_run(data: Any) -> Iterator[Part]:
    """A command with its arguments."""
    yield text_at(data, "name")
    yield from strings_of(member(data, "args"), skip=None)


def search_request(data: Any) -> Iterator[Part]:
    """The question of a web search request."""
    for message in objects_at(data, "body", "messages"):
        yield Inside(member(message, "content"))


def deliverables(data: Any) -> Iterator[Part]:
    """Path and description of presented files."""
    for file in objects_at(data, "files"):
        yield text_at(file, "path")
        yield text_at(file, "description")


def goal_change(data: Any) -> Iterable[Part]:
    """A goal's objective and what blocks it."""
    return (text_at(data, "goal", "objective"), text_at(data, "goal", "blockedReason", "message"))


def descriptor(data: Any) -> Iterator[Part]:
    """A subagent's label and persona."""
    yield text_at(data, "label")
    yield from strings_of(member(data, "persona"))


def team_member(data: Any) -> Iterator[Part]:
    """A team member's name, description and error."""
    person = member(data, "member")
    yield text_at(person, "name")
    yield text_at(person, "description")
    yield text_at(person, "error")
    yield text_at(person, "error", "message")


def steering(data: Any) -> Iterable[Part]:
    """An old steering message, wrapped or direct."""
    return full_user_message(data["message"] if isinstance(member(data, "message"), dict) else data)


def at(path: tuple[str, ...], extract: _Extract) -> _Extract:
    """`extract` of the value under `path`."""
    return lambda data: extract(member(data, *path))


REFERENCE_BLOCKS: Final[Mapping[str, _Extract]] = {
    "text": texts("text"),
    "tool-call": tool_call,
    "tool-result": nested,
}

FULL_BLOCKS: Final[Mapping[str, _Extract]] = {
    **REFERENCE_BLOCKS,
    "reasoning": nothing,
    "image": attached_name,
    "file": attached_name,
    "tool-addition": texts("toolName"),
    "tool-removal": texts("toolName"),
    "compaction": nothing,
}

REFERENCE_EVENTS: Final[Mapping[str, _Extract]] = {
    "user/message": user_message,
    "assistant/message": wrapped_message,
    "tool/call": tool_call,
    "tool/result": tool_result,
    "todo/write": todos,
    "turn/end": turn_end,
}

# Their text, if any, is a copy (title requests) or is read across events (chunks, inbox: see `log.loose`).
_SILENT: Final = (
    "assistant/chunk",
    "agent/inbox/spliced",
    "turn/start",
    "step/start",
    "step/end",
    "request/context",
    "model/selection",
    "llm/retry-started",
    "tool-workflow/agent-end",
    "tool-workflow/run-end",
    "workspace/changes",
    "image/offload",
    "session/title-llm-request",
    "session/end-seed",
    "session-log-deepseek/delivery-accepted",
    "agent-preset/selected",
    "permission/preset",
    "plan/mode",
    "sandbox/mode",
    "approval/decided",
    "approval/policy",
    "compaction/start",
    "compaction/prune",
    "compact/start",
    "compact/prune",
    "feedback/message-delete",
    "hook/invoked",
    "subagent/model-selection-policy",
    "team/message/delivered",
)

FULL_EVENTS: Final[Mapping[str, _Extract]] = {
    **dict.fromkeys(_SILENT, nothing),
    **REFERENCE_EVENTS,
    "user/message": full_user_message,
    "assistant/message": full_wrapped_message,
    "tool/result": full_tool_result,
    "turn/end": full_turn_end,
    "steering/message": steering,
    "system/message": full_wrapped_message,
    "developer/message": full_wrapped_message,
    "assistant/attempt": attempt,
    "request/header": request_header,
    "llm/retry": failure,
    "web/deepseek-search-llm-request": search_request,
    "tool/code-dispatch-start": dispatch,
    "tool/code-dispatch": dispatch,
    "tool/ptc-dispatch-start": dispatch,
    "tool/ptc-dispatch": dispatch,
    "tool-workflow/run-start": texts("name"),
    "tool-workflow/agent-start": texts("label"),
    "deliverables/presented": deliverables,
    "session/title": texts("title"),
    "approval/asked": texts("reason"),
    "command/run": command_run,
    "command/done": texts("text"),
    "compaction/summary": summary,
    "compact/summary": summary,
    "compaction/end": compaction_end,
    "compact/end": compaction_end,
    "feedback/record": texts("text"),
    "feedback/message-put": at(("item",), texts("note")),
    "goal/change": goal_change,
    "hook/result": texts("stderrSummary"),
    "schedule/change": at(("schedule",), texts("prompt")),
    "subagent/descriptor": descriptor,
    "subagent/catalog": texts("label"),
    "team/member": team_member,
    "team/task": at(("task",), texts("subject", "description")),
    "team/message/queued": at(("message",), nested),
}
