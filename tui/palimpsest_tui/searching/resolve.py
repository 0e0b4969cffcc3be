"""From words to what the engine is asked: filters of events, and the sessions that the words leave. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from palimpsest_core import LABELS
from palimpsest_core.model.session import Lineage, SessionState, SessionSummary
from palimpsest_tui.searching.dates import bounds
from palimpsest_tui.searching.words import IS_EVENT, IS_SHORT, IS_VALUES

if TYPE_CHECKING:
    from palimpsest_tui.searching.words import Chip, SearchText

_SURFACES = frozenset(IS_EVENT)
_TOOL_TYPES = ("tool/call", "tool/result")
_ALL_TYPES = tuple(LABELS)
_Test = Callable[[SessionSummary], bool]


class Scope(StrEnum):
    """Where the search looks."""

    EVENT = "this event"
    SESSION = "this session"
    LINEAGE = "this lineage"
    PROJECT = "this project"
    ALL = "everything"


class ToolWord(NamedTuple):
    """A tool that events must be calls or results of (or must not be): a part of its name."""

    name: str
    negated: bool


class Resolved(NamedTuple):
    """What a search asks for.

    `test` is None when every session may answer. `event_filters` are the engine's. `problems` says of each invalid word
    (by its place among the chips) what is wrong with it; invalid words take no part. `tool` is the name of a tool that
    stands in for the phrase where there is none. `tools` are all tools that are named; the index does not know them.
    """

    test: _Test | None
    event_filters: list[dict[str, Any]]
    problems: dict[int, str]
    tool: str | None = None
    tools: tuple[ToolWord, ...] = ()

    def sessions(self, all_sessions: Iterable[SessionSummary]) -> list[SessionSummary]:
        """The sessions that may answer."""
        if self.test is None:
            return list(all_sessions)
        return [session for session in all_sessions if self.test(session)]


def resolve(search: SearchText, sessions: Sequence[SessionSummary], now_ms: int) -> Resolved:
    """Read the filter words against the sessions that are known."""
    tests: list[_Test] = []
    either: dict[str, list[_Test]] = {}
    types: set[str] | None = None
    surfaces: set[str] | None = None
    low: int | None = None
    high: int | None = None
    tool: str | None = None
    tools: list[ToolWord] = []
    problems: dict[int, str] = {}
    for place, chip in enumerate(search.chips):
        if chip.kind in ("since", "until"):
            found = bounds(chip.value, now_ms)
            if found is None:
                problems[place] = "no such day"
            elif (chip.kind == "since") is not chip.negated:
                low = max(found[0] if not chip.negated else found[1] + 1, low or 0)
            else:
                edge = found[1] if not chip.negated else found[0] - 1
                high = edge if high is None else min(edge, high)
        elif chip.kind == "type":
            named = {name for name in _ALL_TYPES if chip.value.lower() in name}
            if not named:
                problems[place] = "no such type"
                continue
            named = set(_ALL_TYPES) - named if chip.negated else named
            types = named if types is None else types & named if chip.negated else types | named
        elif chip.kind == "is" and (word := IS_SHORT.get(chip.value.lower(), chip.value.lower())) in _SURFACES:
            wanted = set(_SURFACES) - {word} if chip.negated else {word}
            surfaces = wanted if surfaces is None else surfaces & wanted if chip.negated else surfaces | wanted
        elif chip.kind == "tool":
            tools.append(ToolWord(chip.value, chip.negated))
            if chip.negated:
                continue
            tool = chip.value
            types = set(_TOOL_TYPES) if types is None else types & set(_TOOL_TYPES)
        else:
            made = _session_test(chip, sessions)
            if isinstance(made, str):
                problems[place] = made
            elif chip.negated:
                tests.append(_not(made))
            else:
                either.setdefault(chip.kind, []).append(made)
    if low is not None and high is not None and low > high:
        late = max(place for place, chip in enumerate(search.chips) if chip.kind in ("since", "until"))
        problems[late] = "the span ends before it begins"
        low = high = None
    tests += [group[0] if len(group) == 1 else _any(group) for group in either.values()]
    if (low is not None or high is not None) and not search.phrase:
        tests.append(_in_time(low, high))
    event_filters: list[dict[str, Any]] = []
    if types is not None:
        event_filters.append({"kind": "type", "values": sorted(types)})
    if surfaces is not None:
        event_filters.append({"kind": "surface", "values": sorted(surfaces)})
    if low is not None or high is not None:
        edges = {"from": low, "to": high}
        event_filters.append({"kind": "time", **{key: edge for key, edge in edges.items() if edge is not None}})
    test = None if not tests else tests[0] if len(tests) == 1 else _all(tests)
    return Resolved(test, event_filters, problems, tool, tuple(tools))


def _session_test(chip: Chip, sessions: Sequence[SessionSummary]) -> _Test | str:
    """The test of a session word, or what is wrong with it."""
    value = chip.value.casefold()
    if chip.kind == "is":
        return _is_test(value)
    if chip.kind == "project":
        test: _Test = lambda session: value in _project_of(session).casefold()  # noqa: E731
        return test if any(map(test, sessions)) else "no such project"
    if chip.kind == "id":
        test = lambda session: session.id.casefold().startswith(value)  # noqa: E731
        return test if any(map(test, sessions)) else "no such id"
    if chip.kind == "parent":
        test = lambda session: (session.parent or "").casefold().startswith(value) and bool(session.parent)  # noqa: E731
        return test if any(map(test, sessions)) else "no session has such a parent"
    test = lambda session: value in (session.model or "").casefold()  # noqa: E731
    return test if any(map(test, sessions)) else "no such model"


def _is_test(value: str) -> _Test | str:
    if value == "active":
        return lambda session: session.state is SessionState.ACTIVE
    if value == "root":
        return lambda session: session.parent is None
    if value == "fork":
        return lambda session: session.lineage is Lineage.FORK
    if value == "sub":
        return lambda session: session.lineage in (Lineage.SUBAGENT_FRESH, Lineage.SUBAGENT_FORKED)
    if value == "damaged":
        return lambda session: session.state in (SessionState.DAMAGED, SessionState.UNREADABLE)
    return "one of " + ", ".join(IS_VALUES)


def _project_of(session: SessionSummary) -> str:
    cwd = session.header.cwd if session.header is not None else None
    return f"{cwd or ''}\n{session.project or ''}"


def _in_time(low: int | None, high: int | None) -> _Test:
    def test(session: SessionSummary) -> bool:
        last = session.last_time or session.created_at or 0
        first = session.created_at or last
        return (low is None or last >= low) and (high is None or first <= high)

    return test


def _not(test: _Test) -> _Test:
    return lambda session: not test(session)


def _all(tests: Sequence[_Test]) -> _Test:
    return lambda session: all(test(session) for test in tests)


def _any(tests: Sequence[_Test]) -> _Test:
    return lambda session: any(test(session) for test in tests)
