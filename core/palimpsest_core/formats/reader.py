"""Reading a log: stored rows batch by batch, canonical events on demand, damage as findings; never a refusal.

The first malformed row or gap in the sequence opens an issue: that row and everything after it is withheld, which is
never dropped silently (session format, section 2.4).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats import notes
from palimpsest_core.formats.events import Expander
from palimpsest_core.formats.first_line import read_first_line
from palimpsest_core.formats.generations import KNOWN_TYPES, generation
from palimpsest_core.formats.header import HeaderPeek, parse_header
from palimpsest_core.formats.issue import NO_HEADER, Issue
from palimpsest_core.formats.legacy import LegacyState, Modernizer, observed
from palimpsest_core.formats.legacy_exact import ExactModernizer
from palimpsest_core.formats.overlap import LOOK_BACK, judge
from palimpsest_core.formats.readstate import Mark, ReadState
from palimpsest_core.formats.rows import StoredRow
from palimpsest_core.formats.rowscan import RowScanner
from palimpsest_core.formats.usual import UsualRows
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.model.header import StoredHeader
from palimpsest_core.storage.layout import ZSTD, LogFile, Stat
from palimpsest_core.storage.lines import TextChunk, Trust
from palimpsest_core.storage.logbytes import LogBytes, usual_first_line

_PROOF_BYTES = 512


class LogChanged(Exception):
    """A log is no longer what a saved state was taken from: read it as a whole again.

    `how`: "replaced" (other content, or another file under the name) or "truncated" (shorter than what was read).
    """

    def __init__(self, how: str) -> None:
        super().__init__(f"The log was {how} since it was read.")
        self.how = how


class ReadLog(msgspec.Struct, frozen=True):
    """A whole log: its readable prefix as canonical events (without closers) and all there is to say about it.

    `header` is None for a file that is no session log; its findings say why. `rows` and `withheld_rows` count lines
    after the header, `withheld_rows` being part of `rows`.
    """

    header: StoredHeader | None
    events: list[Event]
    findings: list[Finding]
    rows: int
    withheld_rows: int
    state: ReadState


_NO_TEXT = TextChunk(0, b"", Trust.WHOLE)


class LogReader:
    """One log, read from the start or from a saved state.

    The header is read at once. `state`, `rows_read`, `rows_withheld` and `findings` hold for what `batches` has yielded
    so far. Raises OSError where the file system does, and `LogChanged` when `resume` does not fit the file any more.
    Close it, or use it in a `with` statement. One thread at a time.
    """

    def __init__(self, file: LogFile, *, config: Config, resume: ReadState | None = None) -> None:
        self._log = LogBytes(file, window_max=config.window_max_bytes, row_max=config.row_max_bytes)
        try:
            self.peek: HeaderPeek = read_first_line(self._log)
            self.header: StoredHeader | None = self.peek.stored()
            self._version = self.header.header.version if self.header is not None else file.generation
            self._state = resume or ReadState(self._version, self._log.stat)
            self._mark: Mark | None = None
            if resume is not None:
                self._prove()
        except BaseException:
            self._log.close()
            raise
        self.file = msgspec.structs.replace(file, stat=self._log.stat)
        self._config = config
        self._strict = config.mode == "strict"
        self._cancel: CancelToken | None = None
        self._result_ids: dict[int, str] | None = None
        self._chunk = _NO_TEXT
        self._begun = False
        self._restore()

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Twice is fine."""
        self._log.close()
        self._chunk = _NO_TEXT  # its text may be long, and a reader may wait for the garbage collector

    @property
    def rows_read(self) -> int:
        """Lines after the header so far, withheld ones included."""
        return self._scanner.rows

    @property
    def rows_withheld(self) -> int:
        """Lines so far that are not shown as events."""
        return self._scanner.withheld

    @property
    def next_seq(self) -> int:
        """How many events the rows so far hold; unlike the state's, provisional ones included."""
        return self._scanner.next_seq

    @property
    def last_time(self) -> int | None:
        """The time of the last event so far (epoch ms), None without events."""
        return self._scanner.last_time if self._scanner.next_seq else None

    @property
    def findings(self) -> list[Finding]:
        """Everything noted about header, bytes and rows so far."""
        path = self.file.path
        found = list(self.peek.findings)
        if self.header is None:
            return sorted(found, key=lambda finding: finding.code != FindingCode.UNREADABLE)
        issue = self._scanner.issue
        lost = issue.rows if issue is not None and issue.cause == "damage" else 0
        sure = self.state
        kept = self.rows_read - self.rows_withheld - (sure.rows - sure.withheld)
        found += notes.byte_findings([*sure.byte_faults, *self._log.faults], path, lost, kept)
        if issue is not None:
            found += notes.issue_findings(issue, path)
        return found + notes.scan_findings(self._scanner, path)

    def refresh(self) -> LogFile:
        """Let `batches` go on with what was appended meanwhile; returns the file with its stat of now.

        Raises `LogChanged` when the file was replaced or truncated, FileNotFoundError when it is gone.
        """
        now = Stat.of(os.stat(self.file.path))
        if now != self.file.stat and (self.header is None or self._torn_header()):
            raise LogChanged("replaced")
        if (now.dev, now.ino) != (self.file.stat.dev, self.file.stat.ino):
            raise LogChanged("replaced")
        self._log.refresh()
        self._prove()
        self.file = msgspec.structs.replace(self.file, stat=self._log.stat)
        return self.file

    def batches(self, cancel: CancelToken | None = None) -> Iterator[list[StoredRow]]:
        """The rows from `state` on, about 256 KB of text at a time, to the size the file had when it was opened.

        Rows of a torn or damaged place are `provisional`: `state` stays before them, and a later call tells them anew
        (everything at or past `state.next_seq` and `state.next_line`). Without a header every line of the file is a
        withheld row, the first one included. Raises `ABORTED` when cancelled.
        """
        for rows in self.runs(cancel):
            yield rows.rows() if isinstance(rows, UsualRows) else rows

    def runs(self, cancel: CancelToken | None = None) -> Iterator[UsualRows | list[StoredRow]]:
        """As `batches`, with the batches of which every row is usual by columns."""
        self._cancel = cancel
        state = self.state
        if self._begun:
            self._restore()
        self._begun = True
        for chunk in self._log.chunks(state.byte_offset, state.text_offset, cancel):
            check(cancel)
            if chunk.offset == 0 and self.header is not None:
                chunk = self._without_header(chunk)
            self._chunk = chunk
            had_issue = self._scanner.issue is not None
            rows = self._scanner.scan(chunk) if chunk.text or chunk.oversize else []
            if self._modernizer is not None:
                rows = observed(rows, self._modernizer)
            if not had_issue and self._scanner.issue is not None and not isinstance(rows, UsualRows):
                self._look_closer(rows)
            if chunk.commit >= 0:
                self._save(chunk)
            if rows:
                yield rows
        self._state = msgspec.structs.replace(self.state, stat=self._log.stat)

    def expand(self, row: StoredRow) -> list[Event]:
        """The canonical events of a row: several for a packed one, none for a withheld one.

        Raises `ABORTED` once the token is set that `batches` was given.
        """
        check(self._cancel)
        return self._expander.events(row)

    def line_of(self, row: StoredRow) -> bytes:
        """The stored line of a row, byte for byte, line feed included."""
        return self.line_at(row.offset, row.length)

    def line_at(self, offset: int, length: int) -> bytes:
        """Decoded text by its place, as rows tell it; any part of the log that was or could be read."""
        start = offset - self._chunk.offset
        if start >= 0 and start + length <= len(self._chunk.text):
            return self._chunk.text[start : start + length]
        return self._log.read_range(offset, length)

    def events_at(self, offset: int, length: int, seq: int, time: int = 0) -> list[Event]:
        """The canonical events of an accepted row by its place, `seq` being the first it holds; else none.

        `time` is the row's time as it was told before: a row without a usable one got that of the event before it.
        """
        row = self._scanner.single(self.line_at(offset, length), offset, seq, time)
        return [] if row is None else self._expander.events(row)

    def _torn_header(self) -> bool:
        return any(finding.detail == "torn-header" for finding in self.peek.findings)

    def _prove(self) -> None:
        """Raise `LogChanged` unless what the state was taken from is still there."""
        then, now = self.state, self._log.stat
        if now.size < then.byte_offset:
            raise LogChanged("truncated")
        other_file = (now.dev, now.ino) != (then.stat.dev, then.stat.ino)
        rewritten = now.size == then.stat.size and now.mtime_ns != then.stat.mtime_ns
        if other_file or rewritten or self._version != then.version or self._proof(then.byte_offset) != then.proof:
            raise LogChanged("replaced")

    def _proof(self, byte_offset: int) -> str:
        if byte_offset == 0:
            return ""
        start = max(0, byte_offset - _PROOF_BYTES)
        return hashlib.blake2b(self._log.read_at(start, byte_offset - start), digest_size=16).hexdigest()

    def _restore(self) -> None:
        """Stand where the state says."""
        state = self.state
        rules = generation(state.version)
        scanner = RowScanner(rules, KNOWN_TYPES, self._log.encoding == ZSTD, strict=self._strict)
        scanner.next_line, scanner.next_seq, scanner.last_time = state.next_line, state.next_seq, state.last_time
        scanner.rows, scanner.withheld = state.rows, state.withheld
        scanner.issue = state.issue.copy() if state.issue is not None else None
        scanner.required = {name: list(seen) for name, seen in state.required.items()}
        scanner.faults, scanner.fault_count = list(state.faults), state.fault_count
        if self.header is None and scanner.issue is None:
            scanner.next_line = 1
            scanner.issue = Issue(NO_HEADER, 1, 0, 0, -1)
        self._scanner = scanner
        self._modernizer: Modernizer | None = None
        if rules.old_shapes and self.header is not None:
            legacy = (state.legacy or LegacyState()).before(state.next_seq)
            modernizer = ExactModernizer if self._strict else Modernizer
            self._modernizer = modernizer(self.header.header.id, legacy, self._result_id)
        self._expander = Expander(self._modernizer, pairs=not self._strict)

    @property
    def state(self) -> ReadState:
        """Where a later read can go on: behind the last row that is beyond doubt."""
        mark = self._mark
        if mark is not None:
            self._mark = None
            before = self._state
            fresh = [f for f in self._log.faults if before.byte_offset <= f.byte_offset < mark.byte_offset]
            self._state = mark.state(before, self._log.stat, self._proof(mark.byte_offset), fresh)
        return self._state

    def _save(self, chunk: TextChunk) -> None:
        """Mark this place; what is costly about a state is only made when somebody asks for it."""
        scanner = self._scanner
        self._mark = Mark(
            chunk.commit,
            chunk.end,
            scanner.next_line,
            scanner.next_seq,
            scanner.last_time,
            scanner.rows,
            scanner.withheld,
            scanner.issue.copy() if scanner.issue is not None else None,
            {name: list(seen) for name, seen in scanner.required.items()},
            list(scanner.faults),
            scanner.fault_count,
            self._modernizer.state.snapshot() if self._modernizer is not None else None,
        )

    def _without_header(self, chunk: TextChunk) -> TextChunk:
        if chunk.oversize:
            return chunk._replace(offset=chunk.end, oversize=0)
        cut = chunk.text.find(b"\n") + 1 or len(chunk.text)
        return chunk._replace(offset=cut, text=chunk.text[cut:], oversize=0, lines=chunk.lines[1:])

    def _result_id(self, seq: int) -> str | None:
        """The message id of the tool result `seq`, found by reading the log again once; such logs are rare."""
        if self._result_ids is None:
            self._result_ids = {}
            with LogReader(self.file, config=self._config) as other:
                other._result_ids = {}
                for rows in other.batches(self._cancel):
                    for row in rows:
                        if row.type == "tool/result":
                            for event in other.expand(row):
                                message = event.data.get("message") if isinstance(event.data, dict) else None
                                if isinstance(message, dict) and isinstance(message.get("id"), str):
                                    self._result_ids[event.seq] = message["id"]
        return self._result_ids.get(seq)

    def _look_closer(self, rows: list[StoredRow]) -> None:
        """Tell what kind of overlap an issue is, from the accepted text before it and the rows of the second lane."""
        issue = self._scanner.issue
        if issue is None or issue.cause != "seq-overlap":
            return
        start = max(0, issue.offset - LOOK_BACK)
        text = self._log.read_range(start, issue.offset - start, self._cancel)
        before = self._claimed_events(text.split(b"\n")[1 if start else 0 : -1])
        again = self._claimed_events([self.line_of(row) for row in rows if row.withheld])
        issue.note = judge(before, again, issue.expected)

    def _claimed_events(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            row = self._scanner.claimed(line, 0)
            if row is not None:
                events += self._expander.events(row)
        return events


def read_log(file: LogFile, *, config: Config, cancel: CancelToken | None = None) -> ReadLog:
    """A whole log in memory. Raises OSError where the file system does, `ABORTED` when cancelled; never for damage."""
    with LogReader(file, config=config) as reader:
        events: list[Event] = []
        for rows in reader.batches(cancel):
            for row in rows:
                events += reader.expand(row)
        return ReadLog(reader.header, events, reader.findings, reader.rows_read, reader.rows_withheld, reader.state)


def read_header(file: LogFile, *, config: Config) -> HeaderPeek:
    """The header alone: the first frame or line is read, nothing more. Raises OSError where the file system does."""
    line = usual_first_line(file, config.window_max_bytes)
    if line is not None:
        return parse_header(line, file.path, file.generation)
    with LogBytes(file, window_max=config.window_max_bytes, row_max=config.row_max_bytes) as log:
        return read_first_line(log)


__all__ = ["HeaderPeek", "LogChanged", "LogReader", "ReadLog", "ReadState", "StoredRow", "read_header", "read_log"]
