"""Message shapes of generation 0 that are older than its last release, read as their modern ones (session format,
section 6.7). What has a modern shape comes back untouched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from palimpsest_core.formats.rows import NOTHING, StoredRow, payload
from palimpsest_core.formats.usual import UsualRows
from palimpsest_core.model.event import Event

RENAMED = {
    "steering/message": "user/message",
    "compact/start": "compaction/start",
    "compact/summary": "compaction/summary",
    "compact/end": "compaction/end",
    "compact/prune": "compaction/prune",
}
"""Types that have another name today."""

_COMPACTION = frozenset({"compaction/start", "compaction/summary", "compaction/end"})
WATCHED = frozenset(RENAMED) | _COMPACTION | {"tool/result", "llm/retry", "llm/retry-started"}
"""The types of the rows that `Modernizer.observe` is to meet."""
_RESULT = "tool/result"
_RESULTS = frozenset({_RESULT})
_HEAD = 240
_HEAD_OF_NEW = b'"message"'


IdOf = Callable[[int], str | None]
"""The message id of an earlier tool result of the log, by seq."""


class LegacyState(msgspec.Struct):
    """What reading an old row needs to know of others; only old shapes leave a trace in it. Keys are sequence numbers.

    `result_ids`: message id of an old tool result. `retries`: first of the chain of an old retry. `compactions`: start
    of the group of an old compaction event. `open_chain` (turn and step of the last old retry) and `open_start` are for
    going on.
    """

    result_ids: dict[int, str] = {}
    retries: dict[int, int] = {}
    compactions: dict[int, int] = {}
    open_chain: list[int] = []
    open_start: int = -1

    def snapshot(self) -> LegacyState:
        """The same moment for later: the maps are shared, since they only grow; `before` cuts them."""
        return LegacyState(self.result_ids, self.retries, self.compactions, list(self.open_chain), self.open_start)

    def before(self, next_seq: int) -> LegacyState:
        """An independent copy of what concerns the events before `next_seq`."""
        return LegacyState(
            {seq: text for seq, text in self.result_ids.items() if seq < next_seq},
            {seq: first for seq, first in self.retries.items() if seq < next_seq},
            {seq: start for seq, start in self.compactions.items() if seq < next_seq},
            list(self.open_chain),
            self.open_start,
        )


class Modernizer:
    """Reads old shapes. `observe` meets the rows in order; `modern` any event that was observed, in any order.

    `id_of` looks up the id of a modern tool result that an old one replaces.
    """

    def __init__(self, session_id: str, state: LegacyState, id_of: IdOf) -> None:
        self.session_id = session_id
        self.state = state
        self._id_of = id_of

    @staticmethod
    def knows(rows: UsualRows) -> bool:
        """Whether it is plain that none of these rows has an old shape, so that none need be observed."""
        odd = WATCHED.intersection(rows.kinds)
        if odd and odd != _RESULTS:
            return False
        return not odd or all(
            _HEAD_OF_NEW in bytes(envelope.data)[:_HEAD] for envelope in rows.envelopes if envelope.type == _RESULT
        )

    def observe(self, row: StoredRow) -> None:
        """Take note of a row, and give it the name its type has today."""
        if row.withheld:
            return
        stored_type = row.type
        row.type = RENAMED.get(stored_type, stored_type)
        if (
            stored_type == "tool/result"
            and row.envelope is not None
            and _HEAD_OF_NEW in bytes(row.envelope.data)[:_HEAD]
        ):
            return
        data = _data(row)
        if not isinstance(data, dict):
            return
        if row.type == "tool/result":
            self._observe_result(row, data)
        elif row.type == "llm/retry" or row.type == "llm/retry-started":
            self._observe_retry(row, data)
        elif row.type in _COMPACTION:
            self._observe_compaction(row, data)

    def _observe_result(self, row: StoredRow, data: dict[str, Any]) -> None:
        if "message" in data or "content" not in data:
            return
        start = _replaced(row)
        known = None
        if start is not None and start < row.seq:
            known = self.state.result_ids.get(start) or self._id_of(start)
        self.state.result_ids[row.seq] = known or f"legacy-message:{self.session_id}:{row.seq}"

    def _observe_retry(self, row: StoredRow, data: dict[str, Any]) -> None:
        if "retryId" in data:
            return
        turn, step = data.get("turn"), data.get("step")
        chain = self.state.open_chain
        if row.type == "llm/retry" and (data.get("retry") == 1 or chain[1:] != [turn, step]):
            chain = [row.seq, turn, step] if type(turn) is int and type(step) is int else [row.seq]
            self.state.open_chain = chain
        self.state.retries[row.seq] = chain[0] if chain else row.seq

    def _observe_compaction(self, row: StoredRow, data: dict[str, Any]) -> None:
        if "compactionId" in data:
            return
        if row.type == "compaction/start" or self.state.open_start < 0:
            self.state.open_start = row.seq
        self.state.compactions[row.seq] = self.state.open_start
        if row.type == "compaction/end":
            self.state.open_start = -1

    def modern(self, event: Event) -> Event:
        """The event in its modern shape."""
        kind = RENAMED.get(event.type, event.type)
        change = _CHANGES.get(kind)
        data = event.data
        if change is not None and isinstance(data, dict):
            data = change(self, event, data)
        if data is event.data and kind == event.type:
            return event
        return msgspec.structs.replace(event, type=kind, data=data)

    def _message_id(self, event: Event) -> str:
        return f"legacy-message:{self.session_id}:{event.seq}"

    def user(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """A prompt without id and role, or a steering message around one."""
        message = data.get("message")
        if isinstance(message, dict) and "content" not in data:
            # Only a steering message wraps one; its row bears the new type by now.
            return message
        if "id" in data or "role" in data or "content" not in data:
            return data
        # A prompt has no turn beside its content; a steering message had.
        kept = {key: value for key, value in data.items() if key != "turn"}
        return {**kept, "id": self._message_id(event), "role": "user"}

    def assistant(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """An answer with its content and provenance beside turn and step."""
        if "message" in data or "content" not in data:
            return data
        source = data.get("provenance")
        message = {
            "id": self._message_id(event),
            "role": "assistant",
            "content": data["content"],
            "source": {**(source if isinstance(source, dict) else {}), "kind": "model"},
        }
        kept = {key: value for key, value in data.items() if key not in ("content", "provenance")}
        return {**kept, "message": message}

    def result(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """A tool result with call id, content and error mark beside turn and step."""
        if "message" in data or "content" not in data:
            return data
        call_id = data.get("callId")
        block: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id, "content": data["content"]}
        if "isError" in data:
            block["isError"] = data["isError"]
        message = {
            "id": self.state.result_ids.get(event.seq) or self._message_id(event),
            "role": "user",
            "content": [block],
            "source": {"kind": "tool", "callId": call_id},
        }
        kept = {key: value for key, value in data.items() if key not in ("callId", "content", "isError")}
        return {**kept, "message": message}

    def turn_start(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """A turn start that names its trigger."""
        if "trigger" not in data:
            return data
        return {key: value for key, value in data.items() if key != "trigger"}

    def turn_end(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """A turn end with an old reason: aborted without cause, disposed, or an error in one of two spellings."""
        reason = data.get("reason")
        if not isinstance(reason, dict):
            return data
        kind = reason.get("kind")
        if kind == "aborted" and "reason" not in reason:
            return {**data, "reason": {**reason, "reason": {"kind": "legacy"}}}
        if kind == "disposed":
            return {**data, "reason": {"kind": "aborted", "reason": {"kind": "disposed"}}}
        if kind == "error" and "error" not in reason:
            failure = reason.get("failure")
            if not isinstance(failure, dict):
                failure = {"message": reason.get("message", ""), "code": reason.get("code", "UNKNOWN")}
            return {**data, "reason": {"kind": "error", "error": failure}}
        return data

    def retry(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """A retry of a chain without id."""
        if "retryId" in data:
            return data
        first = self.state.retries.get(event.seq, event.seq)
        return {"retryId": f"legacy-retry:{self.session_id}:{first}", **data}

    def compaction(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """An event of a compaction without id."""
        if "compactionId" in data:
            return data
        start = self.state.compactions.get(event.seq, event.seq)
        return {"compactionId": f"legacy-compaction:{self.session_id}:{start}", **data}


def observed(rows: UsualRows | list[StoredRow], modernizer: Modernizer) -> UsualRows | list[StoredRow]:
    """Let old shapes be noticed, by `observe`. Rows that may have one are told each by itself."""
    if isinstance(rows, UsualRows):
        if modernizer.knows(rows):
            return rows
        rows = rows.rows()
    for row in rows:
        if row.type in WATCHED:
            modernizer.observe(row)
    return rows


_CHANGES = {
    "user/message": Modernizer.user,
    "assistant/message": Modernizer.assistant,
    "tool/result": Modernizer.result,
    "turn/start": Modernizer.turn_start,
    "turn/end": Modernizer.turn_end,
    "llm/retry": Modernizer.retry,
    "llm/retry-started": Modernizer.retry,
    "compaction/start": Modernizer.compaction,
    "compaction/summary": Modernizer.compaction,
    "compaction/end": Modernizer.compaction,
}


def _data(row: StoredRow) -> Any:
    if row.envelope is None:
        return row.value.get("data")
    return None if row.envelope.data is NOTHING else payload(row.envelope.data)


def _replaced(row: StoredRow) -> int | None:
    """The first seq that the row's operation replaces, None for an appended row."""
    if row.envelope is None:
        op = row.value.get("surfaceOp")
    else:
        op = None if row.envelope.surfaceOp is NOTHING else payload(row.envelope.surfaceOp)
    start = op.get("start") if isinstance(op, dict) else None
    return start if type(start) is int else None
