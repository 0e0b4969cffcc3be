"""Filters: checked and copied before any work starts, then applied (spec: engine contract, section 3).

A filter is a JSON object `{"kind": ..., ...}`; a list of filters ANDs, the values of one clause OR. `parse_*` turn the
caller's list into frozen clauses; unknown keys are dropped, everything else that is wrong is `INVALID_FILTER`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from palimpsest_core.base.casefold import literal_pattern
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.event import Surface
from palimpsest_core.model.jsonable import NULL
from palimpsest_core.model.session import SessionRecord


class Values(msgspec.Struct, frozen=True):
    """Accept what equals one of `values`; None among them stands for an absent field. No values match nothing."""

    kind: str
    values: tuple[str | None, ...]


class Range(msgspec.Struct, frozen=True):
    """Accept `low <= x <= high`, each bound optional. Whole bounds are integers."""

    kind: str
    low: int | float | None = None
    high: int | float | None = None


class Text(msgspec.Struct, frozen=True):
    """Accept documents that hold `text` literally (see `literal_pattern`); kept as given, blank or not."""

    kind: str
    text: str


Clause = Values | Range | Text

_SESSION_KINDS = ("id", "cwd", "created-at", "parent", "availability")
_EVENT_KINDS = ("seq", "time", "type", "surface", "text")
_RANGES = ("created-at", "seq", "time")
_NULLABLE = ("cwd", "parent")
_CHOICES: dict[str, tuple[str, ...]] = {
    "availability": ("live", "persisted"),
    "surface": (Surface.CURRENT.value, Surface.SHADOWED.value, Surface.LOG_ONLY.value),
}


def _bad(message: str) -> SessionQueryError:
    return SessionQueryError(ErrorCode.INVALID_FILTER, message)


def parse_session_filters(raw: Any, *, optional: bool = False) -> list[Clause]:
    """Check and copy session filters: `id`, `cwd`, `created-at`, `parent`, `availability`.

    `optional` lets an absent list (None) mean none. Raises `INVALID_FILTER`.
    """
    return _parse(raw, _SESSION_KINDS, "session", optional)


def parse_event_filters(raw: Any, *, optional: bool = False, text: bool = True, withheld: bool = False) -> list[Clause]:
    """Check and copy event filters: `seq`, `time`, `type`, `surface` and, where `text` allows it, `text`.

    `optional` lets an absent list (None) mean none. `withheld` knows that surface too: a tolerant search finds the rows
    that damage withholds. A blank text passes here: it is looked at only once the session is known to exist
    (`text_patterns`). Raises `INVALID_FILTER`.
    """
    return _parse(raw, _EVENT_KINDS if text else _EVENT_KINDS[:-1], "event", optional, withheld)


def _parse(raw: Any, kinds: Sequence[str], what: str, optional: bool, withheld: bool = False) -> list[Clause]:
    if raw is None and optional:
        return []
    if not isinstance(raw, (list, tuple)):
        raise _bad(f"The {what} filters must be a list of filters.")
    return [_clause(item, kinds, what, withheld) for item in raw]


def _clause(raw: Any, kinds: Sequence[str], what: str, withheld: bool) -> Clause:
    kind = raw.get("kind") if isinstance(raw, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        if kind == "text":
            raise _bad("A text filter scans one session's documents; it is not allowed in a search.")
        raise _bad(f"{what.capitalize()} filters know the kinds {', '.join(kinds)}, not {_shown(kind)}.")
    assert isinstance(raw, Mapping)
    if kind in _RANGES:
        return _range(kind, raw)
    if kind == "text":
        text = raw.get("text")
        if not isinstance(text, str):
            raise _bad("The text of a text filter must be a string.")
        return Text(kind, text)
    return _values(kind, raw.get("values"), withheld)


def _shown(kind: Any) -> str:
    return f'"{kind}"' if isinstance(kind, str) else "one that is no text"


def _range(kind: str, raw: Mapping[str, Any]) -> Range:
    low, high = (_bound(kind, key, raw[key]) if key in raw else None for key in ("from", "to"))
    if low is not None and high is not None and low > high:
        raise _bad(f"The {kind} filter's from must not be above its to.")
    return Range(kind, low, high)


def _bound(kind: str, key: str, value: Any) -> int | float:
    """A finite number as the double that the contract compares with, whole ones as an integer."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _bad(f"The {kind} filter's {key} must be a finite number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _bad(f"The {kind} filter's {key} must be a finite number.")
    whole = int(number)
    return whole if whole == number else number


