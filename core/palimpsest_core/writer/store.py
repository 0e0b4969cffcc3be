"""The durable store of our own sessions: JSONL logs of generation 0 under a root, appended to and never rewritten."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jsjson import NotPlainJson, plain_copy
from palimpsest_core.formats.reader import read_header
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event
from palimpsest_core.model.header import Header
from palimpsest_core.storage.layout import discover, log_file_name, project_folder_name, session_folder_name
from palimpsest_core.storage.logbytes import LogBytes
from palimpsest_core.writer import logfile
from palimpsest_core.writer.errors import Refusal, WriteRefused
from palimpsest_core.writer.headers import checked_header, header_line
from palimpsest_core.writer.rawtext import FrameEnd, stored_text
from palimpsest_core.writer.rows import Row, as_row, stored_lines
from palimpsest_core.writer.stored import (
    Stored,
    check_content,
    encoding_of,
    find_log,
    holds_log,
    read_stored,
    session_folders,
)


class LoadedLog(NamedTuple):
    """A header object and all events of a log, its last turn closed."""

    header: dict[str, Any]
    events: list[Event]


class Snapshot(NamedTuple):
    """A stored session's header and an opaque revision: equal while log and store are unchanged."""

    header: Header
    revision: str


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
    """Writes, continues and reads logs under `root`. Thread-safe; writes to one session run one after the other.

    `compression` (else the config's) is `zstd` (one checksummed frame per durable batch) or `none`; a root belongs to
    one encoding. With `pack`, runs of streamed deltas are stored as packed rows. Failures of the disk and damage are
    `PERSISTENCE_FAILED`; content that breaks the rules `CORRUPT_SESSION`; requests that break them `WriteRefused`. One
    store must be the only writer of a session.
    """

    def __init__(
        self, root: Path, *, compression: str | None = None, pack: bool = True, config: Config | None = None
    ) -> None:
        self.root = Path(root)
        self.config = config or Config()
        self.compression = compression or self.config.compression
        self.pack = pack
        self._states: dict[str, _State] = {}
        self._lock = threading.RLock()

    # --- writing -------------------------------------------------------------------------------------------------

    def locate(self, header: Mapping[str, Any]) -> Path:
        """Where the log of `header` (its `id` and `cwd`) is or would be; looks at nothing."""
        folder = self.root / project_folder_name(header.get("cwd")) / session_folder_name(header["id"])
        return folder / log_file_name(0, encoding_of(self.compression))

    def create(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Register a session; nothing is written before its first event. Returns the checked header object.

        Raises `WriteRefused`: `BAD_HEADER`, or `ID_TAKEN` when the id is registered or stored already.
        """
        checked = checked_header(header)
        session_id = checked["id"]
        with self._lock:
            stored = any(holds_log(folder) for folder in session_folders(self.root, session_id))
            if stored or session_id in self._states:
                raise WriteRefused(Refusal.ID_TAKEN, f"A session {session_id!r} exists already.")
            self._states[session_id] = _State(checked, self.locate(checked))
        return dict(checked)

    def append(self, session_id: str, events: Sequence[Event | Row]) -> None:
        """Append a batch durably: whole, or not at all.

        The events' `seq` must go on from the stored log without a gap, and their content must be plain JSON; else
        `WriteRefused` (`NOT_CONTIGUOUS`, `NOT_JSON`) names the event. An empty batch writes nothing.
        """
        state = self._state(session_id)
        with state.lock, _disk(session_id):
            rows = checked_rows(events, state.next_seq)
            if not rows:
                return
            batch = logfile.encode_batch(stored_lines(rows, pack=self.pack), self.compression)
            if state.materialized:
                state.size = logfile.append(state.path, batch, state.size)
            else:
                content = logfile.encode_batch(header_line(state.header), self.compression) + batch
                logfile.publish(state.path, content)
                state.size = len(content)
                state.materialized = True
            state.next_seq += len(rows)

    def load(self, session_id: str) -> LoadedLog:
        """The whole log, repaired on disk first, and open for appending from here on.

        A torn tail is cut off; what could be read of it is appended, with the events that close an interrupted turn.
        A second load changes nothing. Raises `SESSION_NOT_FOUND` too; nothing is written when the log is refused.
        """
        with self._lock:
            stored = self._stored(session_id)
            events = stored.events + stored.closers()
            check_content(stored, events)
            state = self._adopted(stored)
        with state.lock, _disk(session_id):
            if stored.torn:
                logfile.truncate(state.path, stored.sound_bytes)
                state.size = stored.sound_bytes
            self.append(session_id, events[stored.sound_events :])
        # On disk now, so not made up any more.
        return LoadedLog(
            stored.header, [*stored.events, *(replace(event, synthetic=False) for event in stored.closers())]
        )

    def resume_as(self, header: Mapping[str, Any], events: Sequence[Event]) -> int:
        """Open the log of `header` for appending what `events` hold beyond it; returns how many are durable.

        Without a stored log that is 0, and the session is registered. Raises `WriteRefused(OTHER_CONTENT)` when the
        stored events are not the first of `events` or the `cwd` differs, and the errors of `load` when the stored log
        could not be read back; nothing is written then. A torn tail is cut
        off; an open turn is left open.
        """
        session_id = header["id"]
        with self._lock:
            self._states.pop(session_id, None)
            stored = read_stored(self.root, session_id, self.compression, self.config)
            if stored is None:
                self.create(header)
                return 0
            if stored.header.get("cwd") != header.get("cwd") or not stored.begins(events):
                raise WriteRefused(
                    Refusal.OTHER_CONTENT, f"The stored log of session {session_id!r} does not begin this session."
                )
            check_content(stored, stored.events)
            state = self._adopted(stored)
        if stored.torn:
            with state.lock, _disk(session_id):
                logfile.truncate(state.path, stored.sound_bytes)
                state.size = stored.sound_bytes
        return stored.sound_events

    def release(self, session_id: str) -> None:
        """Forget a session that is not written any more; unknown ids are fine."""
        with self._lock:
            self._states.pop(session_id, None)

    # --- reading -------------------------------------------------------------------------------------------------

    def inspect(self, session_id: str, cancel: CancelToken | None = None) -> LoadedLog:
        """As `load`, with the repair made in memory only; no byte of the store changes."""
        stored = self._stored(session_id, cancel)
        events = stored.events + stored.closers()
        check_content(stored, events)
        return LoadedLog(stored.header, events)

    def read_from(self, session_id: str, from_seq: int, cancel: CancelToken | None = None) -> LoadedLog:
        """The stored events with `seq >= from_seq`, an open turn left open; none when it is past the end.

        Raises ValueError for a `from_seq` that is no whole number from 0 on.
        """
        if isinstance(from_seq, bool) or not isinstance(from_seq, int) or from_seq < 0:
            raise ValueError(f"from_seq must be a whole number from 0 on, not {from_seq!r}")
        stored = self._stored(session_id, cancel)
        check_content(stored, stored.events)
        return LoadedLog(stored.header, stored.events[from_seq:])

    def read_raw(self, session_id: str, cancel: CancelToken | None = None) -> bytes | None:
        """The stored text as it is, decoded, never rebuilt from events; None when there is no log.

        A torn final frame is left out. Raises `PERSISTENCE_FAILED` for a damaged frame.
        """
        with _disk(session_id):
            file = find_log(self.root, session_id, self.compression)
            if file is None:
                return None
            pieces: list[bytes] = []
            limits = self.config
            with LogBytes(file, window_max=limits.window_max_bytes, row_max=limits.row_max_bytes) as log:
                for piece in stored_text(log, log.size_limit, limits.window_max_bytes, cancel):
                    if isinstance(piece, FrameEnd):
                        if piece.fault:
                            raise OSError(0, f"damaged at offset {piece.byte_offset} ({piece.fault})")
                    else:
                        pieces.append(piece)
        return b"".join(pieces)

    def list_snapshots(self, cancel: CancelToken | None = None) -> list[Snapshot]:
        """Header and revision of every stored session in this root's format and encoding; no log is read.

        Logs without a readable header are left out.
        """
        found: list[Snapshot] = []
        with _disk("of the list"):
            for file in discover(self.root, cancel).files:
                check(cancel)
                if file.generation != 0 or file.encoding != encoding_of(self.compression):
                    continue
                peek = read_header(file, config=self.config)
                if peek.header is not None:
                    stat = file.stat
                    mark = f"{stat.dev}:{stat.ino}:{stat.size}:{stat.mtime_ns}:{stat.ctime_ns}"
                    found.append(Snapshot(peek.header, mark))
        return found

    def exists(self, session_id: str) -> bool:
        """Whether a log of that id is stored."""
        return find_log(self.root, session_id, self.compression) is not None

    # --- inside --------------------------------------------------------------------------------------------------

    def _stored(self, session_id: str, cancel: CancelToken | None = None) -> Stored:
        stored = read_stored(self.root, session_id, self.compression, self.config, cancel)
        if stored is None:
            raise SessionQueryError(ErrorCode.SESSION_NOT_FOUND, f"There is no stored session {session_id!r}.")
        return stored

    def _adopted(self, stored: Stored) -> _State:
        size = stored.file.stat.size
        state = _State(stored.header, Path(stored.file.path), stored.sound_events, size, materialized=True)
        self._states[stored.header["id"]] = state
        return state

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
        seq, kind = row.get("seq"), row.get("type")
        if isinstance(seq, bool) or seq != next_seq + offset:
            raise WriteRefused(
                Refusal.NOT_CONTIGUOUS, f"The event {kind!r} has seq {seq!r} where {next_seq + offset} must follow."
            )
        try:
            rows.append(plain_copy(dict(row)))
        except NotPlainJson as error:
            raise WriteRefused(
                Refusal.NOT_JSON, f"The event {kind!r} (seq {seq}) cannot be stored: {error}."
            ) from error
    return rows


@contextmanager
def _disk(session_id: str) -> Iterator[None]:
    """Faults of the file system as the error of the contract."""
    try:
        yield
    except OSError as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The log of session {session_id!r} failed on disk: {error.strerror}."
        ) from error
