"""A session's numbers, counted while its log goes by; only its readable prefix counts."""

from __future__ import annotations

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.log.tally import COUNTED, Tally
from palimpsest_core.model.config import Config
from palimpsest_core.model.statistics import SessionStatistics
from palimpsest_core.query.durable import file_at, unreadable_file


def statistics_of(path: str, config: Config, cancel: CancelToken | None = None) -> SessionStatistics | None:
    """The numbers of the log at `path`; None for a file that is no log. Raises `PERSISTENCE_FAILED`, `ABORTED`."""
    file = file_at(path)
    try:
        with LogReader(file, config=config) as reader:
            if reader.header is None:
                return None
            tally = Tally(reader.header.header)
            for rows in reader.batches(cancel):
                check(cancel)
                for row in rows:
                    if row.withheld:
                        continue
                    if row.packed is not None or row.type not in COUNTED:
                        tally.pass_by(row.seq, row.count)
                        continue
                    for event in reader.expand(row):
                        tally.push(event)
            return SessionStatistics(reader.header.header.id, tally.own, tally.inherited)
    except OSError as error:
        raise unreadable_file(file, error) from error
