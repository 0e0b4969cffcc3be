"""Reading one log for the index: a stream of pieces, without touching the index itself.

The writer applies pieces as they come; this may run in another process. A long log is told in parts with checkpoints
between them, so that neither memory nor a transaction grows with its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.catalog import FLAT, describe
from palimpsest_core.formats.generations import is_known, newer_reason
from palimpsest_core.formats.reader import HeaderPeek, LogChanged, LogReader, ReadState, StoredRow
from palimpsest_core.formats.usual import UsualRows
from palimpsest_core.log.lineage import lineage_of
from palimpsest_core.log.text import Registry
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.header import Header
from palimpsest_core.model.search import WITHHELD_FROM
from palimpsest_core.model.session import SessionState, SessionSummary
from palimpsest_core.query.findings import meaning_findings, work_goes_on
from palimpsest_core.search.documents import IndexDocument, LogEntry
from palimpsest_core.storage.layout import LogFile, session_id_of_folder
from palimpsest_core.sync.digest import LAST_SEQ, Changes, LogDigest
from palimpsest_core.sync.revision import revision_of
from palimpsest_core.sync.withheld import WithheldRows

PART_CHARS = 1_000_000
"""Text is handed over in pieces of about this many characters."""

CHECKPOINT_CHARS = 64_000_000
"""A long log can be gone on with after each piece of about this many characters."""

DAMAGE = frozenset(
    {
        FindingCode.TORN_TAIL,
        FindingCode.CORRUPT,
        FindingCode.WITHHELD_TAIL,
        FindingCode.SEQUENCE_GAP,
        FindingCode.OVERLAPPING_WRITERS,
        FindingCode.OVERLAPPED_REPAIR,
        FindingCode.HEADER_FRAME,
    }
)
"""Findings that make a session's state `damaged`."""


class Begin(NamedTuple):
    """A log is being read; `entry` is what its header tells.

    `resumed`: from where an earlier reading stopped; then its documents from number `drop_from` on go, all others stay.
    """

    entry: LogEntry
    resumed: bool
    drop_from: int


class Part(NamedTuple):
    """Some of its documents. With `entry` and `state` reading can go on from here, should it end before `End`."""

    changes: Changes
    entry: LogEntry | None = None
    state: bytes | None = None


class End(NamedTuple):
    """The rest. `state` None: it cannot be gone on from, so the next change costs the whole log again."""

    changes: Changes
    closing: list[IndexDocument]
    entry: LogEntry
    state: bytes | None


class Unreadable(NamedTuple):
    """Nothing of the log can be read; `entry` lists it with the reason. `transient`: worth trying again unchanged."""

    path: str
    entry: LogEntry
    reason: str
    transient: bool


Piece = Begin | Part | End | Unreadable


def extract(
    root: str,
    file: LogFile,
    known_state: bytes | None,
    *,
    config: Config,
    registry: Registry,
    cancel: CancelToken | None = None,
) -> Iterator[Piece]:
    """The pieces of one log, from `known_state` on if it still fits, else from the start.

    Raises `ABORTED` when cancelled; never for what the log holds or because it is gone.
    """
    try:
        if known_state is not None:
            grown = _grown(file, known_state, config, registry)
            if grown is not None:
                reader, digest, drop_from = grown
                with reader:
                    yield from _Reading(root, reader, digest, config).pieces(drop_from, cancel)
                return
        with LogReader(file, config=config) as reader:
            if reader.header is None:
                yield _no_session(root, reader.file, reader.peek)
                return
            digest = LogDigest(reader.header.header, registry)
            yield from _Reading(root, reader, digest, config).pieces(None, cancel)
    except OSError as error:
        yield _not_opened(file, error)


def _grown(file: LogFile, state: bytes, config: Config, registry: Registry) -> tuple[LogReader, LogDigest, int] | None:
    """The log opened where reading stopped, or None when it has to be read from the start."""
    try:
        digest, reading = LogDigest.restore(state, registry)
        reader = LogReader(file, config=config, resume=reading)
    except (ValueError, LogChanged):
        return None
    if reader.header is None or reader.header.header != digest.header:
        reader.close()
        return None
    if not _keeps_withheld(reading):
        return reader, digest, reading.next_seq
    if config.mode != "strict" and digest.withheld is not None and digest.withheld[0] == reading.next_line:
        return reader, digest, min(WITHHELD_FROM + reading.next_line, LAST_SEQ)
    reader.close()
    return None


def _keeps_withheld(reading: ReadState) -> bool:
    """Whether a reading stopped behind the damage of a log: no more events can come then, only more withheld rows."""
    return reading.withheld > 0 and reading.next_seq < WITHHELD_FROM


