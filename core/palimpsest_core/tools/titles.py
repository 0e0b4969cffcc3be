"""Titles for many sessions at once: a title that cannot be read spoils only its own line."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.tools.access import QueryEngine, Sight
from palimpsest_core.tools.errors import ToolErrorCode, code_shown
from palimpsest_core.tools.wording import title_line


class Titles(msgspec.Struct, frozen=True):
    """What is known of the titles of some sessions, by id."""

    titles: dict[str, str]
    problems: dict[str, str]

    def line(self, session_id: str) -> str:
        """The line of an answer that tells the title."""
        return title_line(self.titles.get(session_id), self.problems.get(session_id))


def read_titles(engine: QueryEngine, sight: Sight, ids: Iterable[str], cancel: CancelToken | None) -> Titles:
    """The titles of sessions that may be seen; raises `UNAUTHORIZED` if one has become another since.

    A tolerant engine's index knows most of them; the other logs are read. Only cancelling fails as a whole: what the
    engine cannot read is named by its code.
    """
    titles: dict[str, str] = {}
    problems: dict[str, str] = {}
    wanted = dict.fromkeys(ids)
    if not wanted:
        return Titles(titles, problems)
    try:
        if engine.config.mode != "strict":
            for row in engine.sessions(cancel):
                if row.id in wanted and row.indexed and not row.live and row.header is not None:
                    sight.require(row.header)
                    del wanted[row.id]
                    if row.title is not None:
                        titles[row.id] = row.title
        results = engine.read_title_snapshots(list(wanted), cancel) if wanted else []
    except SessionQueryError as error:
        if error.code is ErrorCode.ABORTED:
            raise
        return Titles(titles, dict.fromkeys(wanted, code_shown(error)))
    for result in results:
        if result.value is None:
            reason = result.reason
            problems[result.session_id] = code_shown(reason) if reason is not None else ToolErrorCode.FAILED.value
            continue
        sight.require(result.value.session)
        title = result.value.title
        if title is not None and isinstance(title.title, str):  # read strictly, it may be anything
            titles[result.session_id] = title.title
    return Titles(titles, problems)
