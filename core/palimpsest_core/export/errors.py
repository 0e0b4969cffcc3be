"""Why an export did not happen, where no query error says it; a closed set."""

from __future__ import annotations

from enum import StrEnum


class ExportErrorCode(StrEnum):
    """What went wrong."""

    TARGET_EXISTS = "target-exists"
    TARGET_UNWRITABLE = "target-unwritable"
    ATTACHMENT_MISSING = "attachment-missing"
    LOG_CHANGED = "log-changed"


class ExportError(Exception):
    """An export failed and left no half archive. `message` is one sentence: what was wrong and what would be right."""

    def __init__(self, code: ExportErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