class _Reading:
    """One log on its way."""

    def __init__(self, root: str, reader: LogReader, digest: LogDigest, config: Config) -> None:
        self._root = root
        self._reader = reader
        self._digest = digest
        self._provisional = False
        self._saved: bytes | None = None
        self._since_checkpoint = 0
        self._fingerprint = _fingerprint(digest.registry)
        self._withheld = WithheldRows(digest.registry, digest.withheld) if config.mode != "strict" else None

    def pieces(self, drop_from: int | None, cancel: CancelToken | None) -> Iterator[Piece]:
        """All pieces; `drop_from` None: from the start."""
        reader, digest = self._reader, self._digest
        yield Begin(self._first_entry(), drop_from is not None, drop_from or 0)
        committed = reader.state
        behind_damage = drop_from is not None and _keeps_withheld(committed)
        shaken = False
        for found in reader.runs(cancel):
            check(cancel)
            if isinstance(found, UsualRows) and not found.provisional:
                self._push_usual(found)
                rows: list[StoredRow] = []
            else:
                rows = found.rows() if isinstance(found, UsualRows) else found
            if rows and not self._provisional and rows[-1].provisional:
                # A torn place: what follows may be told anew when the log grows.
                self._provisional = True
                sound = [row for row in rows if not row.provisional]
                self._push_all(sound)
                yield Part(digest.take())
                committed = reader.state
                self._saved = self._save(committed)
                rows = rows[len(sound) :]
            self._push_all(rows)
            if digest.pending_chars >= PART_CHARS:
                part, touched = self._part(committed)
                shaken = shaken or touched
                yield part
        changes = digest.take()
        if self._provisional:
            shaken = shaken or _touches(changes, committed.next_seq)
            # What came from the torn place changed what came before it: that cannot be taken back in part.
            state = None if shaken else self._saved
        else:
            state = self._save(reader.state)
        closing = digest.closing(reader.next_seq, reader.last_time or 0)
        if work_goes_on(reader.findings):
            # What ends the readable part is damage, so nothing closes its turn; a shorter log may have looked ended.
            changes = changes._replace(dropped=[*changes.dropped, *(document.seq for document in closing)])
            closing.clear()
        elif behind_damage:
            closing.clear()  # the events are as they were, and what closes them is indexed
        if self._withheld is not None:
            closing += self._withheld.documents(reader.next_seq)
        yield End(changes, closing, self._entry(complete=True), state)

    def _push_usual(self, rows: UsualRows) -> None:
        self._digest.push_usual(self._reader, rows)
        if self._withheld is not None:
            self._withheld.pass_by(rows.line + len(rows))

    def _push_all(self, rows: list[StoredRow]) -> None:
        self._digest.push_all(self._reader, rows)
        if self._withheld is not None and rows:
            self._withheld.push_all(self._reader, rows if self._reader.rows_withheld else rows[-1:])

    def _save(self, reading: ReadState) -> bytes | None:
        """The state to go on from `reading`; None when more was read than that, or it cannot be kept."""
        if self._withheld is not None and reading.withheld:
            self._withheld.counted_to(reading.next_line)
            self._digest.withheld = self._withheld.saved
            if self._digest.withheld[0] != reading.next_line:
                return None
        return self._digest.save(reading)

    def _part(self, committed: ReadState) -> tuple[Part, bool]:
        chars = self._digest.pending_chars
        changes = self._digest.take()
        if self._provisional:
            return Part(changes), _touches(changes, committed.next_seq)
        self._since_checkpoint += chars
        if self._since_checkpoint < CHECKPOINT_CHARS:
            return Part(changes), False
        state = None if self._reader.state.withheld else self._digest.save(self._reader.state)
        if state is None:
            return Part(changes), False  # inside a frame; the next part may end with one
        self._since_checkpoint = 0
        return Part(changes, self._entry(complete=False), state), False

    def _first_entry(self) -> LogEntry:
        """What the header alone tells."""
        header, file = self._digest.header, self._reader.file
        return LogEntry(
            path=file.path,
            session_id=header.id,
            revision="partial",
            fingerprint=self._fingerprint,
            header=header,
            complete=False,
        )

    def _entry(self, *, complete: bool) -> LogEntry:
        reader, digest = self._reader, self._digest
        header, events = digest.header, reader.next_seq
        cut = digest.cut.cut
        inherited = min(cut, events) if cut is not None else None
        findings = self._findings(cut, complete=complete)
        first_time, last_time = self._times()
        return LogEntry(
            path=reader.file.path,
            session_id=header.id,
            revision=revision_of(reader.file.stat) if complete else "partial",
            fingerprint=self._fingerprint,
            header=header,
            complete=complete,
            cut=inherited or 0,
            events=events,
            first_time=first_time,
            last_time=last_time,
            summary=SessionSummary(
                id=header.id,
                path=reader.file.path,
                state=_state(header, findings, open_turn=digest.open),
                header=header,
                generation=header.version,
                title=digest.titles.shown,
                first_prompt=digest.titles.first_prompt,
                project=header.cwd,
                created_at=header.created_at,
                last_time=reader.last_time,
                events=events,
                own=events - (inherited or 0),
                inherited=inherited or 0,
                inherited_cut=cut or None,
                current=digest.fold.current_count,
                shadowed=len(digest.fold.replaced_by),
                size=reader.file.stat.size,
                parent=header.parent_session,
                lineage=lineage_of(header),
                findings=findings,
                reason=newer_reason(header.version),
                model=digest.model or None,
                indexed=complete,
                generations=[header.version],
                rows_shown=reader.rows_read - reader.rows_withheld if complete else None,
                rows_withheld=reader.rows_withheld if complete else None,
            ),
        )

    def _times(self) -> tuple[int | float | None, int | float | None]:
        """What bounds the times of its documents; the first is None (not known) where rows are withheld.

        Of withheld rows only some are pushed, here or before it was gone on with, so their times are not gathered.
        """
        if self._digest.times is None:
            return None, None
        first, last = self._digest.times
        if self._digest.open and self._reader.last_time is not None:
            # What closes an open turn bears the time of the last event, which may have no text.
            first, last = min(first, self._reader.last_time), max(last, self._reader.last_time)
        withheld = self._withheld is not None and self._reader.rows_withheld > 0
        return None if withheld else first, last

    def _findings(self, cut: int | None, *, complete: bool) -> list[Finding]:
        reader, digest = self._reader, self._digest
        path = reader.file.path
        found = list(describe(self._root, reader.file, reader.peek).findings)
        found += [finding for finding in reader.findings if finding not in found]
        if complete:
            seed_too_long = digest.header.version < 2 and cut is not None and cut > reader.next_seq
            found += meaning_findings(
                path,
                digest.fold,
                found,
                cut_missing=seed_too_long if digest.header.version < 2 else digest.cut.missing,
                open_turn=digest.open,
            )
        if self._withheld is not None and self._withheld.left_out:
            message = f"{self._withheld.left_out:,} withheld rows cannot be found by searching; they can be looked at."
            found.append(Finding(FindingCode.LIMIT_EXCEEDED, message, path, detail="index-withheld"))
        if digest.beyond:
            message = f"Events from number {LAST_SEQ + 1:,} on cannot be found by searching; they can be read."
            found.append(Finding(FindingCode.LIMIT_EXCEEDED, message, path, seq=LAST_SEQ + 1, detail="index-positions"))
        return found


