"""Why a write was refused, as a closed set beside the query errors: nothing was written when one of these is raised."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """The reason of a `WriteRefused`."""

    ID_TAKEN = "id-taken"
    UNKNOWN_SESSION = "unknown-session"
    NOT_CONTIGUOUS = "not-contiguous"
    NOT_JSON = "not-json"
    BAD_HEADER = "bad-header"
    BAD_EVENT = "bad-event"
    OTHER_CONTENT = "other-content"
    CHANGED_ELSEWHERE = "changed-elsewhere"
    OPEN_TURN = "open-turn"
    NOT_LIVE = "not-live"
    NO_STORE = "no-store"
    CLOSED = "closed"


class WriteRefused(Exception):
    """What was asked breaks a rule of the log; `message` is one sentence that names the culprit."""

    def __init__(self, reason: Refusal, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
