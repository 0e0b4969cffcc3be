"""The order of session ids: locale collation, letter case last (conformance facts, "Order of ids").

Only ids created in the same millisecond are ever compared, so the collation tables are loaded on such ties alone, and
only when an id holds more than ASCII: the order of ASCII is small enough to be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

from palimpsest_core.base.cancel import CancelToken, watched

T = TypeVar("T")

_MARKS = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""ASCII from whitespace to currency; digits and then letters follow. Other control characters do not count."""


@cache
def _ascii_weights() -> dict[str, int]:
    weights = {char: rank for rank, char in enumerate(_MARKS, 1)}
    for rank, char in enumerate("0123456789abcdefghijklmnopqrstuvwxyz", len(_MARKS) + 1):
        weights[char] = weights[char.upper()] = rank
    return weights


def _ascii_key(text: str) -> tuple[list[int], list[bool]]:
    weights = _ascii_weights()
    counted = [char for char in text if char in weights]
    return [weights[char] for char in counted], [char.isupper() for char in counted]


@cache
def _collator() -> Callable[[str], Any]:
    import pyuca

    key: Callable[[str], Any] = pyuca.Collator().sort_key
    return key


def sort_ids(items: Iterable[T], id_of: Callable[[T], str], cancel: CancelToken | None = None) -> list[T]:
    """`items` by the collation of their ids; ids that tie completely (canonically equal ones) by code point.

    Raises `ABORTED` once `cancel` is set.
    """
    group = sorted(items, key=id_of)
    if len(group) < 2:
        return group
    if all(id_of(item).isascii() for item in group):
        return _sorted_by(group, [_ascii_key(id_of(item)) for item in watched(group, cancel)])
    collate = _collator()
    return _sorted_by(group, [collate(id_of(item)) for item in watched(group, cancel)])


def _sorted_by(items: list[T], keys: list[Any]) -> list[T]:
    return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__)]


def sort_by_creation(
    items: Sequence[T],
    created_at: Callable[[T], int],
    id_of: Callable[[T], str],
    *,
    newest_first: bool,
    cancel: CancelToken | None = None,
) -> list[T]:
    """`items` by creation time, ties by the collation of ids (ascending in either case).

    Raises `ABORTED` once `cancel` is set.
    """
    times: dict[int, list[T]] = {}
    for item in watched(items, cancel):
        times.setdefault(created_at(item), []).append(item)
    ordered: list[T] = []
    for time in watched(sorted(times, reverse=newest_first), cancel):
        ordered.extend(sort_ids(times[time], id_of, cancel))
    return ordered
