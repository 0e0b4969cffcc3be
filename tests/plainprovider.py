"""A second search provider: plain Python over lists, slow and short, written from the contract alone.

It passes the same suite as the built-in one, and the property tests hold the two together. Its tokens are unicode61's
for the characters that the tests use: letters and digits, Latin diacritics folded.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import Any

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.event import Surface
from palimpsest_core.model.search import EventHit, EventPage, SessionHit, SessionPage
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.query.filters import event_matcher, session_matcher
from palimpsest_core.search.cursor import CursorSeal, Place, stale_cursor
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.indextext import safe_text
from palimpsest_core.search.provider import IndexGrowth, IndexSnapshot, PersistedEntry, ProviderStatus
from palimpsest_core.search.request import SearchRequest
from palimpsest_core.search.snippet import snippet


def tokens(text: str) -> list[tuple[int, int, str]]:
    """Runs of letters and digits with their places, folded."""
    out: list[tuple[int, int, str]] = []
    start = -1
    for index, char in enumerate(text + " "):
        if unicodedata.category(char)[0] in "LN":
            start = index if start < 0 else start
        elif start >= 0:
            word = unicodedata.normalize("NFD", text[start:index].lower())
            out.append((start, index, "".join(c for c in word if not unicodedata.combining(c))))
            start = -1
    return out


def spans(text: str, query: str) -> list[tuple[int, int]]:
    """The highlighted spans: matches of the phrase, overlapping ones merged, adjacent ones not."""
    wanted = [token for _, _, token in tokens(query)]
    found = tokens(text)
    out: list[tuple[int, int]] = []
    last = -1
    for index in range(len(found) - len(wanted) + 1 if wanted else 0):
        if [token for _, _, token in found[index : index + len(wanted)]] == wanted:
            end = found[index + len(wanted) - 1][1]
            if index <= last:
                out[-1] = (out[-1][0], end)
            else:
                out.append((found[index][0], end))
            last = index + len(wanted) - 1
    return out


class Held(msgspec.Struct):
    """A session with its documents by seq; `changed` grows with every change of any session."""

    record: SessionRecord
    fingerprint: str
    documents: dict[int, IndexDocument]
    changed: int


class PlainProvider:
    """See the module."""

    id = "plain"

    def __init__(self, snippet_chars: int = 240) -> None:
        self._snippet_chars = snippet_chars
        self._persisted: dict[str, Held] = {}
        self._live: dict[str, Held] = {}
        self._active = True
        self._mounts = 0
        self._changes = 0
        self._seal = CursorSeal()

    def status(self) -> ProviderStatus:
        return ProviderStatus(True)

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        kept = dict(self._persisted), self._changes
        try:
            yield
        except BaseException:
            self._persisted, self._changes = kept
            raise

    def persisted_inventory(self) -> list[PersistedEntry]:
        return [PersistedEntry(name, held.fingerprint) for name, held in self._persisted.items()]

    def set_persisted_active(self, active: bool) -> None:
        self._mounts += active != self._active
        self._active = active

    def _replace(self, side: dict[str, Held], given: IndexSnapshot) -> None:
        self._changes += 1
        documents = {document.seq: document for document in given.documents}
        side[given.session.header.id] = Held(given.session, given.fingerprint, documents, self._changes)

    def _append(self, side: dict[str, Held], given: IndexGrowth) -> None:
        self._changes += 1
        held = side[given.session.header.id]
        documents = held.documents | {document.seq: document for document in given.documents}
        for seq, surface in given.remarked.items():
            if seq in documents:
                documents[seq] = documents[seq]._replace(surface=surface)
        side[given.session.header.id] = Held(given.session, given.fingerprint, documents, self._changes)

    def _remove(self, side: dict[str, Held], session_id: str) -> None:
        if side.pop(session_id, None) is not None:
            self._changes += 1

    def replace_persisted(self, snapshot: IndexSnapshot) -> None:
        self._replace(self._persisted, snapshot)

    def append_persisted(self, growth: IndexGrowth) -> None:
        self._append(self._persisted, growth)

    def remove_persisted(self, session_id: str) -> None:
        self._remove(self._persisted, session_id)

    def replace_live(self, snapshot: IndexSnapshot) -> None:
        self._replace(self._live, snapshot)

    def append_live(self, growth: IndexGrowth) -> None:
        self._append(self._live, growth)

    def remove_live(self, session_id: str) -> None:
        self._remove(self._live, session_id)

    def close(self) -> None:
        pass

    def _visible(self) -> dict[str, Held]:
        return {**(self._persisted if self._active else {}), **self._live}

    def _ranked(self, held: Held, request: SearchRequest) -> list[tuple[int, IndexDocument]]:
        passes = event_matcher(request.event_filters)
        out = []
        for document in held.documents.values():
            count = len(spans(safe_text(document.text), request.query))
            if count and passes(document.seq, document.type, int(document.time), document.surface):
                out.append((count, document))
        return out

    def search_sessions(self, request: SearchRequest, cancel: CancelToken | None = None) -> SessionPage:
        check(cancel)
        generation = f"{self._changes} {self._mounts}"
        offset = self._offset(request, generation)
        passes = session_matcher(request.session_filters)
        best = []
        for name, held in self._visible().items():
            ranked = [(count, document, name) for count, document in self._ranked(held, request)]
            if passes(held.record) and ranked:
                best.append(min(ranked, key=_order))
        best.sort(key=_order)
        items = []
        for _, document, name in best[offset : offset + request.limit]:
            record = self._visible()[name].record
            header = msgspec.structs.replace(record.header, origin=None)
            items.append(SessionHit(header, record.live, record.persisted, self._hit(name, document, request)))
        return SessionPage(self.id, items, self._next(request, generation, offset, len(best)))

    def search_events(self, request: SearchRequest, cancel: CancelToken | None = None) -> EventPage:
        check(cancel)
        name = request.session_id or ""
        held = self._visible().get(name)
        if held is None:
            raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, "There is no such session.")
        generation = f"{held.changed} {'' if held.record.live else self._mounts}"
        offset = self._offset(request, generation)
        ranked = [(count, document, name) for count, document in self._ranked(held, request)]
        ranked.sort(key=_order)
        items = [self._hit(name, document, request) for _, document, _ in ranked[offset : offset + request.limit]]
        header = msgspec.structs.replace(held.record.header, origin=None)
        return EventPage(self.id, header, items, self._next(request, generation, offset, len(ranked)))

    def _hit(self, name: str, document: IndexDocument, request: SearchRequest) -> EventHit:
        text = safe_text(document.text)
        shown = snippet(text, spans(text, request.query)[0][0], self._snippet_chars)
        return EventHit(name, document.seq, document.type, int(document.time), Surface(document.surface), shown)

    def _offset(self, request: SearchRequest, generation: str) -> int:
        if request.cursor is None:
            return 0
        place = self._seal.open(request.digest, request.cursor)
        if place.generation != generation:
            raise stale_cursor()
        return place.offset

    def _next(self, request: SearchRequest, generation: str, offset: int, found: int) -> str | None:
        if found <= offset + request.limit:
            return None
        return self._seal.seal(request.digest, Place(generation, offset + request.limit))


def _compare(a: tuple[int, IndexDocument, str], b: tuple[int, IndexDocument, str]) -> int:
    """Spans down, length up, time down, session id (UTF-8 bytes) up, seq down."""
    keys: list[Callable[[tuple[int, IndexDocument, str]], Any]] = [
        lambda x: -x[0],
        lambda x: len(safe_text(x[1].text)),
        lambda x: -x[1].time,
        lambda x: x[2].encode(),
        lambda x: -x[1].seq,
    ]
    for key in keys:
        if key(a) != key(b):
            return -1 if key(a) < key(b) else 1
    return 0


_order = cmp_to_key(_compare)
