"""Writes what was read of logs into the index, in commits of growing size."""

from __future__ import annotations

import contextlib
import os
from types import TracebackType

import msgspec

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Surface
from palimpsest_core.search.documents import LogEntry
from palimpsest_core.search.provider import LogIndex
from palimpsest_core.storage.layout import LogFile
from palimpsest_core.sync.answers import settle_answers
from palimpsest_core.sync.digest import Changes
from palimpsest_core.sync.extract import Begin, End, Part, Piece, Unreadable

FIRST_COMMIT_CHARS = 1_000_000
LAST_COMMIT_CHARS = 64_000_000
"""Commits come after so much text: small at first, to show results early; then large, which merges better. The largest
bounds the write-ahead log to about one and a half times its size."""

KEPT_CHARS = FIRST_COMMIT_CHARS
"""So much uncommitted text is still written when work is cancelled: a matter of some hundredths of a second."""

_SHADOWED = Surface.SHADOWED.value


class Ledger:
    """One run of writing. Use it in a `with` statement: leaving it normally commits the rest, an error drops it.

    Being cancelled is no error of what was written: whole logs are committed then too, so that work that is interrupted
    again and again still comes to its end. Where that would take long (more than `KEPT_CHARS` since the last commit) it
    is dropped, for whoever cancels does not want to wait.
    """

    def __init__(self, index: LogIndex, root: str, config: Config) -> None:
        self._index = index
        self._root = root
        self._config = config
        self._batch: contextlib.ExitStack | None = None
        self._chars = 0
        self._commit_chars = FIRST_COMMIT_CHARS
        self._numbers: dict[str, int] = {}
        self._ids: dict[str, str | None] = {}
        self._by_id: dict[str, set[str]] = {}
        self._by_folder: dict[str, set[str]] = {}
        self._files: dict[str, LogFile] = {}
        self._touched: set[str] = set()
        self._number = 0
        self._bulk = False
        self._half: str | None = None
        self._entangled = False
        for path, held in index.known_logs().items():
            self._enter(path, held.number, held.session_id)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cancelled = isinstance(error, SessionQueryError) and error.code is ErrorCode.ABORTED
        if error is None or (cancelled and self._chars <= KEPT_CHARS and self._take_back()):
            self.commit()
        elif self._batch is not None:
            batch, self._batch = self._batch, None
            batch.__exit__(kind, error, trace)

    def _take_back(self) -> bool:
        """Remove what was written of a log that is not read to its end. False when it cannot be told from what was
        there before."""
        if self._entangled:
            return False
        if self._half is not None:
            self._index.remove_log(self._numbers[self._half])
            self._leave(self._half)
        if self._bulk:
            self.bulk(False)
        return True

    # -- writing ---------------------------------------------------------------------------------------------------

    def bulk(self, on: bool) -> None:
        """Say that very much is coming, or that it is over."""
        self._open()
        self._index.bulk(on)
        self._bulk = on

    def forget(self, path: str) -> None:
        """A log is gone."""
        self._open()
        self._index.remove_log(self._numbers[path])
        self._leave(path)

    def write(self, file: LogFile, piece: Piece) -> None:
        """Take the next piece of a log."""
        self._open()
        path = file.path
        self._files[path] = file
        match piece:
            case Begin():
                self._half, self._entangled = path, path in self._numbers
                self._begin(path, piece)
            case Part():
                self._change(piece.changes)
                if piece.entry is not None:
                    self._entangled = True  # it can be gone on from here, and that may be committed
                    self._keep(path, piece.entry, piece.state)
                    if self._chars >= self._commit_chars:
                        self.commit()
            case End():
                self._change(piece.changes)
                self._index.add_documents(self._number, piece.closing)
                self._keep(path, piece.entry, piece.state)
                self._half, self._entangled = None, False
                if self._chars >= self._commit_chars:
                    self.commit()
            case Unreadable():
                self._unreadable(path, piece)

    def commit(self) -> None:
        """Make everything so far durable and visible."""
        if self._batch is None:
            return
        self._settle()
        batch, self._batch = self._batch, None
        batch.close()
        self._chars = 0
        self._commit_chars = min(4 * self._commit_chars, LAST_COMMIT_CHARS)

    def _open(self) -> None:
        if self._batch is None:
            self._batch = contextlib.ExitStack()
            self._batch.enter_context(self._index.batch())

    def _begin(self, path: str, piece: Begin) -> None:
        if piece.resumed:
            self._number = self._numbers[path]
            self._index.drop_documents(self._number, piece.drop_from)
            return
        if path in self._numbers:
            self._index.remove_log(self._numbers[path])
            self._leave(path)
        # A fresh number, even for a known path: ascending rowids are what FTS5 writes best.
        entry = piece.entry
        rival = any(other != path for other in self._by_id.get(entry.session_id or "", ()))
        self._number = self._index.add_log(msgspec.structs.replace(entry, answers=not rival))
        self._enter(path, self._number, entry.session_id)
        self._touch(path)

    def _change(self, changes: Changes) -> None:
        index, number = self._index, self._number
        if changes.dropped:
            index.drop_each(number, changes.dropped)
        if changes.documents:
            index.add_documents(number, changes.documents)
            self._chars += sum(len(document.text) for document in changes.documents)
        if changes.shadowed:
            index.mark(number, changes.shadowed, _SHADOWED)

    def _keep(self, path: str, entry: LogEntry, state: bytes | None) -> None:
        self._index.update_log(self._number, entry)
        self._index.save_state(self._number, state or b"")
        self._touch(path)

    def _unreadable(self, path: str, piece: Unreadable) -> None:
        """List a log that cannot be read. What was indexed of it while it could be stays."""
        number = self._numbers.get(path)
        before = self._index.summary_of(number) if number is not None and self._ids[path] is not None else None
        if number is None or before is None:
            if number is not None:
                self._index.remove_log(number)
                self._leave(path)
            self._enter(path, self._index.add_log(piece.entry), None)
        else:
            now = piece.entry.summary
            assert now is not None
            kept = msgspec.structs.replace(
                before, state=now.state, findings=now.findings, reason=now.reason, size=now.size
            )
            self._index.update_summary(number, kept, piece.entry.revision)
        self._touch(path)

    # -- who answers -----------------------------------------------------------------------------------------------

    def _enter(self, path: str, number: int, session_id: str | None) -> None:
        self._numbers[path] = number
        self._ids[path] = session_id
        if session_id is not None:
            self._by_id.setdefault(session_id, set()).add(path)
        self._by_folder.setdefault(os.path.dirname(path), set()).add(path)

    def _leave(self, path: str) -> None:
        self._touched |= self._group(path)
        self._touched.discard(path)
        session_id = self._ids.pop(path)
        if session_id is not None:
            self._by_id[session_id].discard(path)
        self._by_folder[os.path.dirname(path)].discard(path)
        del self._numbers[path]

    def _touch(self, path: str) -> None:
        """Note that the competition between this log and others has to be judged again, if there are others."""
        if len(self._group(path)) > 1:
            self._touched.add(path)

    def _group(self, path: str) -> set[str]:
        """The logs that lie in the same folder, and those that bear the same id as one of them."""
        group = {path} | self._by_folder.get(os.path.dirname(path), set())
        for member in tuple(group):
            session_id = self._ids.get(member)
            if session_id is not None:
                group |= self._by_id[session_id]
        return group

    def _settle(self) -> None:
        """Decide anew who answers wherever several logs compete, or did before."""
        waiting, self._touched = self._touched, set()
        while waiting:
            path = waiting.pop()
            if path not in self._numbers:
                continue
            group = self._group(path)
            waiting -= group
            files = [file for member in group for file in [self._file(member)] if file is not None]
            if files:
                settle_answers(self._index, self._root, files, self._numbers, self._config)

    def _file(self, path: str) -> LogFile | None:
        file = self._files.get(path)
        if file is None:
            try:
                file = self._files[path] = LogFile.at(path)
            except OSError:
                return None
        return file
