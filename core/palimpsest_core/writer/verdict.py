"""Whether the harness's own reader would take the copy of a log: asked before anything is written.

Its rules for what is in events are known for generation 0 only. What a strict read asks is asked here, by the same
functions (`log.taking`); what differs is where the rows end, and that a copy is rid of all that is amiss with the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.formats.header import parse_header
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.formats.rows import StoredRow
from palimpsest_core.formats.strict import Outcome, outcome
from palimpsest_core.log.taking import Balanced, handing_refusal, refusal
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event
from palimpsest_core.model.finding import Finding
from palimpsest_core.storage.layout import LogFile


def refusal_of_copy(file: LogFile, rows: int, config: Config, cancel: CancelToken | None) -> str | None:
    """Why the harness would refuse a copy of the first `rows` rows of a generation 0 log, or None when it takes it.

    The log is read as often as the rules need, so that memory does not grow with it.
    """
    strict = msgspec.structs.replace(config, mode="strict")
    events = _StrictEvents(file, rows, strict, cancel)
    with LogReader(file, config=strict) as reader:
        header = reader.header
    assert header is not None
    # The copy lies in its place, under its name, alone, with its header in a frame of its own: only what the line says
    # can be amiss.
    found = parse_header(header.line, file.path, header.header.version).findings
    for finding in found:
        if outcome(finding) >= Outcome.UNREADABLE:
            return finding.message
    if (refused := events.refused_row()) is not None:
        return refused.message
    error = refusal(header.raw, events, [*found, *events.findings]) or handing_refusal(
        Balanced(events, header.header.version)
    )
    return error.message if error is not None else None


class _StrictEvents:
    """The events of the first rows of a log as the harness reads them; every pass reads the log anew."""

    def __init__(self, file: LogFile, rows: int, config: Config, cancel: CancelToken | None) -> None:
        self._file = file
        self._rows = rows
        self._config = config
        self._cancel = cancel
        self.findings: list[Finding] = []
        """What was found in those rows; known after the first pass."""

    def refused_row(self) -> Finding | None:
        """What makes the harness stop before the last of the rows, if anything does."""
        with LogReader(self._file, config=self._config) as reader:
            count = sum(not row.withheld for row in self._taken(reader))
            envelopes = (found for found in reader.findings if found.detail == "envelope")
            self.findings = [found for found in envelopes if found.line is None or found.line <= self._rows + 1]
            if count == self._rows:
                return None
            return next(found for found in reader.findings if outcome(found) != Outcome.FINE)

    def __iter__(self) -> Iterator[Event]:
        with LogReader(self._file, config=self._config) as reader:
            for row in self._taken(reader):
                yield from reader.expand(row)

    def _taken(self, reader: LogReader) -> Iterator[StoredRow]:
        left = self._rows
        for batch in reader.batches(self._cancel):
            yield from batch[:left]
            left -= len(batch)
            if left <= 0:
                return
