"""From ranked documents to the hits of a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import apsw
import msgspec

from palimpsest_core.model.event import Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import EventHit
from palimpsest_core.search.fts5.numbers import Numbers
from palimpsest_core.search.fts5.ranking import Ranked, is_live
from palimpsest_core.search.fts5.schema import SURFACES
from palimpsest_core.search.matching import Matcher, Phrase
from palimpsest_core.search.snippet import snippet

_header = msgspec.msgpack.Decoder(Header).decode


class TextSource(Protocol):
    """Reads texts from the logs themselves, for an index that stores none."""

    def text(self, path: str, seq: int, start: int, length: int) -> str:
        """The text of the event whose stored row lies at `start`; "" when it is not there any more."""
        ...

    def texts(self, path: str) -> Iterator[tuple[int, str]]:
        """Every document of a log: its seq and its text."""
        ...


class SessionRow(NamedTuple):
    """A session as hits show it."""

    header: Header
    live: bool
    persisted: bool
    changed: int


class PageBuilder:
    """Reads what the hits of a page show. The caller serialises."""

    def __init__(
        self, db: apsw.Connection, matcher: Matcher, snippet_chars: int, text_source: TextSource | None
    ) -> None:
        self._db = db
        self._numbers = Numbers(db)
        self._matcher = matcher
        self._snippet_chars = snippet_chars
        self._text_source = text_source

    def session_row(self, number: int) -> SessionRow:
        """The session of one log number."""
        return self.session_rows([number])[number]

    def session_rows(self, numbers: Iterable[int]) -> dict[int, SessionRow]:
        """The sessions of log numbers; their headers as searches show them, without `origin`."""
        found = {}
        for log, wanted in _by_side(numbers, "log"):
            source, ids = self._numbers.bound(wanted)
            sql = f"select n, header, live, persisted, changed from {source} j cross join {log} l on l.n = j.value"
            for number, packed, live, persisted, changed in self._db.execute(sql, (ids,)):
                header = _header(packed)
                if header.origin is not None:
                    header = msgspec.structs.replace(header, origin=None)
                found[int(number)] = SessionRow(header, bool(live), bool(persisted), int(changed))
        return found

    def event_hits(self, documents: Iterable[Ranked], phrase: Phrase) -> list[EventHit]:
        """The hits of some documents, in their order."""
        ranked = list(documents)
        rows: dict[int, tuple[str, int | float, int, str | None]] = {}
        for doc, wanted in _by_side((item.rowid for item in ranked), "doc"):
            source, ids = self._numbers.bound(wanted)
            kind, body = doc.replace("doc", "kind"), doc.replace("doc", "body")
            sql = (
                f"select d.id, k.name, d.time, d.surface, b.text from {source} j cross join {doc} d on d.id = j.value"
                f" cross join {kind} k on k.id = d.kind left join {body} b on b.id = d.id"
            )
            rows.update((int(row[0]), row[1:]) for row in self._db.execute(sql, (ids,)))
        hits = []
        for item in ranked:
            name, time, surface, text = rows[item.rowid]
            if text is None:
                text = self._text_of_log(item)
            start = self._matcher.first(phrase, text) or 0
            shown = snippet(text, start, self._snippet_chars)
            state = Surface(SURFACES[surface])
            # A time is a whole number but for odd logs, whose fractions come out as they were written.
            hits.append(EventHit.of(item.session, item.seq, name, time, state, shown))
        return hits

    def _text_of_log(self, item: Ranked) -> str:
        """The text of a document that the index does not store."""
        place = self._db.execute(
            "select l.path, p.start, p.length from main.place p join main.log l on l.n=? where p.id=?",
            (item.number, item.rowid),
        ).fetchone()
        if place is None or place[0] is None or self._text_source is None:
            return ""
        return self._text_source.text(os.fsdecode(place[0]), item.seq, int(place[1]), int(place[2]))


def _by_side(numbers: Iterable[int], table: str) -> list[tuple[str, list[int]]]:
    """Numbers of logs or documents apart by the tables that hold them: durable and live."""
    live: list[int] = []
    durable: list[int] = []
    for number in numbers:
        (live if is_live(number) else durable).append(number)
    sides = ((f"main.{table}", durable), (f"temp.live_{table}", live))
    return [(name, wanted) for name, wanted in sides if wanted]
