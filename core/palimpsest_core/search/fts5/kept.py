"""Best lists that are kept: a common word asked for again costs what a rare one costs.

A list holds the best document of the best sessions for one request. It stays exact while the corpus changes: sessions
that changed since are taken out and, with their best document of now, put in where they belong; what was worse than the
last of the list, and did not change, still is. When too little is left, or too much changed, the list is made anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable

import msgspec

from palimpsest_core.search.fts5.ranking import Ranked, rank

LISTS = 64
SESSIONS = 64
"""How many lists are kept, and how many sessions each holds at least, if there are so many."""

MOST_CHANGED = 64
"""When more logs than these changed, a list is made anew."""


class KeptList(msgspec.Struct, frozen=True):
    """Best documents, best first, as of a generation. `complete`: there are no more.

    `matches` fills up with the numbers of matching documents of the logs that were asked about.
    """

    generation: int
    found: list[Ranked]
    complete: bool
    matches: dict[int, int] = msgspec.field(default_factory=dict)


class KeptLists:
    """The lists of one index, the latest used ones. Not thread-safe."""

    def __init__(self) -> None:
        self._lists: OrderedDict[Hashable, KeptList] = OrderedDict()

    def get(self, key: Hashable, generation: int, wanted: int) -> KeptList | None:
        """At least `wanted` documents (or all there are) as of `generation`, None when they are not known."""
        kept = self._lists.get(key)
        if kept is None or kept.generation != generation or not (kept.complete or len(kept.found) >= wanted):
            return None
        self._lists.move_to_end(key)
        return kept

    def put(self, key: Hashable, kept: KeptList) -> None:
        """Keep a list in the place of an older one."""
        self._lists[key] = kept
        self._lists.move_to_end(key)
        if len(self._lists) > LISTS:
            self._lists.popitem(last=False)

    def older(self, key: Hashable) -> KeptList | None:
        """The list of a request, whatever its generation."""
        return self._lists.get(key)


def brought_up_to_date(
    kept: KeptList,
    generation: int,
    changed: Iterable[str],
    exists: Callable[[list[int]], set[int]],
    best_of_changed: Callable[[], list[Ranked]],
) -> KeptList:
    """`kept` as of a later generation.

    `changed`: ids of the sessions whose log was written since. `exists` tells which log numbers still answer.
    `best_of_changed` gives the best document of each changed session that has one.
    """
    gone = set(changed)
    there = exists([ranked.number for ranked in kept.found])
    found = [ranked for ranked in kept.found if ranked.session not in gone and ranked.number in there]
    found = sorted([*found, *best_of_changed()], key=rank)
    if not kept.complete and kept.found:
        last = rank(kept.found[-1])
        found = [ranked for ranked in found if rank(ranked) <= last]
    same = {ranked.number for ranked in found} & kept.matches.keys()
    matches = {number: kept.matches[number] for number in same if number in there}
    return KeptList(generation, found, kept.complete, matches)
