"""The arguments of the five tools: what a client is told (JSON Schema) and how a call's arguments are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from palimpsest_core.base.errors import ErrorCode
from palimpsest_core.base.jstext import squeeze
from palimpsest_core.tools.errors import ToolError, invalid_arguments, invalid_filter
from palimpsest_core.tools.times import Instant, first_inside, parse_instant

SURFACES = ("current", "shadowed", "log-only")
AVAILABILITY = ("live", "persisted")


@dataclass(frozen=True)
class Argument:
    """One argument: its kind ("text", "texts", "number", "flag"), what it means, and its choices if it has any."""

    kind: str
    meaning: str
    choices: tuple[str, ...] = ()
    required: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON Schema a client is shown."""
        text: dict[str, Any] = {"type": "string"}
        if self.choices:
            text["enum"] = list(self.choices)
        shape = {
            "text": text,
            "texts": {"type": "array", "items": text, "minItems": 1},
            "number": {"type": "integer", "minimum": 0},
            "flag": {"type": "boolean"},
        }[self.kind]
        return {**shape, "description": self.meaning}


def object_schema(arguments: dict[str, Argument]) -> dict[str, Any]:
    """The JSON Schema of a tool's whole input."""
    return {
        "type": "object",
        "properties": {name: argument.schema() for name, argument in arguments.items()},
        "required": [name for name, argument in arguments.items() if argument.required],
    }


def check_types(arguments: dict[str, Argument], given: Any) -> dict[str, Any]:
    """The known arguments of a call, of the right types; whole floats become integers, unknown names are dropped.

    Raises `INVALID_ARGUMENTS` for a wrong type, a missing argument or an unknown choice.
    """
    if not isinstance(given, dict):
        raise invalid_arguments("The arguments must be an object.")
    out: dict[str, Any] = {}
    for name, argument in arguments.items():
        if name not in given:
            if argument.required:
                raise invalid_arguments(f"{name} is missing.")
            continue
        out[name] = _checked(name, argument, given[name])
    return out


def _checked(name: str, argument: Argument, value: Any) -> Any:
    if argument.kind == "number":
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise invalid_arguments(f"{name} must be an integer.")
        return value
    if argument.kind == "flag":
        if not isinstance(value, bool):
            raise invalid_arguments(f"{name} must be true or false.")
        return value
    texts = value if argument.kind == "texts" else [value]
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        raise invalid_arguments(f"{name} must be {'a list of texts' if argument.kind == 'texts' else 'a text'}.")
    if argument.choices and not set(texts) <= set(argument.choices):
        raise invalid_arguments(f"{name} knows only {', '.join(argument.choices)}.")
    return value


def check_query(arguments: dict[str, Any]) -> str:
    """The query, if it holds anything that can be searched for; else `INVALID_QUERY`."""
    query: str = arguments["query"]
    if not squeeze(query) or "\0" in query:
        message = "The query must hold text that is not blank and has no NUL character."
        raise ToolError(ErrorCode.INVALID_QUERY, message)
    return query


def check_lists(arguments: dict[str, Any]) -> None:
    """An optional list that is given must not be empty (`INVALID_FILTER`)."""
    for name, value in arguments.items():
        if value == []:
            raise invalid_filter(f"{name} must not be an empty list; leave it out instead.")


def check_not_negative(arguments: dict[str, Any], *names: str) -> None:
    """Sequence numbers and counts start at 0 (`INVALID_FILTER`)."""
    for name in names:
        if arguments.get(name, 0) < 0:
            raise invalid_filter(f"{name} must not be negative.")


@dataclass(frozen=True)
class Span:
    """An inclusive range of whole numbers; either end may be open. `empty` if nothing can lie inside."""

    low: int | None = None
    high: int | None = None

    @property
    def empty(self) -> bool:
        """Whether no whole number lies inside."""
        return self.low is not None and self.high is not None and self.low > self.high

    def filters(self, kind: str) -> list[dict[str, Any]]:
        """The engine's filter for this range, or none where both ends are open."""
        if self.low is None and self.high is None:
            return []
        clause: dict[str, Any] = {"kind": kind}
        if self.low is not None:
            clause["from"] = self.low
        if self.high is not None:
            clause["to"] = self.high
        return [clause]


def seq_span(arguments: dict[str, Any], low: str, high: str) -> Span:
    """A range of sequence numbers; reversed bounds are `INVALID_FILTER`."""
    check_not_negative(arguments, low, high)
    span = Span(arguments.get(low), arguments.get(high))
    if span.empty:
        raise invalid_filter(f"{low} must not be above {high}.")
    return span


def time_span(arguments: dict[str, Any], low: str, high: str) -> Span:
    """The whole milliseconds within two instants of any precision, both inclusive.

    A `from` finer than a millisecond leaves out what happened at that millisecond, a `to` finer than it does not; so
    two bounds within one millisecond give an empty span. Reversed instants are `INVALID_FILTER`.
    """
    first: Instant | None = parse_instant(arguments[low], low) if low in arguments else None
    last: Instant | None = parse_instant(arguments[high], high) if high in arguments else None
    if first is not None and last is not None and first > last:
        raise invalid_filter(f"{low} must not be after {high}.")
    return Span(first_inside(first) if first is not None else None, last.milliseconds if last is not None else None)
