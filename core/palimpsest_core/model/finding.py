"""Damage and oddities as data: one bad log must never hide another (spec: session format, section 10.3)."""

from __future__ import annotations

from enum import StrEnum

from palimpsest_core.model.jsonable import Record


class FindingCode(StrEnum):
    """What can be wrong or odd about a log; a closed set."""

    TORN_TAIL = "torn-tail"
    CORRUPT = "corrupt"
    WITHHELD_TAIL = "withheld-tail"
    UNREADABLE = "unreadable"
    UNSUPPORTED_VERSION = "unsupported-version"
    UNKNOWN_REQUIRED_EVENT = "unknown-required-event"
    SURFACE_UNRELIABLE = "surface-unreliable"
    GENERATION_DIVERGENCE = "generation-divergence"
    NAME_HEADER_MISMATCH = "name-header-mismatch"
    PATH_MISMATCH = "path-mismatch"
    DUPLICATE_ID = "duplicate-id"
    DANGLING_PARENT = "dangling-parent"
    SEED_CUT_MISSING = "seed-cut-missing"
    OPEN_TURN = "open-turn"
    MISSING_ATTACHMENT = "missing-attachment"
    TWIN_ENCODING = "twin-encoding"
    OVERLAPPING_WRITERS = "overlapping-writers"
    OVERLAPPED_REPAIR = "overlapped-repair"
    SEQUENCE_GAP = "sequence-gap"
    LEFT_TEMPORARY = "left-temporary-file"
    HEADER_KEYS = "header-keys"
    HEADER_FRAME = "header-frame"
    FOREIGN_FRAME = "foreign-frame"
    LIMIT_EXCEEDED = "limit-exceeded"
    LEGACY_LAYOUT = "legacy-layout"
    LINEAGE_CYCLE = "lineage-cycle"


class Finding(Record, frozen=True):
    """One observation about a log.

    `path` is the file. `byte_offset` is a place in the stored file, `line` a line of the decoded text (the header is
    1), `seq` an event; each absent when it does not apply. `message` is one sentence for people. `detail` is a short
    machine-readable cause (such as "checksum", "bad-magic", "bad-json", "seq-gap") for the strict table.
    """

    code: FindingCode
    message: str
    path: str | None = None
    byte_offset: int | None = None
    line: int | None = None
    seq: int | None = None
    detail: str | None = None
