"""The model-visible history: which events the model sees, and what replaced what (spec: session format, section 5).

`SurfaceFold` takes a log's events one after the other. It is tolerant: a replacement that cannot be applied is skipped,
its node goes to the tail, and the fold says so (`unreliable`, `problem`). `log.validate` reads the same rules strictly.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import Any, Final, NamedTuple

import msgspec

from palimpsest_core.formats.generations import generation as rules_of
from palimpsest_core.log.markers import Marker, Replace, citation_fault, parse_op
from palimpsest_core.model.event import UNSET, Event, Surface

_TYPES: Final = ("user/message", "assistant/message", "tool/result", "system/message", "developer/message")
_CODE: Final = {name: code for code, name in enumerate(_TYPES)}
_ASSISTANT, _RESULT, _SYSTEM = _CODE["assistant/message"], _CODE["tool/result"], _CODE["system/message"]


class FoldStep(NamedTuple):
    """What one event did: its own surface, the seqs it shadowed (model order), and a rule it broke (one sentence)."""

    surface: Surface
    replaced: Sequence[int] = ()
    problem: str | None = None


_LOGGED: Final = FoldStep(Surface.LOG_ONLY)
_APPENDED: Final = FoldStep(Surface.CURRENT)


def surface_types(generation: int) -> frozenset[str]:
    """The event types that may be on the surface of a log of this generation (above 4: as 4)."""
    return frozenset(_TYPES[: 3 if generation < 3 else 4 if generation == 3 else 5])


def append_codes(generation: int) -> dict[str, int]:
    """What `SurfaceFold.append_run` calls the event types whose `append` needs no closer look."""
    return {name: _CODE[name] for name in surface_types(generation) if _CODE[name] != _SYSTEM}


class _Saved(msgspec.Struct, array_like=True):
    """The folded state as bytes hold it; seqs are stored as gaps because those compress well."""

    layout: int
    generation: int
    gaps: list[int]
    codes: bytes
    following: dict[int, int]
    preceding: dict[int, int]
    head: int
    tail: int
    protected: int
    removed: dict[int, list[int]]
    problems: list[str]


_LAYOUT: Final = 1
_PROBLEMS_KEPT: Final = 20
_WALK: Final = 1000


class SurfaceFold:
    """An incremental fold. Push events in ascending seq; ask at any time.

    Nodes are slots in the order in which they arrived, linked into model order. A link to the next slot in arrival
    order is implied, so an append-only log costs one array entry an event, and a replacement costs what it removes.
    One writer; readers in other threads must hold a lock of their caller around `surface`.
    """

    __slots__ = (
        "_allowed",
        "_codes",
        "_following",
        "_head",
        "_known",
        "_order",
        "_preceding",
        "_protected",
        "_seqs",
        "_tail",
        "generation",
        "problems",
        "replaced_by",
        "replaced_seqs",
    )

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self._allowed = {name: _CODE[name] for name in surface_types(generation)}
        self._known = rules_of(generation).types
        self._seqs = array("q")
        self._codes = bytearray()
        self._following: dict[int, int] = {}
        self._preceding: dict[int, int] = {}
        self._head = -1
        self._tail = -1
        self._protected = -1
        self._order: list[int] | None = None
        self.replaced_by: dict[int, int] = {}
        """Seq of a shadowed event -> seq of the event that replaced it."""
        self.replaced_seqs: dict[int, list[int]] = {}
        """Seq of a replacing event -> seqs that it removed, in model order."""
        self.problems: list[str] = []
        """The first rules that were broken, as sentences."""

    @property
    def unreliable(self) -> bool:
        """Whether a rule was broken, so that the model view is a best effort."""
        return bool(self.problems)

    @property
    def current_count(self) -> int:
        """How many nodes are on the surface now."""
        return len(self._seqs) - len(self.replaced_by)

    @property
    def surface(self) -> list[int]:
        """Seqs of the current nodes in model order. The list is cached: do not change it."""
        if self._order is None:
            if self._following or self._tail != len(self._seqs) - 1 or self._head > 0:
                seqs, get, slot, order = self._seqs, self._following.get, self._head, []
                while slot != self._tail:
                    order.append(seqs[slot])
                    slot = get(slot, slot + 1)
                order.append(seqs[slot])
                self._order = order
            else:
                self._order = self._seqs.tolist()
        return self._order

    def surface_at(self, seq: int) -> list[int]:
        """What `surface` was right after event `seq`: later nodes are undone, what they removed stands again."""
        order: list[int] = []
        stack = self.surface[::-1]
        while stack:
            node = stack.pop()
            if node <= seq:
                order.append(node)
            else:
                stack.extend(reversed(self.replaced_seqs.get(node, ())))
        return order

    def kind(self, seq: int) -> Surface:
        """What the model sees of event `seq` now; an unknown seq is log-only."""
        if seq in self.replaced_by:
            return Surface.SHADOWED
        return Surface.LOG_ONLY if self._slot(seq) < 0 else Surface.CURRENT

    def fault_of(self, kind: str, seq: int, op: Replace, sources: Any) -> str | None:
        """Why an event of type `kind` could not replace what `op` names, in one sentence; None when it could."""
        found = self._find(seq, _CODE[kind], op, sources)
        return found if isinstance(found, str) else None

    def push(self, event: Event) -> FoldStep:
        """Take the next event."""
        return self.push_op(event.type, event.seq, event.surface_op, event.source_event_seqs)

    def push_op(self, kind: str, seq: int, op: Any, sources: Any = UNSET) -> FoldStep:
        """Take the next event by its parts: type, seq, `surfaceOp` and `sourceEventSeqs` as stored (pairs expanded).

        Sources decide over replacements only; others are looked at for events that do not exist.
        """
        code = self._allowed.get(kind)
        if code is None:
            return _LOGGED if op is UNSET and sources is UNSET else self._push_marked_in_vain(kind, seq)
        seqs = self._seqs
        if seqs and seq <= seqs[-1]:
            return FoldStep(Surface.LOG_ONLY, (), self._note(f"Event {seq} does not come after event {seqs[-1]}."))
        if op == "append" and code != _SYSTEM:
            self._append(seq, code)
            step = _APPENDED
        else:
            step = self._push_marked(kind, code, seq, op, sources)
        if sources is not UNSET:
            # Generations 0 and 1 say with an empty list that an answer was not streamed.
            empty = code == _ASSISTANT and self.generation < 2
            if (fault := citation_fault(seq, sources, may_be_empty=empty)) is not None:
                self._note(fault)
                step = step if step.problem else step._replace(problem=fault)
        return step

    def _push_marked_in_vain(self, kind: str, seq: int) -> FoldStep:
        """Markers on other types mean nothing: known ones must not have them, unknown ones may in newer generations."""
        if kind not in self._known:
            return _LOGGED
        problem = f"Event {seq} of type {kind} carries surface marks, which this type must not."
        return FoldStep(Surface.LOG_ONLY, (), self._note(problem))

    def _push_marked(self, kind: str, code: int, seq: int, op: Any, sources: Any) -> FoldStep:
        marker = parse_op(op)
        if marker is Marker.APPEND:
            return self._append_system(seq)
        if isinstance(marker, Replace):
            found = self._find(seq, code, marker, sources)
            if not isinstance(found, str):
                return FoldStep(Surface.CURRENT, self._replace(seq, code, found))
            problem = found
        elif marker is Marker.NONE:
            problem = f"Event {seq} of type {kind} has no surface marker."
        else:
            problem = f"The surface marker of event {seq} is neither append nor a replacement of two nodes."
        self._append(seq, code)
        return FoldStep(Surface.CURRENT, (), self._note(problem))

    def push_all(self, events: Iterable[Event]) -> None:
        """Take several events, answers unread."""
        for event in events:
            self.push_op(event.type, event.seq, event.surface_op, event.source_event_seqs)

    def _note(self, problem: str) -> str:
        if len(self.problems) < _PROBLEMS_KEPT:
            self.problems.append(problem)
        return problem

    def _slot(self, seq: int) -> int:
        at = bisect_left(self._seqs, seq)
        return at if at < len(self._seqs) and self._seqs[at] == seq else -1

    def _next(self, slot: int) -> int:
        return -1 if slot == self._tail else self._following.get(slot, slot + 1)

    def _prev(self, slot: int) -> int:
        return -1 if slot == self._head else self._preceding.get(slot, slot - 1)

    def _append(self, seq: int, code: int) -> None:
        slot = len(self._seqs)
        self._seqs.append(seq)
        self._codes.append(code)
        if self._tail != slot - 1:
            self._following[self._tail] = slot
            self._preceding[slot] = self._tail
        if slot == 0:
            self._head = 0
        self._tail = slot
        self._order = None

    def append_run(self, seqs: Sequence[int], codes: bytes | bytearray) -> None:
        """Take several events that append and cite nothing, by ascending seq; `codes` as in `append_codes`."""
        if not seqs:
            return
        self._append(seqs[0], codes[0])
        self._seqs.extend(seqs[1:])
        self._codes.extend(codes[1:])
        self._tail = len(self._seqs) - 1

    def _append_system(self, seq: int) -> FoldStep:
        problem = None
        if not self._seqs:
            self._protected = 0
        elif self._protected < 0:
            problem = f"The system message {seq} comes after other messages, but the surface does not start with one."
        self._append(seq, _SYSTEM)
        return FoldStep(Surface.CURRENT, (), self._note(problem)) if problem else _APPENDED

    def _find(self, seq: int, code: int, op: Replace, sources: Any) -> list[int] | str:
        """The slots that `op` removes, in model order, or the sentence that says why it cannot be applied."""
        first, last = self._slot(op.start), self._slot(op.end)
        lost = [end for slot, end in ((first, op.start), (last, op.end)) if slot < 0 or end in self.replaced_by]
        if len(set(lost)) > 1:
            return f"The replacement {seq} names events {lost[0]} and {lost[1]}, which are not on the surface."
        if lost:
            return f"The replacement {seq} names event {lost[0]}, which is not on the surface."
        cited = set(sources) if isinstance(sources, list) and all(type(item) is int for item in sources) else set()
        slots = self._between(first, last, max(len(cited), _WALK))
        if slots is None:
            return f"The replacement {seq} starts at event {op.start}, which comes after its end, event {op.end}."
        if code == _SYSTEM and (self._protected < 0 or slots != [self._protected]):
            return f"The system message {seq} may replace only the system message at the head of the surface."
        if code != _SYSTEM and self._protected in (first, last):
            return f"The replacement {seq} covers the system message at the head of the surface."
        if code == _RESULT and (len(slots) != 1 or self._codes[first] != _RESULT):
            return f"The tool result {seq} may replace only one tool result."
        if code == _ASSISTANT and self.generation >= 2:
            return f"The assistant message {seq} may not replace anything in this generation."
        uncited = [self._seqs[slot] for slot in slots if self._seqs[slot] not in cited]
        if uncited:
            return f"The replacement {seq} does not cite event {uncited[0]}, which it removes."
        return slots

    def _between(self, first: int, last: int, most: int) -> list[int] | None:
        """Slots from `first` to `last` in model order, `most` + 1 when there are more; None when `last` stands before
        `first`.

        It walks both ways in turn, so that a wrong order costs the distance too and not the rest of the surface; and no
        farther than `most`, so that a short row cannot cost a long surface.
        """
        slots, ahead, behind = [first], first, first
        for _ in range(most):
            if ahead == last:
                return slots
            if ahead >= 0:
                ahead = self._next(ahead)
                slots.append(ahead)
            if behind >= 0:
                behind = self._prev(behind)
                if behind == last:
                    return None
        return slots if ahead >= 0 else None

    def _replace(self, seq: int, code: int, slots: list[int]) -> list[int]:
        before, after, slot = self._prev(slots[0]), self._next(slots[-1]), len(self._seqs)
        self._seqs.append(seq)
        self._codes.append(code)
        for gone in slots:
            self._following.pop(gone, None)
            self._preceding.pop(gone, None)
        if before < 0:
            self._head = slot
        else:
            self._following[before] = slot
            self._preceding[slot] = before
        if after < 0:
            self._tail = slot
        else:
            self._following[slot] = after
            self._preceding[after] = slot
        if slots[0] == self._protected:
            self._protected = slot if code == _SYSTEM else -1
        removed = [self._seqs[gone] for gone in slots]
        self.replaced_seqs[seq] = removed
        for gone in removed:
            self.replaced_by[gone] = seq
        self._order = None
        return removed

    def save(self) -> bytes:
        """The whole state as bytes, small for long logs; `restore` goes on from it."""
        gaps = [*self._seqs[:1], *map(sub, self._seqs[1:], self._seqs)]
        removed = {seq: [b - a for a, b in zip([0, *gone], gone)] for seq, gone in self.replaced_seqs.items()}
        saved = _Saved(
            _LAYOUT,
            self.generation,
            gaps,
            bytes(self._codes),
            self._following,
            self._preceding,
            self._head,
            self._tail,
            self._protected,
            removed,
            self.problems,
        )
        return zlib.compress(msgspec.msgpack.encode(saved), 1)

    @classmethod
    def restore(cls, state: bytes) -> SurfaceFold:
        """The fold that `save` wrote down. Raises ValueError when the bytes are no such state."""
        try:
            saved = msgspec.msgpack.decode(zlib.decompress(state), type=_Saved)
        except (zlib.error, msgspec.DecodeError) as cause:
            raise ValueError("The saved surface cannot be read; fold the log again.") from cause
        if saved.layout != _LAYOUT or len(saved.gaps) != len(saved.codes):
            raise ValueError("The saved surface has another layout; fold the log again.")
        fold = cls(saved.generation)
        fold._seqs = array("q", accumulate(saved.gaps))
        fold._codes = bytearray(saved.codes)
        fold._following, fold._preceding = saved.following, saved.preceding
        fold._head, fold._tail, fold._protected = saved.head, saved.tail, saved.protected
        fold.problems = saved.problems
        for seq, gone in saved.removed.items():
            removed = list(accumulate(gone))
            fold.replaced_seqs[seq] = removed
            fold.replaced_by.update(dict.fromkeys(removed, seq))
        return fold


def fold_events(events: Iterable[Event], generation: int) -> SurfaceFold:
    """The fold of a whole log."""
    fold = SurfaceFold(generation)
    fold.push_all(events)
    return fold