def _values(kind: str, raw: Any, withheld: bool) -> Values:
    nullable = kind in _NULLABLE
    fits = isinstance(raw, (list, tuple)) and all(isinstance(item, str) or (nullable and item is None) for item in raw)
    if not fits:
        raise _bad(f"The {kind} filter's values must be a list of strings{' or null' if nullable else ''}.")
    values = tuple(raw)
    choices = _CHOICES.get(kind)
    if withheld and kind == "surface":
        choices = tuple(Surface)
    if choices is not None:
        for item in values:
            if item not in choices:
                raise _bad(f'The {kind} filter knows {", ".join(choices)}, not "{item}".')
        values = tuple(str(item) for item in values)
    return Values(kind, values)


def session_matcher(clauses: Iterable[Clause]) -> Callable[[SessionRecord], bool]:
    """A predicate over session records that accepts what every clause accepts."""
    tests = [_session_test(clause) for clause in clauses]
    return lambda record: all(test(record) for test in tests)


def _session_test(clause: Clause) -> Callable[[SessionRecord], bool]:
    if isinstance(clause, Range):
        low, high = _limits(clause)
        return lambda record: low <= record.header.created_at <= high
    assert isinstance(clause, Values)
    values = frozenset(clause.values)
    if clause.kind == "id":
        return lambda record: record.header.id in values
    if clause.kind == "cwd":
        return lambda record: record.header.cwd in values
    if clause.kind == "parent":
        return lambda record: _parent(record) in clause.values
    live, persisted = "live" in values, "persisted" in values
    return lambda record: (live and record.live) or (persisted and record.persisted)


def _parent(record: SessionRecord) -> Any:
    """The parent as filters compare it; one that is stored as null counts as none."""
    parent: Any = record.header.parent_session
    return None if parent is NULL else parent


def _limits(clause: Range) -> tuple[int | float, int | float]:
    return (
        -math.inf if clause.low is None else clause.low,
        math.inf if clause.high is None else clause.high,
    )


EventTest = Callable[[int, str, int, str], bool]
"""Takes seq, type, time (epoch ms) and surface of an event."""


def event_matcher(clauses: Iterable[Clause]) -> EventTest:
    """A predicate over an event's place (seq, type, time, surface); text clauses are left to `text_patterns`."""
    tests = [_event_test(clause) for clause in clauses if not isinstance(clause, Text)]
    return lambda seq, kind, time, surface: all(test(seq, kind, time, surface) for test in tests)


def _event_test(clause: Clause) -> EventTest:
    if isinstance(clause, Range):
        low, high = _limits(clause)
        if clause.kind == "seq":
            return lambda seq, kind, time, surface: low <= seq <= high
        return lambda seq, kind, time, surface: low <= time <= high
    assert isinstance(clause, Values)
    values = frozenset(clause.values)
    if clause.kind == "type":
        return lambda seq, kind, time, surface: kind in values
    return lambda seq, kind, time, surface: surface in values


def text_patterns(clauses: Iterable[Clause]) -> list[re.Pattern[str]]:
    """The patterns that a document's text must all hold. A blank text is `INVALID_FILTER`."""
    patterns = []
    for clause in clauses:
        if isinstance(clause, Text):
            pattern = literal_pattern(clause.text)
            if pattern is None:
                raise _bad("The text of a text filter must not be blank.")
            patterns.append(pattern)
    return patterns
