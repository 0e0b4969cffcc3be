"""Keeps any search provider equal to a corpus, a session at a time (second seed's provider contract).

`StoredMirror` replaces a stored session as a whole whenever its log changed: this is strict mode, where a log is first
validated as a whole, and the way for providers that keep no account of log files. `LiveMirror` follows the live
sessions of this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from palimpsest_core.base.cancel import CancelToken, check, watched
from palimpsest_core.base.collector import collector_resting
from palimpsest_core.live.session import LiveSession
from palimpsest_core.log.loose import documents
from palimpsest_core.log.surface import SurfaceFold
from palimpsest_core.log.text import Registry, registry_for, semantic_text
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event, Surface
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.query.durable import DurableSource, observed_log
from palimpsest_core.query.reads import check_texts
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.provider import IndexGrowth, IndexSnapshot, SearchProvider
from palimpsest_core.sync.revision import revision_of


def documents_of(
    events: Sequence[Event], fold: SurfaceFold, registry: Registry, cancel: CancelToken | None = None
) -> Iterator[IndexDocument]:
    """The documents of a whole log (seqs dense from 0), with their surfaces after its last event."""
    for seq, text in documents(events, registry, cancel):
        event = events[seq]
        yield IndexDocument(seq, event.type, event.time, fold.kind(seq).value, text)


class StoredMirror:
    """Stored sessions, replaced as wholes."""

    def __init__(self, provider: SearchProvider, config: Config) -> None:
        self._provider = provider
        self._strict = config.mode == "strict"
        self._registry = registry_for(config.extractors)

    @collector_resting
    def sync(
        self, durable: DurableSource, live_ids: frozenset[str], cancel: CancelToken | None = None
    ) -> frozenset[str]:
        """Make the provider hold what `durable` lists now; returns the ids that are stored.

        Sessions that are live are left alone: their stored log is not looked at. Everything is applied together or not
        at all. Raises what the source refuses, and `ABORTED`.
        """
        entries = {entry.id: entry for entry in durable.catalog(cancel).sessions if entry.header is not None}
        held = {entry.session_id: entry.fingerprint for entry in self._provider.persisted_inventory()}
        fingerprint = self._registry.fingerprint()
        with self._provider.batch():
            for session_id in held.keys() - entries.keys():
                self._provider.remove_persisted(session_id)
            for session_id, entry in entries.items():
                check(cancel)
                if session_id in live_ids:
                    continue
                if held.get(session_id) == f"{revision_of(entry.primary.stat)} {fingerprint}":
                    continue
                log = durable.read(entry.primary, cancel)
                seen = observed_log(log, strict=durable.strict, cancel=cancel)
                if self._strict:
                    check_texts(watched(seen.events, cancel))
                self._provider.replace_persisted(
                    IndexSnapshot(
                        SessionRecord(seen.header, live=False, persisted=True),
                        f"{revision_of(log.state.stat)} {fingerprint}",
                        documents_of(seen.events, seen.fold(cancel), self._registry, cancel),
                    )
                )
        return frozenset(entries)


class _Seen(msgspec.Struct):
    life: int
    count: int
    persisted: bool
    fold: SurfaceFold


class LiveMirror:
    """Live sessions; an append costs the appended events."""

    def __init__(self, provider: SearchProvider, config: Config) -> None:
        self._provider = provider
        self._strict = config.mode == "strict"
        self._registry = registry_for(config.extractors)
        self._seen: dict[str, _Seen] = {}

    def sync(
        self, sessions: Iterable[LiveSession], stored_ids: frozenset[str], cancel: CancelToken | None = None
    ) -> None:
        """Make the provider hold these live sessions; `stored_ids` tells which of them have a stored log."""
        open_now = {session.id: session for session in sessions}
        for session_id in self._seen.keys() - open_now.keys():
            self._provider.remove_live(session_id)
            del self._seen[session_id]
        for session_id, session in open_now.items():
            check(cancel)
            try:
                self._follow(session, session.events, session_id in stored_ids, cancel)
            except BaseException:
                # What the provider holds now is not known: next time the session is told anew.
                self._seen.pop(session_id, None)
                raise

    def _follow(
        self, session: LiveSession, events: Sequence[Event], persisted: bool, cancel: CancelToken | None
    ) -> None:
        seen = self._seen.get(session.id)
        if seen is not None and (seen.life, seen.count, seen.persisted) == (session.life, len(events), persisted):
            return
        if self._strict:
            check_texts(watched(events, cancel))
        record = SessionRecord(session.header, live=True, persisted=persisted)
        fingerprint = f"{session.life}:{len(events)}"
        grew = seen is not None and len(events) > seen.count
        # Text that belongs to no single event may take back what was there before: then all is told anew.
        if seen is None or seen.life != session.life or (grew and self._registry.loose is not None):
            fold = SurfaceFold(session.header.version)
            fold.push_all(watched(events, cancel))
            told = documents_of(events, fold, self._registry, cancel)
            snapshot = IndexSnapshot(record, fingerprint, told)
            self._provider.replace_live(snapshot)
            self._seen[session.id] = _Seen(session.life, len(events), persisted, fold)
            return
        remarked: dict[int, str] = {}
        fresh: list[IndexDocument] = []
        for event in watched(events[seen.count :], cancel):
            step = seen.fold.push(event)
            remarked.update(dict.fromkeys(step.replaced, Surface.SHADOWED.value))
            text = semantic_text(event, self._registry)
            if text:
                fresh.append(IndexDocument(event.seq, event.type, event.time, step.surface.value, text))
        self._provider.append_live(IndexGrowth(record, fingerprint, fresh, remarked))
        seen.count, seen.persisted = len(events), persisted
