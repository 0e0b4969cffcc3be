"""Raising an extractor's version reads again what was read with the old one, once, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, prompt, row, write

from palimpsest_core import Engine, ErrorCode, SessionQueryError, parse_config
from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.log.text import FULL, REFERENCE, Registry
from palimpsest_core.model.config import Config
from palimpsest_core.query.durable import DurableSource
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import session_search
from palimpsest_core.sync import extract, mirror, reconcile
from palimpsest_core.sync.extract import Begin
from palimpsest_core.sync.reconcile import Reconciler

CONFIG = Config()
STRICT = parse_config({}, mode="strict")
NOTE = "acme/note"


def extractors(base: Registry, version: str) -> Registry:
    """The built-in set with one of somebody's own, which gives other words in its second version."""
    word = {"1": "first", "2": "second"}[version]
    return base.with_event(NOTE, version, lambda _: [word])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three logs with a note each."""
    place = tmp_path / "sessions"
    for name in ("a", "b", "c"):
        note = row(1, NOTE, {}, ignorable=True)
        write(place, frames([header(session_id=name), prompt(0, "needle"), note]), session_id=name)
    return place


@pytest.fixture
def index(tmp_path: Path, root: Path) -> Iterator[Fts5Provider]:
    made = Fts5Provider(str(tmp_path / "index.sqlite"), root=str(root))
    yield made
    made.close()


def found(index: Fts5Provider, word: str) -> list[str]:
    page = index.search_sessions(session_search(word, config=CONFIG))
    return sorted(hit.header.id for hit in page.items)


class Bench:
    """Reconciles with the extractors of a version and tells which logs were read for that."""

    def __init__(self, index: Fts5Provider, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self._index, self._root, self._patch = index, root, monkeypatch
        original = extract.extract

        def counted(*args: Any, **more: Any) -> Iterator[Any]:
            for piece in original(*args, **more):
                if isinstance(piece, Begin):
                    self.read.append(piece.entry.session_id or "")
                yield piece

        monkeypatch.setattr(reconcile, "extract", counted)

    def run(self, version: str, token: CancelToken | None = None) -> list[str]:
        self.read.clear()
        self._patch.setattr(reconcile, "registry_for", lambda _: extractors(FULL, version))
        Reconciler(self._index, str(self._root), CONFIG).run(token)
        return sorted(self.read)


def test_a_raised_version_reads_every_log_of_the_old_one_again_and_only_once(
    root: Path, index: Fts5Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(index, root, monkeypatch)
    assert bench.run("1") == ["a", "b", "c"]
    assert bench.run("1") == []
    assert (found(index, "first"), found(index, "second")) == (["a", "b", "c"], [])
    assert bench.run("2") == ["a", "b", "c"]
    assert (found(index, "first"), found(index, "second")) == ([], ["a", "b", "c"])
    assert found(index, "needle") == ["a", "b", "c"]
    assert bench.run("2") == []


def test_a_change_of_version_that_was_stopped_goes_on_where_it_stood(
    root: Path, index: Fts5Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(index, root, monkeypatch)
    bench.run("1")
    # One log comes under the new version by itself; the others are still of the old one.
    write(root, frames([header(session_id="b"), prompt(0, "other"), row(1, NOTE, {}, ignorable=True)]), session_id="b")
    monkeypatch.setattr(reconcile, "registry_for", lambda _: extractors(FULL, "2"))
    folder = next(root.glob("*/b"))
    Reconciler(index, str(root), CONFIG).run(folders=[str(folder)])
    assert (found(index, "first"), found(index, "second")) == (["a", "c"], ["b"])
    assert bench.run("2") == ["a", "c"]
    assert found(index, "second") == ["a", "b", "c"]


def test_the_strict_index_too_reads_again_exactly_what_has_another_fingerprint(
    root: Path, index: Fts5Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = DurableSource(root, STRICT)
    read: list[str] = []
    original = DurableSource.read

    def counted(self: DurableSource, file: Any, cancel: CancelToken | None = None) -> Any:
        read.append(file.folder)
        return original(self, file, cancel)

    monkeypatch.setattr(DurableSource, "read", counted)

    def sync(version: str) -> list[str]:
        read.clear()
        monkeypatch.setattr(mirror, "registry_for", lambda _: extractors(REFERENCE, version))
        mirror.StoredMirror(index, STRICT).sync(source, frozenset())
        return sorted(read)

    assert sync("1") == ["a", "b", "c"]
    assert sync("1") == []
    write(root, frame(header(session_id="c")) + frame(prompt(0, "needle")), session_id="c")
    assert sync("1") == ["c"]
    assert sync("2") == ["a", "b", "c"]
    assert (found(index, "first"), found(index, "second")) == ([], ["a", "b"])


def test_chinese_text_is_found_inside_longer_words_and_latin_text_is_not(tmp_path: Path) -> None:
    for name, text in (("one", "会话搜索功能"), ("two", "the BRAID of AI"), ("three", "BRAID")):
        write(tmp_path, frame(header(session_id=name)) + frame(prompt(0, text)), session_id=name)

    def hits(engine: Engine, query: str) -> list[str]:
        return sorted(hit.header.id for hit in engine.search_sessions(query).items)

    with Engine(tmp_path, index=":memory:", config=Config(tokenizer="unicode61-cjk")) as engine:
        assert hits(engine, "搜索") == ["one"]
        assert hits(engine, "索搜") == []
        assert hits(engine, "AI") == ["two"]
        assert sorted({hit.session_id for hit in engine.scan_text("AI")}) == ["three", "two"]
        literal = engine.filter_events("three", [{"kind": "text", "text": "AI"}])
        assert [document.text for document in literal] == ["BRAID"]
    with Engine(tmp_path, index=":memory:", config=Config(tokenizer="unicode61")) as engine:
        assert hits(engine, "搜索") == []
        assert hits(engine, "会话搜索功能") == ["one"]
        with pytest.raises(SessionQueryError) as caught:
            engine.search_sessions("搜索", event_filters=[{"kind": "text", "text": "搜索"}])
        assert caught.value.code is ErrorCode.INVALID_FILTER
