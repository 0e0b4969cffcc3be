"""Which of several files speaks for a session id (session format, section 1.3), judged anew when one changed."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.formats.catalog import CatalogEntry, HeaderCache, build_catalog
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.model.session import SessionSummary
from palimpsest_core.search.provider import LogIndex
from palimpsest_core.storage.layout import LogFile

_RIVALRY = frozenset({FindingCode.GENERATION_DIVERGENCE, FindingCode.DUPLICATE_ID, FindingCode.TWIN_ENCODING})


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
    cache = HeaderCache()
    if len(files) > 1:
        for file in files:
            summary = summaries[file.path]
            if summary is not None:
                cache.learn(file, cache.header(file, config), summary.last_time)
    catalog = build_catalog(root, files, [], config, cancel, cache)
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
