"""How a command ends: exit codes, and the one exception that carries one."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Every status that `palimpsest` ends with."""

    FINE = 0
    NO_MATCH = 1
    USAGE = 2
    DATA = 3
    ENVIRONMENT = 4
    INTERRUPTED = 130


class Failure(Exception):
    """A command could not do what was asked; `message` is one sentence for the person who asked."""

    def __init__(self, code: Exit, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


_USAGE = {"INVALID_CONFIG", "INVALID_CURSOR", "INVALID_FILTER", "INVALID_LIMIT", "INVALID_QUERY", "INVALID_WINDOW"}
_NO_MATCH = {"EVENT_NOT_FOUND", "SESSION_NOT_FOUND"}
_ENVIRONMENT = {"INDEX_FAILED", "SEARCH_DISABLED"}


def exit_of(code_name: str) -> Exit:
    """The exit code of an engine error, by the name of its code (such as "INVALID_QUERY")."""
    if code_name == "ABORTED":
        return Exit.INTERRUPTED
    if code_name in _USAGE:
        return Exit.USAGE
    if code_name in _NO_MATCH:
        return Exit.NO_MATCH
    if code_name in _ENVIRONMENT:
        return Exit.ENVIRONMENT
    return Exit.DATA
