"""The views of the timeline: which class each event has in each of them. Pure; reads the columns of the event table."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from palimpsest_core import Flag, Mark
from palimpsest_tui.widgets.timeline_rows import (
    BLOCK,
    BOUNDARY,
    CHUNK,
    HIDDEN,
    RESUME,
    SINGLE,
    FoldedRows,
    TimelineRows,
)

if TYPE_CHECKING:
    from palimpsest_core import EventTable


class View(StrEnum):
    """What the timeline shows."""

    ALL = "all"
    CURRENT = "current"
    SHADOWED = "shadowed"
    LOG_ONLY = "log-only"
    CONVERSATION = "conversation"
    ERRORS = "errors"


_BOUNDARY_TYPES = frozenset({"turn/start", "turn/end", "step/start", "step/end"})
_CONVERSATION_TYPES = frozenset({"assistant/message", "user/message", "steering/message"})
"""Everything said to and by the model; labels tell prompts of the person from what was injected, relayed, summed up."""
_FOLDED_FLAGS = {Flag.CHUNK: CHUNK, Flag.RESUME: RESUME}


def classes(table: EventTable, view: View, start: int = 0, stop: int | None = None) -> bytes:
    """The class of each event of `start`..`stop` in a view, one byte each."""
    end = len(table) if stop is None else stop
    if view is View.ALL:
        return _by_type(table, start, end)
    if view is View.LOG_ONLY:
        return _masked(_by_type(table, start, end), table.surfaces[start:end].translate(_only(Mark.LOG_ONLY)))
    if view is View.CURRENT:
        return bytes(table.surfaces[start:end].translate(_only(Mark.CURRENT)))
    if view is View.SHADOWED:
        return bytes(table.surfaces[start:end].translate(_only(Mark.SHADOWED)))
    if view is View.ERRORS:
        return bytes(table.flags[start:end].translate(_any_flag(Flag.ERROR | Flag.WITHHELD)))
    prompts = table.flags[start:end].translate(_any_flag(Flag.PROMPT))
    answers = [SINGLE if name in _CONVERSATION_TYPES else HIDDEN for name in table.types]
    said = bytes(map(answers.__getitem__, table.type_ids[start:end]))
    return bytes(map(max, said, prompts))


def build_rows(table: EventTable, view: View, cut: int | None, stop: int) -> TimelineRows:
    """The rows of the first `stop` events; `cut` leading ones are the inherited prefix. About 0.3 s for a million."""
    seam = min(cut or 0, stop)
    prefix = _rows(table, view, 0, seam)
    if not len(prefix):
        return TimelineRows(_rows(table, view, seam, stop))
    return TimelineRows(_rows(table, view, seam, stop), prefix, seam)


def _rows(table: EventTable, view: View, start: int, stop: int) -> FoldedRows:
    rows = FoldedRows(offset=start)
    for at in range(start, stop, BLOCK):
        rows.extend(classes(table, view, at, min(at + BLOCK, stop)))
    return rows


def _by_type(table: EventTable, start: int, end: int) -> bytes:
    by_type = [BOUNDARY if name in _BOUNDARY_TYPES else SINGLE for name in table.types]
    plain = bytes(map(by_type.__getitem__, table.type_ids[start:end]))
    folds = table.flags[start:end].translate(_FOLDS)
    if not any(folds):
        return plain
    return bytes(map(_pick, plain, folds))


def _pick(plain: int, fold: int) -> int:
    return fold or plain


def _masked(values: bytes, mask: bytes | bytearray) -> bytes:
    return bytes(value if kept else HIDDEN for value, kept in zip(values, mask, strict=True))


def _only(mark: Mark) -> bytes:
    return bytes(SINGLE if value == mark else HIDDEN for value in range(256))


def _any_flag(flags: int) -> bytes:
    return bytes(SINGLE if value & flags else HIDDEN for value in range(256))


def _fold_of(flags: int) -> int:
    """What the flags make of an event's class: raw rows and made-up closers stand alone, whatever their type."""
    if flags & (Flag.WITHHELD | Flag.SYNTHETIC):
        return SINGLE
    return next((fold for flag, fold in _FOLDED_FLAGS.items() if flags & flag), HIDDEN)


_FOLDS = bytes(_fold_of(value) for value in range(256))
