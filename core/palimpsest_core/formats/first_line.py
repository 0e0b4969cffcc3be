"""The header of a log file, read cheaply: its first frame or line and nothing more."""

from __future__ import annotations

from palimpsest_core.formats.header import HeaderPeek, parse_header, unreadable
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.storage.logbytes import LogBytes

_HEADER_MAX = 16 << 20


def read_first_line(log: LogBytes) -> HeaderPeek:
    """The header of an open log. Details added to those of `parse_header`: "empty", "torn-header", "foreign-bytes",
    "header-frame" (the first frame holds more or less than one line), "header-frame-damaged", "encoding-plain" (under a
    compressed name), "encoding-zstd" (under a plain name)."""
    path = log.file.path
    first = log.first_line(_HEADER_MAX)
    if first.line is None:
        return unreadable(path, *_REASONS.get(first.cause, _REASONS["other"]))
    peek = parse_header(first.line, path, log.file.generation)
    if first.cause == "":
        return peek
    if peek.header is None and first.cause in _REASONS:
        return unreadable(path, *_REASONS[first.cause])
    code, detail, message = _ODD.get(first.cause, _ODD["other"])
    finding = Finding(code, message, path, byte_offset=0, line=1, detail=detail)
    return HeaderPeek(peek.header, peek.raw, [finding, *peek.findings], peek.version, peek.line)


_REASONS = {
    "empty": ("empty", "The file is empty: it holds no header."),
    "torn-frame": ("torn-header", "The header is torn: the file ends before its first frame does."),
    "torn-line": ("torn-header", "The header is torn: the file ends before its first line does."),
    "bad-magic": ("foreign-bytes", "The file does not begin like a compressed log: foreign bytes under a log's name."),
    "unended-frame": ("header-frame", "The first frame holds no whole line, so there is no header."),
    "too-long": ("header-json", "The first line is far too long to be a header."),
    "window": ("header-frame-damaged", "The first frame needs a larger window than is allowed, so it is not read."),
    "expansion": ("header-frame-damaged", "The first frame holds far more text than a header, so it is not read."),
    "other": ("header-frame-damaged", "The first frame is damaged, so there is no header."),
}
_ODD = {
    "encoding-plain": (
        FindingCode.NAME_HEADER_MISMATCH,
        "encoding-plain",
        "The file's name says compressed, its content is plain: name and content disagree. It is read by its content.",
    ),
    "encoding-zstd": (
        FindingCode.NAME_HEADER_MISMATCH,
        "encoding-zstd",
        "The file's name says plain, its content is compressed: name and content disagree. It is read by its content.",
    ),
    "skippable": (FindingCode.HEADER_FRAME, "header-frame", "A skippable frame stands before the header frame."),
    "torn-frame": (FindingCode.TORN_TAIL, "torn-header", "The first frame is torn, but its header line is there."),
    "torn-line": (FindingCode.TORN_TAIL, "torn-header", "The file ends in its header line, before the line feed."),
    "more": (
        FindingCode.HEADER_FRAME,
        "header-frame",
        "The first frame holds more than the header: it must hold the header line alone.",
    ),
    "unended-frame": (FindingCode.HEADER_FRAME, "header-frame", "The first frame does not end with the header line."),
    "other": (FindingCode.CORRUPT, "header-frame-damaged", "The first frame is damaged; its header may be wrong."),
}
