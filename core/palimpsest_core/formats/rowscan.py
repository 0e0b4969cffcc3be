"""Chunks of text to stored rows, with the sequence rule (session format, sections 2.4 and 4)."""

from __future__ import annotations

from typing import Any

from palimpsest_core.formats.generation import Generation
from palimpsest_core.formats.issue import Issue
from palimpsest_core.formats.jsjson import BadJson, is_safe_int
from palimpsest_core.formats.packed import TAGS, member_count, parse_packed, times
from palimpsest_core.formats.rows import NOTHING, Envelope, StoredRow, scan_line, scan_lines
from palimpsest_core.storage.lines import TextChunk, Trust

_TURN_END = "turn/end"


class RowScanner:
    """Goes through a log's rows in order.

    `next_line`, `next_seq`, `last_time` and `issue` are where it stands; set them to go on from a saved place. `required`
    maps each type that is not marked as skippable and that `known` does not hold to its first and last seq and count.
    `is_zstd` tells whether a defect of a row lies in a complete frame.
    """

    def __init__(self, rules: Generation, known: frozenset[str], is_zstd: bool) -> None:
        self.rules = rules
        self.known = known
        self.is_zstd = is_zstd
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
        """The rows of a chunk. Rows are withheld once an issue is open, and where the text is not to be trusted."""
        if chunk.oversize:
            return [self._defective(chunk.offset, chunk.oversize, "oversize", chunk.trust)]
        if chunk.cut:
            return [self._defective(chunk.offset, len(chunk.text), "torn", chunk.trust)]
        provisional = chunk.trust != Trust.WHOLE
        if chunk.trust == Trust.UNVERIFIED and self.issue is None:
            self.issue = Issue("damage", self.next_line, chunk.offset, self.next_seq, -1, whole=True)
        lines = chunk.text.split(b"\n")
        lines.pop()
        envelopes = scan_lines(chunk.text)
        rows: list[StoredRow] = []
        offset = chunk.offset
        known = self.known
        for index, line in enumerate(lines):
            length = len(line) + 1
            envelope = envelopes[index] if envelopes is not None else None
            if (
                envelope is not None
                and envelope.seq == self.next_seq
                and envelope.time >= 0
                and envelope.data is not NOTHING
                and envelope.type in known
                and envelope.seq0 == -1
                and envelope.time0 == -1
                and self.issue is None
            ):
                # The usual case, kept short: a sound row in its place.
                row = StoredRow(envelope.type, envelope.seq, envelope.time, 1, self.next_line, offset, length)
                row.envelope = envelope
                row.provisional = provisional
                self.next_seq += 1
                self.last_time = envelope.time
            else:
                row = self._careful(line, envelope, offset, length, chunk.trust)
            rows.append(row)
            self.next_line += 1
            offset += length
        self.rows += len(rows)
        return rows

    def single(self, line: bytes, offset: int, seq: int) -> StoredRow | None:
        """One row that was accepted before, read again by itself; None unless it begins with `seq`."""
        other = RowScanner(self.rules, self.known, self.is_zstd)
        other.next_seq = seq
        row = other._careful(line.removesuffix(b"\n"), None, offset, len(line), Trust.WHOLE)
        return None if row.withheld else row

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
        if envelope is None:
            try:
                found = scan_line(line)
            except BadJson as error:
                cause = error.cause or ("bad-json" if line.strip(b" \t\r") else "blank-line")
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
            self.issue = Issue(cause, row.line, offset, self.next_seq, row.seq, whole=whole)
        if self.issue is not None:
            self._withhold(row, cause)
        else:
            self.next_seq += row.count
        return row

    def _withhold(self, row: StoredRow, cause: str) -> None:
        issue = self.issue
        assert issue is not None
        row.withheld = True
        row.problem = cause or "after"
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
            seq: Any = envelope.seq if envelope.seq != -1 else None
            when: Any = envelope.time if envelope.time != -1 else None
        else:
            kind, seq, when = value.get("type"), value.get("seq"), value.get("time")
        if not isinstance(kind, str):
            row.seq = seq if is_safe_int(seq, 0) else -1
            return "bad-type" if row.seq == self.next_seq else "bad-row"
        row.type = kind
        if kind in TAGS and self.rules.packed:
            return self._read_packed(row)
        if not is_safe_int(seq, 0):
            return "bad-row"
        row.seq = seq
        row.count = 1
        if is_safe_int(when):
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

    def _read_packed(self, row: StoredRow) -> str:
        envelope, value = row.envelope, row.value
        if envelope is not None:
            seq0, time0 = envelope.seq0, envelope.time0
            extra = envelope.seq != -1 or envelope.time != -1
            extra = extra or any(
                raw is not NOTHING for raw in (envelope.surfaceOp, envelope.sourceEventSeqs, envelope.ignorable)
            )
            packed = parse_packed(row.type, envelope.data)
        else:
            seq0, time0 = value.get("seq0"), value.get("time0")
            extra = value.keys() != {"type", "seq0", "time0", "data"}
            data = value.get("data")
            packed = parse_packed(row.type, data) if isinstance(data, dict) else None
        if is_safe_int(seq0, 0):
            row.seq = seq0
        if packed is None or extra or row.seq < 0 or not is_safe_int(time0) or times(packed, time0) is None:
            return "bad-packed"
        row.packed = packed
        row.time = time0
        row.count = member_count(packed)
        if row.seq != self.next_seq:
            return "seq-gap" if row.seq > self.next_seq else "seq-overlap"
        if self.issue is None:
            self.last_time = time0 + sum(packed.dt)
        return ""
