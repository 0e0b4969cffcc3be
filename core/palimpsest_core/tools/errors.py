"""What a tool call fails with, and the one boundary that engine errors pass on their way to a model."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from palimpsest_core.base.errors import ErrorCode, SessionQueryError

log = logging.getLogger("palimpsest.tools")
# A library is silent unless the program says where its log goes; the server's command does.
log.addHandler(logging.NullHandler())


class ToolErrorCode(StrEnum):
    """The codes that only tools have, beside those of the engine; a closed set."""

    FAILED = "SESSION_QUERY_TOOL_FAILED"
    INVALID_ARGUMENTS = "SESSION_QUERY_TOOL_INVALID_ARGUMENTS"
    MISSING_AGENT = "SESSION_QUERY_TOOL_MISSING_AGENT"
    NO_CURRENT_STEP = "SESSION_QUERY_TOOL_NO_CURRENT_STEP"
    TIMED_OUT = "SESSION_QUERY_TOOL_TIMED_OUT"
    UNAUTHORIZED = "SESSION_QUERY_TOOL_UNAUTHORIZED"


class ToolError(Exception):
    """A tool call that gives no answer; `message` is safe to show to the model that called."""

    def __init__(self, code: ErrorCode | ToolErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def unauthorized() -> ToolError:
    """The one answer for a session that does not exist and for one that the caller may not see."""
    return ToolError(ToolErrorCode.UNAUTHORIZED, "No session of that id is in the caller's workspace.")


def invalid_arguments(message: str) -> ToolError:
    """An argument of the wrong type, a missing one, or an unknown choice."""
    return ToolError(ToolErrorCode.INVALID_ARGUMENTS, message)


def invalid_filter(message: str) -> ToolError:
    """A range, time or list of the right type that makes no sense."""
    return ToolError(ErrorCode.INVALID_FILTER, message)


# Fixed texts: a message of the engine may name a path, an id or the query, and a model may show it to anybody.
_PASSED_ON = {
    ErrorCode.CORRUPT_SESSION: "The log of the session breaks the rules of its format.",
    ErrorCode.EVENT_NOT_FOUND: "The session has no event with that sequence number.",
    ErrorCode.INDEX_FAILED: "The search index failed.",
    ErrorCode.INVALID_CURSOR: "A page of the search could not be continued.",
    ErrorCode.INVALID_FILTER: "A filter of the search is not valid.",
    ErrorCode.INVALID_LIMIT: "The page size of the search is not valid.",
    ErrorCode.INVALID_LINEAGE: "The session's ancestry runs in a circle.",
    ErrorCode.INVALID_QUERY: "The query must hold text that is not blank and has no NUL character.",
    ErrorCode.INVALID_SURFACE: "The session's surface markers break the rules.",
    ErrorCode.INVALID_WINDOW: "The number of events before or after is larger than this server allows.",
    ErrorCode.PERSISTENCE_FAILED: "A stored session log could not be read.",
    ErrorCode.SEARCH_DISABLED: "Search is switched off on this server.",
    ErrorCode.SESSION_NOT_FOUND: "The session is no longer there.",
    ErrorCode.STALE_CURSOR: "The sessions changed while the search went through them; search again.",
}


def code_shown(error: SessionQueryError) -> str:
    """The code of an engine error as a tool may name it."""
    return (error.code if error.code in _PASSED_ON else ToolErrorCode.FAILED).value


@contextmanager
def boundary(tool: str) -> Iterator[None]:
    """Let only safe errors out of the block: tool errors and cancellation as they are, known codes with fixed texts.

    A conflict of sources, a config error and anything unknown become `FAILED`; the whole story goes to the log.
    """
    try:
        yield
    except ToolError:
        raise
    except SessionQueryError as error:
        if error.code is ErrorCode.ABORTED:
            raise
        log.warning("%s failed", tool, exc_info=error)
        if error.code in _PASSED_ON:
            raise ToolError(error.code, _PASSED_ON[error.code]) from None
        raise failed() from None
    except Exception as error:
        log.error("%s failed unexpectedly", tool, exc_info=error)
        raise failed() from None


def failed() -> ToolError:
    """What a caller is told when nothing more may be told."""
    return ToolError(ToolErrorCode.FAILED, "The tool could not answer; the server's log says why.")
