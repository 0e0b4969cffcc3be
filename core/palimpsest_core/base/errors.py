"""The closed set of error codes and the one exception that carries them (spec: engine contract, section 7)."""

from __future__ import annotations

from enum import StrEnum


class ErrorCode(StrEnum):
    """Every code a query can fail with; a closed set."""

    ABORTED = "SESSION_QUERY_ABORTED"
    CORRUPT_SESSION = "SESSION_QUERY_CORRUPT_SESSION"
    EVENT_NOT_FOUND = "SESSION_QUERY_EVENT_NOT_FOUND"
    INDEX_FAILED = "SESSION_QUERY_INDEX_FAILED"
    INVALID_CONFIG = "SESSION_QUERY_INVALID_CONFIG"
    INVALID_CURSOR = "SESSION_QUERY_INVALID_CURSOR"
    INVALID_FILTER = "SESSION_QUERY_INVALID_FILTER"
    INVALID_LIMIT = "SESSION_QUERY_INVALID_LIMIT"
    INVALID_LINEAGE = "SESSION_QUERY_INVALID_LINEAGE"
    INVALID_QUERY = "SESSION_QUERY_INVALID_QUERY"
    INVALID_SURFACE = "SESSION_QUERY_INVALID_SURFACE"
    INVALID_WINDOW = "SESSION_QUERY_INVALID_WINDOW"
    PERSISTENCE_FAILED = "SESSION_QUERY_PERSISTENCE_FAILED"
    SEARCH_DISABLED = "SESSION_QUERY_SEARCH_DISABLED"
    SESSION_NOT_FOUND = "SESSION_QUERY_SESSION_NOT_FOUND"
    SOURCE_CONFLICT = "SESSION_QUERY_SOURCE_CONFLICT"
    STALE_CURSOR = "SESSION_QUERY_STALE_CURSOR"


class SessionQueryError(Exception):
    """A query could not do what was asked.

    `message` is one sentence: what was wrong and what would be right. The cause, if any, is chained.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code.value}: {self.message}"


def aborted() -> SessionQueryError:
    """The error of every cancelled call."""
    return SessionQueryError(ErrorCode.ABORTED, "The call was cancelled before it finished.")
