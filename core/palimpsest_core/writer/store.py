"""The durable store of our own sessions: JSONL logs of generation 0 under a root, appended to and never rewritten."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jsjson import NotPlainJson, plain_copy
from palimpsest_core.model.event import Event
from palimpsest_core.storage.layout import PLAIN, ZSTD, log_file_name, project_folder_name, session_folder_name
from palimpsest_core.writer import logfile
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.headers import checked_header, header_line
from palimpsest_core.writer.rows import Row, as_row, stored_lines


@dataclass
class _State:
    """What the store knows of one log that it writes; guarded by `lock`."""

    header: dict[str, Any]
    path: Path
    next_seq: int = 0
    size: int = 0
    materialized: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)


class JsonlStore:
    """Writes and continues logs under `root`. Thread-safe; the operations on one session run one after the other.

    `compression` is `zstd` (one checksummed frame per durable batch) or `none`. With `pack`, runs of streamed deltas
    are stored as packed rows. Failures of the disk are `PERSISTENCE_FAILED`; broken rules are `WriteRefused`.
    """

    def __init__(self, root: Path, *, compression: str = "zstd", pack: bool = True) -> None:
        self.root = Path(root)
        self.compression = compression
        self.pack = pack
        self._states: dict[str, _State] = {}
        self._lock = threading.Lock()

    def locate(self, header: Mapping[str, Any]) -> Path:
        """Where the log of `header` (its `id` and `cwd`) is or would be; looks at nothing."""
        folder = self.root / project_folder_name(header.get("cwd")) / session_folder_name(header["id"])
        return folder / log_file_name(0, PLAIN if self.compression == "none" else ZSTD)

    def create(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Register a session; nothing is written before its first event. Returns the checked header object.

        Raises `WriteRefused`: `BAD_HEADER`, or `ID_TAKEN` when the id is registered or stored already.
        """
        checked = checked_header(header)
        state = _State(checked, self.locate(checked))
        with self._lock:
            if checked["id"] in self._states or state.path.exists():
                raise WriteRefused(Refusal.ID_TAKEN, f"A session {checked['id']!r} exists already.")
            self._states[checked["id"]] = state
        return dict(checked)

    def resume(self, header: Mapping[str, Any], next_seq: int) -> None:
        """Continue the stored log of `header`, which holds `next_seq` events and ends cleanly."""
        checked = checked_header(header)
        path = self.locate(checked)
        state = _State(checked, path, next_seq, path.stat().st_size, materialized=True)
        with self._lock:
            self._states[checked["id"]] = state

    def append(self, session_id: str, events: Sequence[Event | Row]) -> None:
        """Append a batch durably: whole, or not at all.

        The events' `seq` must go on from the stored log without a gap, and their content must be plain JSON; else
        `WriteRefused` (`NOT_CONTIGUOUS`, `NOT_JSON`) names the event. An empty batch writes nothing.
        """
        state = self._state(session_id)
        with state.lock:
            rows = checked_rows(events, state.next_seq)
            if not rows:
                return
            batch = logfile.encode_batch(stored_lines(rows, pack=self.pack), self.compression)
            try:
                if state.materialized:
                    state.size = logfile.append(state.path, batch, state.size)
                else:
                    content = logfile.encode_batch(header_line(state.header), self.compression) + batch
                    logfile.publish(state.path, content)
                    state.size = len(content)
                    state.materialized = True
            except OSError as error:
                raise SessionQueryError(
                    ErrorCode.PERSISTENCE_FAILED, f"The log of session {session_id!r} could not be written: {error}."
                ) from error
            state.next_seq += len(rows)

    def _state(self, session_id: str) -> _State:
        with self._lock:
            state = self._states.get(session_id)
        if state is None:
            raise WriteRefused(Refusal.UNKNOWN_SESSION, f"No session {session_id!r} is open for writing.")
        return state


def checked_rows(events: Sequence[Event | Row], next_seq: int) -> list[Row]:
    """Detached rows of a batch that starts at `next_seq`; raises `WriteRefused` naming the first culprit."""
    rows: list[Row] = []
    for offset, event in enumerate(events):
        row = as_row(event)
        seq = row.get("seq")
        if isinstance(seq, bool) or seq != next_seq + offset:
            raise WriteRefused(
                Refusal.NOT_CONTIGUOUS,
                f"The event {row.get('type')!r} has seq {seq!r} where {next_seq + offset} must follow.",
            )
        try:
            rows.append(plain_copy(dict(row)))
        except NotPlainJson as error:
            raise WriteRefused(
                Refusal.NOT_JSON, f"The event {row.get('type')!r} (seq {seq}) cannot be stored: {error}."
            ) from error
    return rows
