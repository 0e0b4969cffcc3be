"""From ranked documents to the hits of a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import msgspec

from palimpsest_core.model.event import Surface
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import EventHit, SessionHit
from palimpsest_core.search.fts5.ranking import is_live
from palimpsest_core.search.fts5.schema import POSITION_BITS, POSITION_MASK, SURFACES
from palimpsest_core.search.matching import Matcher, Phrase
from palimpsest_core.search.snippet import snippet

_header = msgspec.msgpack.Decoder(Header).decode

TextSource = Callable[[str, int, int, int], str]
"""`(log path, seq, start, length)` -> the semantic text of an event, read from the log itself; "" when it is gone."""


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
        self._matcher = matcher
        self._snippet_chars = snippet_chars
        self._text_source = text_source

    def session_row(self, number: int) -> SessionRow:
        """The session of a log number; its header as searches show it, without `origin`."""
        row = self._db.execute(
            f"select header, live, persisted, changed from {_table('log', number)} where n=?", (number,)
        ).fetchone()
        assert row is not None
        header = msgspec.structs.replace(_header(bytes(row[0])), origin=None)
        return SessionRow(header, bool(row[1]), bool(row[2]), int(row[3]))

    def event_hit(self, rowid: int, session_id: str, phrase: Phrase) -> EventHit:
        """The hit of one document."""
        number = rowid >> POSITION_BITS
        row = self._db.execute(
            f"select k.name, d.time, d.surface from {_table('doc', number)} d"
            f" join {_table('kind', number)} k on k.id = d.kind where d.id=?",
            (rowid,),
        ).fetchone()
        assert row is not None
        text = self.text(rowid)
        start = self._matcher.first(phrase, text) or 0
        return EventHit(
            session_id,
            rowid & POSITION_MASK,
            row[0],
            row[1],
            Surface(SURFACES[row[2]]),
            snippet(text, start, self._snippet_chars),
        )

    def session_hit(self, rowid: int, phrase: Phrase, **more: Any) -> SessionHit:
        """The hit of a session whose best document this is; `more` are further fields of the hit."""
        session = self.session_row(rowid >> POSITION_BITS)
        hit = self.event_hit(rowid, session.header.id, phrase)
        return SessionHit(session.header, session.live, session.persisted, hit, **more)

    def text(self, rowid: int) -> str:
        """The text of a document as it was indexed."""
        number = rowid >> POSITION_BITS
        row = self._db.execute(f"select text from {_table('body', number)} where id=?", (rowid,)).fetchone()
        if row is not None:
            return str(row[0])
        place = self._db.execute(
            "select l.path, p.start, p.length from main.place p join main.log l on l.n=? where p.id=?", (number, rowid)
        ).fetchone()
        if place is None or place[0] is None or self._text_source is None:
            return ""
        return self._text_source(os.fsdecode(place[0]), rowid & POSITION_MASK, int(place[1]), int(place[2]))


def _table(name: str, number: int) -> str:
    return f"temp.live_{name}" if is_live(number) else f"main.{name}"
