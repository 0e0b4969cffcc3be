"""The calls of the engine about the health of logs; they are its own, apart only for the length of its file."""

from __future__ import annotations

from pathlib import Path

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import Finding
from palimpsest_core.model.health import LogHealth, RowCounts
from palimpsest_core.query.durable import DurableSource, file_at
from palimpsest_core.storage.attachments import attachment_store
from palimpsest_core.sync.service import SearchService

# What only these calls need is loaded by them: the list of sessions does not wait for it.


class HealthCalls:
    """What ails the logs below the engine's root."""

    root: Path | None
    config: Config
    _durable: DurableSource | None
    _search: SearchService

    def health(self, cancel: CancelToken | None = None) -> list[LogHealth]:
        """Every file below the root that is damaged, foreign, diverging or passed over, the worst first.

        Raises `PERSISTENCE_FAILED` when the root cannot be read, `ABORTED`.
        """
        from palimpsest_core.sync.health import ailing_logs

        if self._durable is None:
            return []
        catalog = self._durable.catalog(cancel)
        return self._search.look_up(lambda index: ailing_logs(catalog, index, cancel))

    def closed_folders(self, cancel: CancelToken | None = None) -> list[Finding]:
        """Folders below the root that cannot be examined, so that nobody knows which logs are in them: one walk.

        Raises `PERSISTENCE_FAILED` when the root itself cannot be read, `ABORTED`.
        """
        from palimpsest_core.sync.health import closed_folders

        return closed_folders(self._durable.root, cancel) if self._durable is not None else []

    def row_counts(self, path: str, cancel: CancelToken | None = None) -> RowCounts:
        """How many lines of the log at `path` are shown and how many withheld; reads it through.

        Raises `PERSISTENCE_FAILED`, `ABORTED`.
        """
        from palimpsest_core.sync.health import row_counts

        return row_counts(file_at(path), self.config, cancel)

    def missing_attachments(self, path: str, cancel: CancelToken | None = None) -> list[Finding]:
        """A `missing-attachment` for each image and file of the log at `path` that is not in the store beside the root.

        Reads the log through; no other call looks for them (an export's plan does, in its own way). Without a root
        there is no store and nothing is missing. Raises `PERSISTENCE_FAILED`, `ABORTED`.
        """
        from palimpsest_core.sync.attached import missing_attachments

        if self.root is None:
            return []
        return missing_attachments(file_at(path), attachment_store(self.root), self.config, cancel)

    def holds_attachment(self, attachment_id: str, kind: str) -> bool | None:
        """Whether an `image` or `file` is in the store beside the root; None when that cannot be told."""
        from palimpsest_core.storage.attachments import is_stored

        if self.root is None:
            return None
        try:
            return is_stored(attachment_store(self.root), attachment_id, file=kind == "file")
        except OSError:
            return None
