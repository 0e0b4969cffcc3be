"""Which of several files speaks for a session id (session format, section 1.3), judged anew when one changed."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.formats.catalog import CatalogEntry, HeaderCache, build_catalog
from palimpsest_core.formats.reader import HeaderPeek
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.model.session import SessionSummary
from palimpsest_core.search.provider import LogIndex
from palimpsest_core.storage.layout import LogFile

_RIVALRY = frozenset({FindingCode.GENERATION_DIVERGENCE, FindingCode.DUPLICATE_ID, FindingCode.TWIN_ENCODING})


class KnownHeaders(HeaderCache):
    """Headers and ends of logs that were read already, so that the catalog need not read them again."""

    def __init__(self, peeks: Mapping[str, HeaderPeek], last_times: Mapping[str, int | None]) -> None:
        super().__init__()
        self._peeks = peeks
        self._last_times = last_times

    def header(self, file: LogFile, config: Config) -> HeaderPeek:
        """The header of a log."""
        peek = self._peeks.get(file.path)
        return peek if peek is not None else super().header(file, config)

    def last_time(self, file: LogFile, config: Config, cancel: CancelToken | None) -> int:
        """The time of the last readable event, -1 without one."""
        if file.path in self._last_times:
            known = self._last_times[file.path]
            return -1 if known is None else known
        return super().last_time(file, config, cancel)


def settle_answers(
    index: LogIndex,
    root: str,
    files: list[LogFile],
    numbers: Mapping[str, int],
    config: Config,
    cancel: CancelToken | None = None,
) -> None:
    """Decide for logs of one session id, or of one folder, which answers and which are listed; inside a batch.

    `numbers` gives the index's number of each path.
    """
    summaries = {file.path: index.summary_of(numbers[file.path]) for file in files}
    ends = {path: summary.last_time for path, summary in summaries.items() if summary is not None}
    catalog = build_catalog(root, files, [], config, cancel, KnownHeaders({}, ends))
    for entry in catalog.sessions:
        _settle(index, entry, summaries, numbers)


def _settle(
    index: LogIndex, entry: CatalogEntry, summaries: Mapping[str, SessionSummary | None], numbers: Mapping[str, int]
) -> None:
    rivalry = [finding for finding in entry.findings if finding.code in _RIVALRY]
    home = os.path.dirname(entry.primary.path)
    for item in entry.files:
        path = item.file.path
        summary = summaries[path]
        primary = path == entry.primary.path
        index.set_answers(
            numbers[path],
            answers=primary and item.peek.header is not None,
            listed=primary or os.path.dirname(path) != home,
        )
        if summary is None:
            continue
        own = [finding for finding in summary.findings or [] if finding.code not in _RIVALRY]
        settled = msgspec.structs.replace(
            summary,
            findings=own + rivalry if primary else own,
            generations=entry.generations if primary else [item.generation],
        )
        if settled != summary:
            index.update_summary(numbers[path], settled)
