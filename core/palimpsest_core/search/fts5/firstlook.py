"""The newest sessions as the index has them, before anything of the engine is loaded: what an app paints first."""

from __future__ import annotations

import os
from typing import NamedTuple

import apsw
import msgspec

from palimpsest_core.model.session import SessionSummary
from palimpsest_core.search.documents import ACTIVE_SECONDS
from palimpsest_core.search.fts5 import checked, schema
from palimpsest_core.search.fts5.summaries import judged

# The newest sessions with everybody they descend from and everybody who descends from those: a family stands in a tree
# where its newest member would stand alone, so that the first rows of a tree are those of these families.
_FAMILIES = """
with recursive
  newest(n, session, parent) as (
    select n, session, parent from main.log where listed and summary is not null
    order by coalesce(last_time, created_at, 0) desc, session, path limit ?),
  up(n, session, parent) as (
    select n, session, parent from newest
    union select log.n, log.session, log.parent from up join main.log on log.session = up.parent
    where log.listed and log.summary is not null),
  down(n, session) as (
    select n, session from up
    union select log.n, log.session from down join main.log on log.parent = down.session
    where log.listed and log.summary is not null)
select summary, revision, path from main.log where n in (select n from down)
"""


class FirstLook(NamedTuple):
    """Some sessions of an index, and how many it lists in all."""

    sessions: list[SessionSummary]
    total: int


def first_look(index: str, root: str | os.PathLike[str], newest: int) -> FirstLook | None:
    """The `newest` sessions of an index of `root` and their families, in no particular order, with the total.

    Reads only, makes nothing and mends nothing: None where that takes more than a look (no index, another root's, an
    older version's, a damaged one), for the engine to see to.
    """
    if not os.path.isfile(index):
        return None
    try:
        db = checked.connect(index)
        try:
            return _look(db, os.path.realpath(root), newest)
        finally:
            db.close()
    except (apsw.Error, msgspec.DecodeError, OSError):
        return None


def _look(db: apsw.Connection, root: str, newest: int) -> FirstLook | None:
    def value(statement: str) -> object:
        row = db.execute(statement).fetchone()
        return None if row is None else row[0]

    versions = value("pragma application_id"), value("pragma user_version")
    if versions != (schema.APPLICATION_ID, schema.SCHEMA_VERSION):
        return None
    if value("select value from meta where key='root'") != root:
        return None
    total = value("select count(*) from main.log where listed and summary is not null")
    assert isinstance(total, int)
    return FirstLook(judged(db.execute(_FAMILIES, (newest,)), ACTIVE_SECONDS, None), total)
