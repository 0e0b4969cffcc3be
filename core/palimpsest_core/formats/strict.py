"""What the reference refuses: one table from findings to its four outcomes, and its listing of a root.

Tolerant reading never looks here. Strict reading knows generation 0 alone, by file name, and one encoding for each
root. Faults of content (message shapes, surface rules, unknown types) are judged by `log.validate`, after the physical
ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import IntEnum

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.formats.catalog import Catalog, CatalogEntry, HeaderCache, build_catalog
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding
from palimpsest_core.storage.layout import PLAIN, ZSTD, discover, parse_log_name


class Outcome(IntEnum):
    """What a fault means to the reference, from harmless to worst.

    `FINE`: nothing. `REPAIRED`: read as if repaired. `CORRUPT`, `UNREADABLE`: listed, and its reads fail with
    `CORRUPT_SESSION` or `PERSISTENCE_FAILED`. `NOT_LISTED`: as if absent. `NOTHING_WORKS`: the whole root fails.
    """

    FINE = 0
    REPAIRED = 1
    CORRUPT = 2
    UNREADABLE = 3
    NOT_LISTED = 4
    NOTHING_WORKS = 5


OUTCOMES: dict[str, Outcome] = {
    # the header's bytes
    "empty": Outcome.NOT_LISTED,
    "torn-header": Outcome.NOT_LISTED,
    "encoding-zstd": Outcome.NOT_LISTED,
    "encoding-plain": Outcome.NOTHING_WORKS,
    "foreign-bytes": Outcome.NOTHING_WORKS,
    "header-frame": Outcome.NOTHING_WORKS,
    "header-frame-damaged": Outcome.NOTHING_WORKS,
    "not-openable": Outcome.NOTHING_WORKS,
    # the header's keys
    "header-json": Outcome.NOT_LISTED,
    "header-type": Outcome.NOT_LISTED,
    "header-id": Outcome.NOT_LISTED,
    "header-version": Outcome.NOT_LISTED,
    "header-created": Outcome.NOT_LISTED,
    "header-depth": Outcome.NOT_LISTED,
    "header-origin": Outcome.NOT_LISTED,
    "header-preset": Outcome.NOT_LISTED,
    "header-id-empty": Outcome.NOTHING_WORKS,
    "header-cwd": Outcome.NOTHING_WORKS,
    "header-retired": Outcome.NOTHING_WORKS,
    "header-unknown-key": Outcome.FINE,
    "header-missing": Outcome.FINE,
    "header-cwd-relative": Outcome.CORRUPT,
    "header-parent": Outcome.CORRUPT,
    "header-seed": Outcome.CORRUPT,
    "version": Outcome.UNREADABLE,
    # the place
    "path": Outcome.NOTHING_WORKS,
    "duplicate-id": Outcome.NOTHING_WORKS,
    "legacy-layout": Outcome.NOTHING_WORKS,
    "in-root": Outcome.FINE,
    "dangling": Outcome.FINE,
    "not-a-file": Outcome.NOTHING_WORKS,
    "unreadable": Outcome.NOTHING_WORKS,
    "temporary": Outcome.FINE,
    "generation": Outcome.FINE,
    "twin": Outcome.NOTHING_WORKS,
    # the bytes behind the header
    "torn-frame": Outcome.REPAIRED,
    "torn-inside": Outcome.REPAIRED,
    "torn-line": Outcome.REPAIRED,
    "checksum": Outcome.UNREADABLE,
    "undecodable": Outcome.UNREADABLE,
    "bad-magic": Outcome.UNREADABLE,
    "reserved": Outcome.UNREADABLE,
    "dictionary": Outcome.UNREADABLE,
    "skippable": Outcome.UNREADABLE,
    "unended-frame": Outcome.UNREADABLE,
    "window": Outcome.UNREADABLE,
    "expansion": Outcome.UNREADABLE,
    "row-limit": Outcome.UNREADABLE,
    # the rows
    "bad-json": Outcome.UNREADABLE,
    "too-deep": Outcome.UNREADABLE,
    "blank-line": Outcome.UNREADABLE,
    "not-object": Outcome.UNREADABLE,
    "null": Outcome.UNREADABLE,
    "bad-type": Outcome.UNREADABLE,
    "bad-row": Outcome.UNREADABLE,
    "bad-packed": Outcome.UNREADABLE,
    "seq-gap": Outcome.UNREADABLE,
    "seq-overlap": Outcome.UNREADABLE,
    "unknown-type": Outcome.UNREADABLE,
    "envelope": Outcome.CORRUPT,
}
_TAIL = ":tail"


def outcome(finding: Finding) -> Outcome:
    """What the reference makes of one finding; a defect of rows with nothing committed behind it is repaired."""
    detail = finding.detail or ""
    return Outcome.REPAIRED if detail.endswith(_TAIL) else OUTCOMES.get(detail, Outcome.FINE)


def worst(findings: Iterable[Finding]) -> tuple[Outcome, Finding | None]:
    """The worst outcome among findings and the first finding that has it (`FINE` and None without any)."""
    found, why = Outcome.FINE, None
    for finding in findings:
        its = outcome(finding)
        if its > found:
            found, why = its, finding
    return found, why


def physical_refusal(findings: Iterable[Finding]) -> SessionQueryError | None:
    """The error with which the reference refuses to read a listed log for its bytes, rows or version, if it does.

    Ask before `log.validate`; unknown types are left to it, since it knows what the reference knows.
    """
    for finding in findings:
        if outcome(finding) == Outcome.UNREADABLE and finding.detail != "unknown-type":
            return SessionQueryError(ErrorCode.PERSISTENCE_FAILED, finding.message)
    return None


def envelope_refusal(findings: Iterable[Finding]) -> SessionQueryError | None:
    """The error for header keys and event envelopes of the wrong type, if there are any. Ask after `log.validate`."""
    for finding in findings:
        if outcome(finding) == Outcome.CORRUPT:
            return SessionQueryError(ErrorCode.CORRUPT_SESSION, finding.message)
    return None


def strict_catalog(
    root: str | os.PathLike[str],
    config: Config,
    cancel: CancelToken | None = None,
    cache: HeaderCache | None = None,
) -> Catalog:
    """The sessions that the reference lists below `root`: generation 0 by name, in the configured encoding.

    Raises `PERSISTENCE_FAILED` where it fails for the root as a whole. A missing root is an empty one.
    """
    found = discover(root, cancel)
    files = [file for file in found.files if file.generation == 0]
    other = PLAIN if config.compression == "zstd" else ZSTD
    for file in files:
        if file.encoding == other:
            raise _nothing_works(f"The root holds a log of the other encoding: {file.path}.")
    catalog = build_catalog(os.fspath(root), files, found.strays, config, cancel, cache, found.missing)
    its, why = worst(stray for stray in catalog.strays if not _of_later(stray))
    listed: list[CatalogEntry] = []
    for entry in catalog.sessions:
        this, reason = worst(entry.findings)
        if this > its:
            its, why = this, reason
        if this < Outcome.NOT_LISTED:
            listed.append(entry)
    if its == Outcome.NOTHING_WORKS and why is not None:
        raise _nothing_works(f"{why.message} ({why.path})")
    return Catalog(catalog.root, listed, catalog.strays, catalog.missing)


def _of_later(stray: Finding) -> bool:
    """Whether a stray bears a name that this reader does not know: that of a later generation."""
    named = parse_log_name(os.path.basename(stray.path or ""))
    return named is not None and named[0] != 0


def _nothing_works(message: str) -> SessionQueryError:
    return SessionQueryError(ErrorCode.PERSISTENCE_FAILED, message)