@lru_cache(maxsize=16)
def _fingerprint(registry: Registry) -> str:
    return registry.fingerprint()


def _touches(changes: Changes, seq: int) -> bool:
    """Whether changes reach back before event `seq`."""
    return any(place < seq for place in changes.shadowed) or any(place < seq for place in changes.dropped)


def _state(header: Header, findings: list[Finding], *, open_turn: bool) -> SessionState:
    if not is_known(header.version):
        return SessionState.NEWER
    if any(finding.code in DAMAGE for finding in findings):
        return SessionState.DAMAGED
    return SessionState.INTERRUPTED if open_turn else SessionState.COMPLETE


def _no_session(root: str, file: LogFile, peek: HeaderPeek) -> Unreadable:
    findings = list(describe(root, file, peek).findings)
    reason = next((f.message for f in findings if f.code == FindingCode.UNREADABLE), "The file is no session log.")
    return Unreadable(file.path, _bare_entry(file, findings, reason, revision_of(file.stat)), reason, False)


def _not_opened(file: LogFile, error: OSError) -> Unreadable:
    reason = f"The file cannot be read: {error.strerror or error}."
    finding = Finding(FindingCode.UNREADABLE, reason, file.path, detail="not-openable")
    return Unreadable(file.path, _bare_entry(file, [finding], reason, "unread"), reason, True)


def _bare_entry(file: LogFile, findings: list[Finding], reason: str, revision: str) -> LogEntry:
    return LogEntry(
        path=file.path,
        session_id=None,
        revision=revision,
        fingerprint="",
        answers=False,
        listed=file.folder != FLAT,  # a stray file that only looks like a log of the older layout
        summary=SessionSummary(
            id=session_id_of_folder(file.folder),
            path=file.path,
            state=SessionState.UNREADABLE,
            size=file.stat.size,
            findings=findings,
            reason=reason,
            indexed=True,
            generations=[file.generation],
        ),
    )
