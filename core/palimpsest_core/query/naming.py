"""Finding sessions by what they are called: title, id, working directory, file (engine contract, section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from palimpsest_core.base.casefold import literal_pattern
from palimpsest_core.model.session import SessionSummary


class Named(NamedTuple):
    """A session that bears the text, and where: "title", "prompt", "id", "project" or "path"."""

    summary: SessionSummary
    where: str


def named_sessions(rows: Iterable[SessionSummary], text: str) -> list[Named]:
    """The rows whose title, first prompt, id, working directory or path holds `text`, in any letter case.

    The latest activity first; each row once, with the first place in that order. A blank text finds nothing.
    """
    pattern = literal_pattern(text)
    if pattern is None:
        return []
    found = []
    for row in rows:
        places = (
            ("title", row.title),
            ("prompt", row.first_prompt),
            ("id", row.id),
            ("project", row.project),
            ("path", row.path),
        )
        where = next((name for name, value in places if value and pattern.search(value)), None)
        if where is not None:
            found.append(Named(row, where))
    found.sort(key=lambda named: -(named.summary.last_time or 0))
    return found
