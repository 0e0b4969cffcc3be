"""A search from request to page: scope, ranking, cursor, hits (engine contract, section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jstext import well_formed
from palimpsest_core.model.search import EventPage, SessionHit, SessionPage
from palimpsest_core.search.cursor import CursorSeal, Place, stale_cursor
from palimpsest_core.search.fts5 import kept as kept_lists
from palimpsest_core.search.fts5.birthplace import Copies, surface_test
from palimpsest_core.search.fts5.directory import Directory
from palimpsest_core.search.fts5.extents import Extents
from palimpsest_core.search.fts5.live import LiveTables
from palimpsest_core.search.fts5.numbers import Numbers
from palimpsest_core.search.fts5.pages import PageBuilder
from palimpsest_core.search.fts5.predicates import event_condition
from palimpsest_core.search.fts5.ranking import Ranked, Ranking, Side, is_live
from palimpsest_core.search.fts5.scanning import LogToScan, ScanScope
from palimpsest_core.search.fts5.spans import SpanCollector
from palimpsest_core.search.fts5.store import Store
from palimpsest_core.search.matching import Matcher, Phrase
from palimpsest_core.search.request import ScanRequest, SearchRequest, check_strict_budget

FEW_RANGES = 8
_RANGE_MS = 0.012
_ROW_MS = 0.00008
"""What a range costs, and again in each segment of the postings; and a row of a whole walk under a mask."""

_SAMPLE = 1_000
_MASK_BYTES = 64 << 20

_STATEMENT_MS = 0.04
"""What a statement of its own for a range costs beside the range."""


class Options(msgspec.Struct, frozen=True):
    """How searches answer. `fold_inherited`: a hit in a prefix that a fork copied is shown at its birthplace only.

    `count_matches`: each session hit tells how many of its events match. `strict`: keep the reference's budget.
    """

    strict: bool = False
    fold_inherited: bool = False
    count_matches: bool = False


class Searcher:
    """Answers requests from the tables of one connection. The caller serialises and opens a read transaction."""

    def __init__(
        self,
        db: apsw.Connection,
        provider_id: str,
        store: Store,
        live: LiveTables,
        matcher: Matcher,
        pages: PageBuilder,
        options: Options,
    ) -> None:
        self._db = db
        self._id = provider_id
        self._store = store
        self._live = live
        self._matcher = matcher
        self._pages = pages
        self._options = options
        self._seal = CursorSeal()
        self._ranking = Ranking(db)
        self._numbers = Numbers(db)
        self._kept = kept_lists.KeptLists()
        self._durable_spans = SpanCollector(db, "fts")
        self._live_spans = SpanCollector(db, "live_fts")
        self._directories: dict[str, tuple[str, Directory]] = {}
        self._segments = (-1, 0)
        self.persisted_active = True
        self.mounts = 0

    # -- pages -----------------------------------------------------------------------------------------------------

    def search_sessions(self, request: SearchRequest, cancel: CancelToken | None) -> SessionPage:
        """A page of sessions, each with its best event."""
        generation = self._corpus_generation()
        offset = self._offset(request, generation)
        phrase = self._matcher.phrase(request.query)
        best = self._best_sessions(request, phrase, offset + request.limit + 1, cancel)
        shown = best.found[offset : offset + request.limit]
        sessions = self._pages.session_rows({ranked.number for ranked in shown})
        more = self._more(best, shown, phrase, request, cancel)
        hits = self._pages.event_hits(shown, phrase)
        rows = [sessions[ranked.number] for ranked in shown]
        items = [
            SessionHit(row.header, row.live, row.persisted, hit, matches, carriers)
            for row, hit, (matches, carriers) in zip(rows, hits, more, strict=True)
        ]
        return SessionPage(self._id, items, self._next(request, generation, offset, len(best.found)))

    def search_events(self, request: SearchRequest, cancel: CancelToken | None) -> EventPage:
        """A page of one session's events. Raises `SESSION_NOT_FOUND`."""
        number = self._number(request.session_id)
        session = self._pages.session_row(number)
        generation = f"live {session.changed}" if session.live else f"{self.mounts} {session.changed}"
        offset = self._offset(request, generation)
        phrase = self._matcher.phrase(request.query)
        side = self._side("live_" if session.live else "", request)
        side.ranges = self._extents(side.prefix).of(number)
        sides = [side] if phrase.tokens and not side.condition.never else []
        found = self._ranking.best_events(sides, phrase, offset + request.limit + 1, cancel) if sides else []
        items = self._pages.event_hits(found[offset : offset + request.limit], phrase)
        return EventPage(self._id, session.header, items, self._next(request, generation, offset, len(found)))

    # -- the best sessions -----------------------------------------------------------------------------------------

    def _best_sessions(
        self, request: SearchRequest, phrase: Phrase, wanted: int, cancel: CancelToken | None
    ) -> kept_lists.KeptList:
        """At least `wanted` sessions, best first, or all there are; from a kept list where there is one."""
        if not phrase.tokens:
            return kept_lists.KeptList(0, [], True)
        if len(self._live) or not self.persisted_active:
            return self._listed(request, phrase, wanted, cancel)
        key = (phrase.expression, request.session_filters, request.event_filters)
        generation = self._store.generation
        best = self._kept.get(key, generation, wanted)
        if best is None:
            best = self._later(request, phrase, generation, cancel)
            if best is None or not (best.complete or len(best.found) >= wanted):
                best = self._listed(request, phrase, max(wanted, kept_lists.SESSIONS), cancel)
            self._kept.put(key, best)
        return best

    def _listed(
        self, request: SearchRequest, phrase: Phrase, wanted: int, cancel: CancelToken | None
    ) -> kept_lists.KeptList:
        """The best `wanted` sessions, looked for now. Where all matches are at hand they are counted by the way."""
        sides = self._corpus_sides(request, phrase)
        found = self._ranking.best_sessions(sides, phrase, wanted, cancel) if sides else []
        best = kept_lists.KeptList(self._store.generation, found, len(found) < wanted)
        if self._options.count_matches:
            for side in sides:
                if side.collector.complete:
                    first = found[: request.limit]
                    numbers = [ranked.number for ranked in first if is_live(ranked.number) == bool(side.prefix)]
                    for number, runs in self._extents(side.prefix).of_each(numbers).items():
                        best.matches[number] = side.collector.count(runs)
        return best

    def _later(
        self, request: SearchRequest, phrase: Phrase, generation: int, cancel: CancelToken | None
    ) -> kept_lists.KeptList | None:
        """An older list of an unfiltered search brought up to date; None when that is no gain."""
        older = self._kept.older((phrase.expression, request.session_filters, request.event_filters))
        if older is None or request.session_filters or request.event_filters:
            return None
        if self._options.fold_inherited and self._has_forks():
            return None  # a session that came may be the birthplace of what others show
        rows: list[tuple[Any, ...]] = self._db.execute(
            "select n, session, answers from main.log where changed>? limit ?",
            (older.generation, kept_lists.MOST_CHANGED + 1),
        ).fetchall()
        if len(rows) > kept_lists.MOST_CHANGED:
            return None
        side = self._side("", request)
        runs = self._extents("").of_each(number for number, _, answers in rows if answers)
        side.ranges = sorted(run for each in runs.values() for run in each)

        def best_of_changed() -> list[Ranked]:
            return self._ranking.best_sessions([side], phrase, len(rows) + 1, cancel) if side.ranges else []

        changed = [str(session) for _, session, _ in rows if session is not None]
        return kept_lists.brought_up_to_date(older, generation, changed, self._answering, best_of_changed)

    def _answering(self, numbers: list[int]) -> set[int]:
        """Those of the log numbers that still answer for their session."""
        if not numbers:
            return set()
        source, ids = self._numbers.bound(numbers)
        sql = f"select l.n from {source} j cross join main.log l on l.n = j.value where l.answers"
        return {int(row[0]) for row in self._db.execute(sql, (ids,))}

    def _more(
        self,
        best: kept_lists.KeptList,
        shown: list[Ranked],
        phrase: Phrase,
        request: SearchRequest,
        cancel: CancelToken | None,
    ) -> list[tuple[int | None, list[str] | None]]:
        """What the options ask for beside each hit: how many events match, and which sessions carry a copy."""
        out = []
        directory = self._directory("") if self._options.fold_inherited and self._has_forks() else None
        if self._options.count_matches:
            self._count_together({ranked.number for ranked in shown} - best.matches.keys(), best, phrase, request)
        for ranked in shown:
            check(cancel)
            if self._options.count_matches and ranked.number not in best.matches:
                side = self._side("live_" if is_live(ranked.number) else "", request)
                best.matches[ranked.number] = self._count_in(ranked.number, phrase, side)
            carriers = None
            if directory is not None and not is_live(ranked.number):
                carriers = directory.carriers(ranked.session, ranked.seq) or None
            out.append((best.matches.get(ranked.number) if self._options.count_matches else None, carriers))
        return out

    def _has_forks(self) -> bool:
        return self._db.execute("select 1 from main.log where cut>0 limit 1").fetchone() is not None

    def _count_together(
        self, numbers: set[int], best: kept_lists.KeptList, phrase: Phrase, request: SearchRequest
    ) -> None:
        """Count the matches of many stored logs in one walk where that is quicker than a walk for each."""
        wanted = [number for number in numbers if not is_live(number)]
        apart = self._apart_ms(len(wanted)) + len(wanted) * _STATEMENT_MS
        if len(wanted) < FEW_RANGES or self._extents("").last() >= _MASK_BYTES or apart < self._walk_ms(phrase):
            return
        side, extents = self._side("", request), self._extents("")
        sql = "select substr(?, f.rowid + 1, 1) which, count(*) from fts(?) f"
        if side.condition.sql:
            sql += " cross join main.doc d on d.id = f.rowid"
        sql += f" where which <> x'00'{side.condition.sql} group by which"
        best.matches.update(dict.fromkeys(wanted, 0))
        for start in range(0, len(wanted), 255):
            some = wanted[start : start + 255]
            runs = extents.of_each(some)
            mask = masked(
                [(*run, which) for which, number in enumerate(some, 1) for run in runs[number]], extents.last()
            )
            for which, count in self._db.execute(sql, (mask, phrase.expression, *side.condition.bindings)):
                best.matches[some[which[0] - 1]] = int(count)

    def _count_in(self, number: int, phrase: Phrase, side: Side) -> int:
        """How many documents of one log match."""
        sql = f"select count(*) from {side.prefix}fts(?) f"
        if side.condition.sql:
            sql += f" cross join {side.schema}.{side.prefix}doc d on d.id = f.rowid"
        sql += f" where f.rowid between ? and ?{side.condition.sql}"
        found = 0
        for first, last in self._extents(side.prefix).of(number):
            row = self._db.execute(sql, (phrase.expression, first, last, *side.condition.bindings)).fetchone()
            found += int(row[0]) if row else 0
        return found

    def scan_scopes(self, request: ScanRequest) -> list[ScanScope]:
        """What a literal scan has to look through: live sessions first, then stored ones, latest activity first."""
        scopes = []
        for prefix, table in (("live_", "temp.live_log"), ("", "main.log")):
            if not (len(self._live) if prefix else self.persisted_active):
                continue
            condition = event_condition(self._db, request.event_filters, f"{table.removesuffix('log')}kind")
            directory = self._directory(prefix)
            numbers = directory.select(request.session_filters, request.event_filters)
            copies = [] if prefix or not self._options.fold_inherited else directory.inherited(numbers)
            copied = {number: (skip, parent) for number, skip, parent in copies}
            runs = self._extents(prefix).of_each(numbers)
            logs = [
                LogToScan(place.number, place.session, runs[place.number], *copied.get(place.number, (0, 0)))
                for place in sorted(directory.places, key=lambda place: -(place.last_time or 0))
                if place.number in numbers and (prefix or self._live.number_of(place.session) is None)
            ]
            if logs and not condition.never:
                scopes.append(ScanScope(prefix, logs, condition, surface_test(request.event_filters)))
        return scopes

    # -- cursors ---------------------------------------------------------------------------------------------------

    def _corpus_generation(self) -> str:
        return f"{self._store.generation} {self.mounts} {self._live.changes}"

    def _offset(self, request: SearchRequest, generation: str) -> int:
        offset = 0
        if request.cursor is not None:
            place = self._seal.open(request.digest, request.cursor)
            if place.generation != generation:
                raise stale_cursor()
            offset = place.offset
        if self._options.strict:
            check_strict_budget(request)
        return offset

    def _next(self, request: SearchRequest, generation: str, offset: int, found: int) -> str | None:
        if found <= offset + request.limit:
            return None
        return self._seal.seal(request.digest, Place(generation, offset + request.limit))

    # -- scope -----------------------------------------------------------------------------------------------------

    def _number(self, session_id: str | None) -> int:
        assert session_id is not None
        number = self._live.number_of(session_id)
        if number is None and self.persisted_active:
            number = self._store.number_of(session_id)
        if number is None:
            raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, f'There is no session "{well_formed(session_id)}".')
        return number

    def _side(self, prefix: str, request: SearchRequest) -> Side:
        schema = "temp" if prefix else "main"
        condition = event_condition(self._db, request.event_filters, f"{schema}.{prefix}kind")
        ranges = [(1, self._extents("").last())]
        return Side(prefix, self._live_spans if prefix else self._durable_spans, condition, ranges)

    def _extents(self, prefix: str) -> Extents:
        return (self._live if prefix else self._store).documents.extents

    def _corpus_sides(self, request: SearchRequest, phrase: Phrase) -> list[Side]:
        """What a corpus search has to look at; nothing when nothing can match."""
        sides = []
        if self.persisted_active:
            side = self._side("", request)
            if not side.condition.never and self._limit_durable(side, request, phrase):
                sides.append(side)
        if len(self._live):
            side = self._side("live_", request)
            places = self._directory("live_")
            side.ranges = places.ranges(places.select(request.session_filters, request.event_filters))
            if not side.condition.never and side.ranges:
                sides.append(side)
        return sides

    def _limit_durable(self, side: Side, request: SearchRequest, phrase: Phrase) -> bool:
        """Narrow the durable side to the sessions that pass; False when none does."""
        if len(self._live):
            side.visible = " and l.session not in (select session from temp.live_log)"
        numbers: frozenset[int] | None = None
        if request.session_filters or any(clause.kind == "time" for clause in request.event_filters):
            directory = self._directory("")
            numbers = directory.select(request.session_filters, request.event_filters)
            ranges = directory.ranges(numbers)
            if not ranges:
                return False
            side.ranges, last = ranges, ranges[-1][1]
            if len(ranges) > FEW_RANGES and last < _MASK_BYTES and not self._quicker_apart(len(ranges), phrase):
                side.ranges, side.mask = [(ranges[0][0], last)], masked(((*run, 1) for run in ranges), last)
        if self._options.fold_inherited:
            surfaces = surface_test(request.event_filters)
            if not surfaces:
                side.fold = self._fold(numbers)
            elif self._has_forks():
                side.hides = Copies(self._db, self._directory("").inherited(numbers), surfaces).hides
        return True

    def _quicker_apart(self, ranges: int, phrase: Phrase) -> bool:
        """Whether a walk over each of so many ranges is quicker than one over all matches, under a mask."""
        if phrase.width > 1:
            return False  # FTS5 looks for the first match of a phrase from the very begin, for each range anew
        return self._apart_ms(ranges) < self._walk_ms(phrase)

    def _apart_ms(self, ranges: int) -> float:
        """About how long it takes to begin walks over so many ranges."""
        generation = self._store.generation
        if self._segments[0] != generation:
            self._segments = (generation, self._store.segments())
        return ranges * (1 + self._segments[1]) * _RANGE_MS

    def _walk_ms(self, phrase: Phrase) -> float:
        """About how long a walk over all matches of the phrase's words takes, judged by the first ones."""
        total, last = 0.0, self._extents("").last()
        for token in set(phrase.tokens):
            count, reached = self._db.execute(
                f"select count(*), max(rowid) from (select rowid from fts(?) limit {_SAMPLE})", (f'"{token}"',)
            ).get
            total += count if count < _SAMPLE else count * last / reached
        return total * _ROW_MS

    def _fold(self, among: frozenset[int] | None) -> str:
        """Put the inherited prefixes where the ranking's SQL finds them; returns the condition."""
        if not self._has_forks():
            return ""
        self._db.execute("delete from temp.folded")
        rows = [(number, skip) for number, skip, _ in self._directory("").inherited(among)]
        self._db.executemany("insert or replace into temp.folded values(?,?)", rows)
        if not rows:
            return ""
        return " and d.seq >= coalesce((select skip from temp.folded f where f.n = d.n), 0)"

    def _directory(self, prefix: str) -> Directory:
        key = str(self._live.changes if prefix else self._store.generation)
        cached = self._directories.get(prefix)
        if cached is None or cached[0] != key:
            table = "temp.live_log" if prefix else "main.log"
            cached = self._directories[prefix] = (key, Directory(self._db, table, self._extents(prefix)))
        return cached[1]


def masked(runs: Iterable[tuple[int, int, int]], last: int) -> bytes:
    """A byte for each number up to `last`: the given one in the inclusive runs `(first, last, byte)`, else 0."""
    mask = bytearray(last + 1)
    for first, end, byte in runs:
        mask[first : end + 1] = bytes((byte,)) * (end - first + 1)
    return bytes(mask)
