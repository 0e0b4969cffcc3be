"""Chunks of text to stored rows, with the sequence rule (session format, sections 2.4 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palimpsest_core.formats.generation import Generation
from palimpsest_core.formats.issue import NO_HEADER, Issue
from palimpsest_core.formats.jsjson import BadJson, is_minus_zero, is_safe_int, too_deep
from palimpsest_core.formats.packed import TAGS, last_time, member_count, parse_packed
from palimpsest_core.formats.rows import NOTHING, Envelope, StoredRow, scan_line, scan_lines
from palimpsest_core.formats.usual import UsualRows, more_than_packed, usual_rows
from palimpsest_core.storage.lines import TextChunk, Trust

_TURN_END = "turn/end"
_TURN_END_TEXT = b'"turn/end"'

MOST_WITHHELD = 1_000_000
"""So many withheld rows (and the rest of a chunk) are told one by one."""


class RowScanner:
    """Goes through a log's rows in order.

    `next_line`, `next_seq`, `last_time` and `issue` are where it stands; set them to go on from a saved place.
    `required` maps each type that is not marked as skippable and that `known` does not hold to its first and last seq
    and count. `is_zstd` tells whether a defect of a row lies in a complete frame. `strict`: a row whose type is no text
    is accepted with a fault, since the reference refuses it too, but only after other things; and minus zero is a time.
    """

    def __init__(self, rules: Generation, known: frozenset[str], is_zstd: bool, *, strict: bool = False) -> None:
        self.rules = rules
        self.known = known
        self.is_zstd = is_zstd
        self.strict = strict
        self.next_line = 2
        self.next_seq = 0
        self.last_time = 0
        self.issue: Issue | None = None
        self.rows = 0
        self.withheld = 0
        self.faults: list[tuple[int, int, str]] = []
        self.fault_count = 0
        self.required: dict[str, list[int]] = {}

    def rows_of(self, chunk: TextChunk) -> list[StoredRow]:
        """The rows of a chunk, each by itself; see `scan`."""
        found = self.scan(chunk)
        return found.rows() if isinstance(found, UsualRows) else found

    def scan(self, chunk: TextChunk) -> UsualRows | list[StoredRow]:
        """The rows of a chunk, by columns when all of them are usual.

        Rows are withheld once an issue is open, and where the text is not to be trusted. Past `MOST_WITHHELD` withheld
        rows the others are only counted: a file of line feeds is no log.
        """
        if self.issue is not None and self.withheld >= MOST_WITHHELD:
            self._count(chunk)
            return []
        if chunk.oversize:
            return [self._defective(chunk.offset, chunk.oversize, "oversize", chunk.trust)]
        if chunk.cut:
            return [self._defective(chunk.offset, len(chunk.text), "torn", chunk.trust)]
        provisional = chunk.trust != Trust.WHOLE
        if chunk.trust == Trust.UNVERIFIED and self.issue is None:
            self.issue = Issue("damage", self.next_line, chunk.offset, self.next_seq, -1, whole=True)
        lines = chunk.lines or chunk.text.split(b"\n")[:-1]
        envelopes = scan_lines(chunk.text, lines)
        rows: list[StoredRow] = []
        if envelopes is not None and self.issue is None:
            usual = self._usual(lines, envelopes, chunk.offset, provisional)
            if len(usual) == len(lines):
                return usual
            rows = usual.rows()
        done = len(rows)
        offset = rows[-1].offset + rows[-1].length if rows else chunk.offset
        for index in range(done, len(lines)):
            line = lines[index]
            envelope = envelopes[index] if envelopes is not None and not too_deep(line) else None
            row = self._careful(line, envelope, offset, len(line) + 1, chunk.trust)
            rows.append(row)
            self.next_line += 1
            offset += row.length
        self.rows += len(rows) - done
        return rows

    def _count(self, chunk: TextChunk) -> None:
        issue = self.issue
        assert issue is not None
        count = 1 if chunk.oversize or chunk.cut else chunk.text.count(b"\n")
        self.rows += count
        self.withheld += count
        self.next_line += count
        issue.rows += count
        issue.turn_end = issue.turn_end or _TURN_END_TEXT in chunk.text

    def _usual(self, lines: Sequence[bytes], envelopes: list[Envelope], offset: int, provisional: bool) -> UsualRows:
        """Sound rows in their places, up to the first that asks for a closer look."""
        usual = usual_rows(
            lines,
            envelopes,
            known=self.known,
            packs=self.rules.packed,
            next_seq=self.next_seq,
            last=self.last_time,
            line=self.next_line,
            offset=offset,
            provisional=provisional,
        )
        count = len(usual)
        self.next_seq, self.last_time = usual.seqs[-1], usual.times[-1]
        self.next_line += count
        self.rows += count
        return usual

    def single(self, line: bytes, offset: int, seq: int, time: int = 0) -> StoredRow | None:
        """One row that was accepted before, read again by itself; None unless it begins with `seq`. `time` is what a
        row without a usable one was given."""
        other = RowScanner(self.rules, self.known, self.is_zstd, strict=self.strict)
        other.next_seq, other.last_time = seq, time
        row = other._careful(line.removesuffix(b"\n"), None, offset, len(line), Trust.WHOLE)
        return None if row.withheld else row

    def claimed(self, line: bytes, offset: int) -> StoredRow | None:
        """A row wherever it claims to stand: what a withheld one says. None when it says nothing sound."""
        other = RowScanner(self.rules, self.known, self.is_zstd, strict=self.strict)
        row = other._careful(line.removesuffix(b"\n"), None, offset, len(line), Trust.WHOLE)
        if row.seq < 0 or row.problem not in ("", "seq-gap", "seq-overlap"):
            return None
        return self.single(line, offset, row.seq)

    def _defective(self, offset: int, length: int, problem: str, trust: Trust) -> StoredRow:
        """The row of something that is no whole line."""
        row = StoredRow(
            "row", -1, self.last_time, 0, self.next_line, offset, length, True, trust != Trust.WHOLE, problem
        )
        if self.issue is not None:
            self.issue.rows += 1
        elif problem == "oversize" or trust == Trust.UNVERIFIED:
            cause = "row-limit" if problem == "oversize" else "damage"
            self.issue = Issue(cause, self.next_line, offset, self.next_seq, -1, rows=1, whole=True)
        self.next_line += 1
        self.rows += 1
        self.withheld += 1
        return row

    def _note_unknown(self, name: str, seq: int, ignorable: bool) -> None:
        if ignorable:
            return
        seen = self.required.get(name)
        if seen is None:
            if len(self.required) < 1000:
                self.required[name] = [seq, seq, 1]
        else:
            seen[1] = seq
            seen[2] += 1

    def _careful(self, line: bytes, envelope: Envelope | None, offset: int, length: int, trust: Trust) -> StoredRow:
        value: Any = None
        cause = ""
        if envelope is not None and envelope.time == 0 and b"-0" in line:
            envelope = None  # the fast parser cannot tell minus zero from zero
        if envelope is None and not line.strip(b" \t\r"):
            cause = "blank-line"
        elif envelope is None:
            try:
                found = scan_line(line)
            except BadJson as error:
                cause = error.cause or "bad-json"
            else:
                if isinstance(found, Envelope):
                    envelope = found
                else:
                    value = found
        row = StoredRow("row", -1, self.last_time, 0, self.next_line, offset, length)
        row.provisional = trust != Trust.WHOLE
        row.envelope = envelope
        row.value = value
        if not cause:
            cause = self._read(row)
        if cause and self.issue is None:
            whole = self.is_zstd and trust == Trust.WHOLE
            span = max(row.count, 1)
            self.issue = Issue(cause, row.line, offset, self.next_seq, row.seq, whole=whole, span=span)
        if self.issue is not None:
            self._withhold(row, cause)
        else:
            self.next_seq += row.count
        return row

    def _withhold(self, row: StoredRow, cause: str) -> None:
        issue = self.issue
        assert issue is not None
        row.withheld = True
        row.problem = cause or (NO_HEADER if issue.cause == NO_HEADER else "after")
        self.withheld += 1
        issue.rows += 1
        if row.seq >= 0:
            issue.last = max(issue.last, row.seq + max(row.count, 1) - 1)
        if row.type == _TURN_END:
            issue.turn_end = True
        if cause == "null":
            issue.null = True
        row.count = 0

    def _read(self, row: StoredRow) -> str:
        """Fill in what the row claims; returns the cause when it cannot stand where it is."""
        envelope, value = row.envelope, row.value
        if envelope is not None:
            kind: Any = envelope.type
            seq: Any = envelope.seq
            when: Any = envelope.time
        else:
            kind, seq, when = value.get("type"), value.get("seq"), value.get("time")
        if not isinstance(kind, str):
            row.seq = seq if is_safe_int(seq, 0) else -1
            if row.seq != self.next_seq or not self.strict:
                return "bad-type" if row.seq == self.next_seq else "bad-row"
            kind, row.fault = row.type, "type"
        row.type = kind
        if kind in TAGS and self.rules.packed:
            return self._read_packed(row, self.next_seq)
        if not is_safe_int(seq, 0):
            return "bad-row"
        row.seq = seq
        row.count = 1
        if is_safe_int(when) or (self.strict and is_minus_zero(when)):
            row.time = when
        else:
            row.fault = "time"
        if envelope is not None:
            has_data = envelope.data is not NOTHING
            skippable = bytes(envelope.ignorable) == b"true"
        else:
            has_data = "data" in value
            skippable = value.get("ignorable") is True
        if not has_data:
            row.fault = "data"
        if seq != self.next_seq:
            return "seq-gap" if seq > self.next_seq else "seq-overlap"
        if self.issue is None:
            self.last_time = row.time
            if row.fault:
                self.fault_count += 1
                if len(self.faults) < 100:
                    self.faults.append((row.line, seq, row.fault))
            if kind not in self.known:
                self._note_unknown(kind, seq, skippable)
        return ""

    def _read_packed(self, row: StoredRow, expected: int) -> str:
        envelope, value = row.envelope, row.value
        if envelope is not None:
            seq0, time0 = envelope.seq0, envelope.time0
            extra = more_than_packed(envelope)
            packed = parse_packed(row.type, envelope.data)
        else:
            seq0, time0 = value.get("seq0"), value.get("time0")
            extra = value.keys() != {"type", "seq0", "time0", "data"}
            data = value.get("data")
            packed = parse_packed(row.type, data) if isinstance(data, dict) else None
        if is_safe_int(seq0, 0):
            row.seq = seq0
        if packed is None or extra or row.seq < 0 or not is_safe_int(time0):
            return "bad-packed"
        end = last_time(packed, time0)
        if end is None:
            return "bad-packed"
        row.packed = packed
        row.time = time0
        row.count = member_count(packed)
        if row.seq != expected:
            return "seq-gap" if row.seq > expected else "seq-overlap"
        if self.issue is None:
            self.last_time = end
        return ""
