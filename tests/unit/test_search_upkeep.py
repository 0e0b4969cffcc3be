"""What a bulk build leaves in many parts is put together afterwards; searches answer the same before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.search.documents import IndexDocument, LogEntry
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.fts5.store import MANY_SEGMENTS
from palimpsest_core.search.request import session_search

CONFIG = Config()
LOGS = MANY_SEGMENTS + 2


def built() -> Fts5Provider:
    """An index whose logs were committed one by one, as a bulk build commits."""
    provider = Fts5Provider(":memory:")
    with provider.batch():
        provider.bulk(True)
    for number in range(LOGS):
        header = Header(version=0, id=f"s{number}", created_at=number)
        with provider.batch():
            log = provider.add_log(
                LogEntry(path=f"{number}", session_id=header.id, revision="1", fingerprint="", header=header)
            )
            text = " ".join(["common"] * (1 + number % 3)) + f" only{number}"
            provider.add_documents(log, [IndexDocument(seq, "t", seq, "current", text) for seq in range(5)])
    with provider.batch():
        provider.bulk(False)
    return provider


def answers(provider: Fts5Provider) -> list[list[tuple[str, int]]]:
    queries = ["common", "common common", "only3", "common only1"]
    pages = [provider.search_sessions(session_search(query, config=CONFIG)) for query in queries]
    return [[(hit.header.id, hit.best_match.seq) for hit in page.items] for page in pages]


def test_postings_in_many_parts_become_one_and_answer_the_same() -> None:
    provider = built()
    assert provider._store.segments() >= MANY_SEGMENTS
    before = answers(provider)
    provider.tidy()
    assert provider._store.segments() == 1
    assert answers(provider) == before
    provider._db.execute("insert into fts(fts) values('integrity-check')")


def test_putting_together_ends_when_it_is_cancelled_and_leaves_all_as_it_was() -> None:
    provider, cancel = built(), CancelToken()
    cancel.set()
    parts, before = provider._store.segments(), answers(provider)
    provider.tidy(cancel)
    assert provider._store.segments() == parts
    assert answers(provider) == before
    provider.tidy()
    assert provider._store.segments() == 1


def test_no_documents_come_without_their_log_when_another_process_emptied_the_index(tmp_path: Path) -> None:
    path = str(tmp_path / "index.sqlite")
    header = Header(version=0, id="long", created_at=1)
    entry = LogEntry(path="long", session_id="long", revision="partial", fingerprint="", header=header, complete=False)
    documents = [IndexDocument(seq, "t", seq, "current", "common") for seq in range(5)]
    provider = Fts5Provider(path, root="/one")
    with provider.batch():
        log = provider.add_log(entry)
        provider.add_documents(log, documents)
    Fts5Provider(path, root="/another").close()
    for go_on in (lambda: provider.add_documents(log, documents), lambda: provider.update_log(log, entry)):
        with pytest.raises(SessionQueryError) as told, provider.batch():
            go_on()
        assert told.value.code is ErrorCode.INDEX_FAILED
    for table in ("log", "doc", "body", "extent"):
        assert provider._db.execute(f"select count(*) from {table}").fetchone() == (0,)
    provider.close()
