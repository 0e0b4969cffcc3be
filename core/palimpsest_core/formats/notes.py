"""From what reading met to findings: one sentence for people, one short cause for the strict table."""

from __future__ import annotations

from palimpsest_core.formats.issue import NO_HEADER, Issue
from palimpsest_core.formats.rowscan import MOST_WITHHELD, RowScanner
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.storage.logbytes import ByteFault

_BYTE_FAULTS: dict[str, tuple[FindingCode, str]] = {
    "torn-frame": (
        FindingCode.TORN_TAIL,
        "The last frame is torn: {kept}.",
    ),
    "torn-inside": (
        FindingCode.CORRUPT,
        "A frame is cut or broken, and whole frames follow it; what follows is unverified.",
    ),
    "torn-line": (FindingCode.TORN_TAIL, "The last line is torn: its {length} bytes are ignored."),
    "checksum": (
        FindingCode.CORRUPT,
        "The checksum of a whole frame does not fit ({length} bytes); what follows is unverified.",
    ),
    "undecodable": (
        FindingCode.CORRUPT,
        "A whole frame cannot be decoded ({length} bytes); what follows is unverified.",
    ),
    "bad-magic": (FindingCode.CORRUPT, "Foreign bytes stand where a frame should begin; what follows is unverified."),
    "reserved": (FindingCode.CORRUPT, "A frame's structure is broken; what follows is unverified."),
    "dictionary": (FindingCode.CORRUPT, "A frame needs a dictionary, which no log does; what follows is unverified."),
    "skippable": (
        FindingCode.FOREIGN_FRAME,
        "A skippable frame of {length} bytes lies between the frames; it holds no text.",
    ),
    "unended-frame": (FindingCode.CORRUPT, "The last whole frame does not end with a line feed: its last line is cut."),
    "window": (
        FindingCode.LIMIT_EXCEEDED,
        "A frame needs a larger window than is allowed; it is not read, and what follows is unverified.",
    ),
    "expansion": (
        FindingCode.LIMIT_EXCEEDED,
        "A frame holds far more text than a log ever does for its size; it and what follows is not read.",
    ),
}
_ROW_CAUSES = {
    "bad-json": "Line {line} is no JSON",
    "too-deep": "Line {line} is nested too deep",
    "blank-line": "Line {line} is blank",
    "not-object": "Line {line} is JSON but no object",
    "null": "Line {line} is null",
    "bad-type": "Line {line} has no type that is a text",
    "bad-row": "Line {line} has no usable sequence number",
    "bad-packed": "Line {line} is a malformed packed row",
}


def byte_findings(faults: list[ByteFault], path: str, withheld: int = 0, kept: int = 0) -> list[Finding]:
    """A finding for each kind of defect of the stored bytes, at its first place.

    `withheld` rows lie behind them; `kept` rows were read from a torn last frame.
    """
    out = []
    seen: set[str] = set()
    for fault in faults:
        if fault.cause in seen or fault.cause not in _BYTE_FAULTS:
            continue
        seen.add(fault.cause)
        code, text = _BYTE_FAULTS[fault.cause]
        message = text.format(length=fault.length, kept=_kept(fault.length, kept))
        if withheld and code == FindingCode.CORRUPT:
            message = f"{message[:-1]}: {_rows(withheld)} withheld."
            withheld = 0
        out.append(Finding(code, message, path, byte_offset=fault.byte_offset, detail=fault.cause))
    return out


def _kept(length: int, rows: int) -> str:
    if not rows:
        return f"its {length} bytes are ignored, for no whole line can be read from them"
    shown = "1 row that is whole in them is" if rows == 1 else f"the {rows} rows that are whole in them are"
    return f"of its {length} bytes {shown} shown, the rest is ignored"


def _rows(count: int, where: str = "") -> str:
    return f"{count} rows{where} are" if count != 1 else f"1 row{where} is"


def issue_findings(issue: Issue, path: str) -> list[Finding]:
    """The finding for the first defect among the rows; none when bytes or header are at fault, which have theirs."""
    committed = issue.turn_end or issue.whole or issue.null or issue.cause == "bad-type"
    detail = issue.cause if committed else issue.cause + ":tail"
    kept = f"{_rows(issue.rows, ' from there on')} withheld"
    seq = issue.expected
    found = f"{issue.found} to {issue.found + issue.span - 1} in one packed row" if issue.span > 1 else str(issue.found)
    if issue.cause in ("damage", NO_HEADER):
        return []
    if issue.cause == "row-limit":
        code = FindingCode.LIMIT_EXCEEDED
        message = f"Line {issue.line} is longer than is allowed; {kept}."
        detail = "row-limit"
    elif issue.cause == "seq-gap":
        code = FindingCode.SEQUENCE_GAP
        message = f"Sequence gap at line {issue.line}: expected {seq}, found {found}; {kept}."
    elif issue.cause == "seq-overlap":
        code = FindingCode.OVERLAPPING_WRITERS
        lane = f"{issue.found} to {issue.last}" if issue.last > issue.found else str(issue.found)
        if issue.note.startswith("closers"):
            code = FindingCode.OVERLAPPED_REPAIR
            message = (
                f"The closers {issue.found} to {seq - 1} of a repair are overlapped by rows of a writer that was still "
                f"alive ({lane}), at line {issue.line}: expected {seq}, found {issue.found}; {kept}."
            )
        else:
            told = _NOTES.get(issue.note, "")
            message = (
                f"Two writers overlap at line {issue.line}: expected sequence number {seq}, found {found} "
                f"(a second lane {lane}); {told}{kept}."
            )
    else:
        code = FindingCode.CORRUPT if committed else FindingCode.WITHHELD_TAIL
        message = f"{_ROW_CAUSES[issue.cause].format(line=issue.line)}; {kept}."
    return [Finding(code, message, path, line=issue.line, seq=seq, detail=detail)]


_NOTES = {
    "same": "the repeated part is identical to what was there; ",
    "differs": "the repeated part differs from what was there; ",
}


def scan_findings(scanner: RowScanner, path: str) -> list[Finding]:
    """Findings about rows that are shown: envelope faults and unknown required types."""
    out = []
    if scanner.withheld > MOST_WITHHELD:
        message = f"{scanner.withheld:,} rows are withheld; only about the first {MOST_WITHHELD:,} of them are listed."
        out.append(Finding(FindingCode.LIMIT_EXCEEDED, message, path, detail="withheld-limit"))
    if scanner.faults:
        line, seq, what = scanner.faults[0]
        more = f" (and {scanner.fault_count - 1} more)" if scanner.fault_count > 1 else ""
        told = {"time": "no usable time", "type": "no type that is a text"}.get(what, "no data")
        out.append(
            Finding(
                FindingCode.CORRUPT,
                f"Event {seq} has {told}{more}; it is shown nevertheless.",
                path,
                line=line,
                seq=seq,
                detail="envelope",
            )
        )
    for name, (first, last, count) in scanner.required.items():
        place = f"event {first}" if count == 1 else f"{count} events, {first} to {last}"
        out.append(
            Finding(
                FindingCode.UNKNOWN_REQUIRED_EVENT,
                f"The type {name[:120]} ({place}) is unknown here and not marked as skippable: a plug-in's or a newer "
                "build's. It is shown as it is.",
                path,
                seq=first,
                detail="unknown-type",
            )
        )
    return out
