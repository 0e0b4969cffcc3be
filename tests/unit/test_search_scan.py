"""Literal scans: any text anywhere in any letter case, filtered, cancellable, with and without stored texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument
from palimpsest_core.search.fts5 import scanning
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.fts5.searcher import Options
from palimpsest_core.search.literal import parse_literal
from palimpsest_core.search.provider import IndexSnapshot
from palimpsest_core.search.request import literal_scan
from palimpsest_core.sync.logtext import LogTexts
from palimpsest_core.sync.reconcile import Reconciler


@pytest.fixture(params=["in a file", "in memory", "in the logs"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fts5Provider]:
    """An index of three sessions: the newest "c", then "b", then "a"."""
    root = tmp_path / "root"
    texts = {"a": ["xNEEDLEx", "50%_off"], "b": ["no", "a needle\n\there"], "c": ["Needle", "straße 会话搜索"]}
    for name, each in texts.items():
        rows = [header(session_id=name, cwd=f"/srv/{name}")]
        rows += [prompt(seq, text) | {"time": 1000 * ord(name) + seq} for seq, text in enumerate(each)]
        write(root, frames(rows), session_id=name, cwd=f"/srv/{name}")
    config = Config(store_text=request.param != "in the logs")
    path = ":memory:" if request.param == "in memory" else str(tmp_path / "index.sqlite")
    made = Fts5Provider(path, root=str(root), config=config, text_source=LogTexts(config))
    Reconciler(made, str(root), config).run()
    yield made
    made.close()


def hits(index: Fts5Provider, text: str, *filters: Any, **more: Any) -> list[tuple[str, int]]:
    return [(hit.session_id, hit.seq) for hit in index.scan(literal_scan(text, *filters, config=Config()), **more)]


def test_a_literal_is_found_inside_words_in_any_case_newest_sessions_first(index: Fts5Provider) -> None:
    assert hits(index, "needle") == [("c", 0), ("b", 1), ("a", 0)]
    assert hits(index, "EEDL") == [("c", 0), ("b", 1), ("a", 0)]
    assert hits(index, "needle here") == [("b", 1)]
    assert hits(index, "搜索") == [("c", 1)]
    assert hits(index, "STRAẞE") == [("c", 1)]
    assert hits(index, "absent") == []


def test_wildcards_and_quotes_are_data(index: Fts5Provider) -> None:
    assert hits(index, "50%_") == [("a", 1)]
    for text in ("5%f", "5__", "\\", "'", '"', "%"):
        assert hits(index, text) == ([("a", 1)] if text == "%" else [])


def test_filters_narrow_a_scan(index: Fts5Provider) -> None:
    assert hits(index, "needle", [{"kind": "cwd", "values": ["/srv/a"]}]) == [("a", 0)]
    assert hits(index, "needle", None, [{"kind": "seq", "from": 1}]) == [("b", 1)]
    assert hits(index, "needle", None, [{"kind": "type", "values": ["tool/call"]}]) == []
    assert hits(index, "needle", [{"kind": "id", "values": []}]) == []


def test_hits_show_the_text_around_the_match(index: Fts5Provider) -> None:
    (hit,) = index.scan(literal_scan("e\n h", config=Config()))
    assert (hit.type, hit.surface.value, hit.snippet) == ("user/message", "current", "a needle here")


def test_progress_counts_logs_and_first_hits_come_before_the_end(
    index: Fts5Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "GROUP", 1)
    seen: list[Any] = []
    running = index.scan(
        literal_scan("needle", config=Config()), progress=lambda done, total: seen.append((done, total))
    )
    for hit in running:
        seen += [hit.session_id]
    assert seen == ["c", (1, 3), "b", (2, 3), "a", (3, 3)]


def test_a_scan_can_be_cancelled_and_abandoned(index: Fts5Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "GROUP", 1)
    cancel = CancelToken()
    running = index.scan(literal_scan("needle", config=Config()), cancel)
    assert next(running).session_id == "c"
    cancel.set()
    with pytest.raises(SessionQueryError) as caught:
        print(list(running))
    assert caught.value.code is ErrorCode.ABORTED
    abandoned = index.scan(literal_scan("needle", config=Config()))
    next(abandoned)
    abandoned.close()
    assert len(hits(index, "needle")) == 3


def test_live_sessions_are_scanned_in_the_place_of_their_stored_logs(index: Fts5Provider) -> None:
    record = SessionRecord(Header(version=0, id="b", created_at=5), live=True, persisted=True)
    index.replace_live(IndexSnapshot(record, "1", [IndexDocument(7, "x", 1, "log-only", "live needle")]))
    assert hits(index, "needle") == [("b", 7), ("c", 0), ("a", 0)]
    index.set_persisted_active(False)
    assert hits(index, "needle") == [("b", 7)]


def test_copies_in_a_fork_are_left_to_their_birthplace(tmp_path: Path) -> None:
    write(tmp_path, frames([header(session_id="p"), prompt(0, "needle")]), session_id="p")
    fork = [header(session_id="f", parentSession="p", seedLength=1), prompt(0, "needle"), prompt(1, "needle own")]
    write(tmp_path, frames(fork), session_id="f")
    index = Fts5Provider(":memory:", options=Options(fold_inherited=True))
    Reconciler(index, str(tmp_path), Config()).run()
    assert hits(index, "needle") == [("f", 1), ("p", 0)]
    index.close()


@pytest.mark.parametrize("text", ["", " \n", None, 5])
def test_a_blank_text_is_refused(text: Any) -> None:
    with pytest.raises(SessionQueryError) as caught:
        literal_scan(text, config=Config())
    assert caught.value.code is ErrorCode.INVALID_QUERY


def test_the_cheap_test_leaves_out_letters_whose_other_case_is_not_ascii() -> None:
    for text, like in [
        ("abc def", "%abc%"),
        ("kelvins", "%elvin%"),
        ("sk", None),
        ("a%b_", "%a\\%b\\_%"),
        ("straße", "%tra%"),
        ("会话 x", "%会话%"),
    ]:
        assert parse_literal(text).like == like
