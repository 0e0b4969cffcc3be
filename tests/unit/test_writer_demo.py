"""The demo corpus: lifelike, the same each time, and sound wherever it is not meant to be damaged."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from palimpsest_core.formats.catalog import Catalog
from palimpsest_core.formats.reader import ReadLog, read_log
from palimpsest_core.log.surface import fold_events
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.storage.attachments import attachment_store, object_path, object_pieces
from palimpsest_core.writer.demo import DemoCorpus, grow, write_demo
from palimpsest_core.writer.store import JsonlStore

NOW = 1_786_000_000_000
CONFIG = Config()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoCorpus:
    return write_demo(tmp_path_factory.mktemp("demo") / "sessions", now=NOW)


@pytest.fixture(scope="module")
def logs(demo: DemoCorpus) -> dict[str, ReadLog]:
    catalog = Catalog.scan(demo.root, CONFIG)
    return {entry.id: read_log(entry.primary, config=CONFIG) for entry in catalog.sessions}


def test_the_same_moment_gives_the_same_bytes(demo: DemoCorpus, tmp_path: Path) -> None:
    again = write_demo(tmp_path / "sessions", now=NOW)
    one, two = (
        {path.relative_to(corpus.root): path.read_bytes() for path in corpus.root.rglob("*") if path.is_file()}
        for corpus in (demo, again)
    )
    assert one == two


def test_every_session_is_listed(demo: DemoCorpus, logs: dict[str, ReadLog]) -> None:
    assert set(logs) == set(demo.ids)
    assert 25 <= len(demo.ids) <= 40


def test_only_the_damaged_log_has_findings(demo: DemoCorpus, logs: dict[str, ReadLog]) -> None:
    odd = {name: {finding.code for finding in log.findings} for name, log in logs.items() if log.findings}
    assert odd == {demo.damaged_id: {FindingCode.CORRUPT}}
    assert len(logs[demo.damaged_id].events) > 10


def test_surfaces_fold_without_a_problem(logs: dict[str, ReadLog]) -> None:
    for name, log in logs.items():
        assert log.header is not None
        fold = fold_events(log.events, log.header.header.version)
        assert fold.problems == [], name


def test_sound_logs_would_resume(demo: DemoCorpus) -> None:
    store = JsonlStore(demo.root)
    for snapshot in store.list_snapshots():
        if snapshot.header.id != demo.damaged_id:
            store.inspect(snapshot.header.id)


def test_it_has_what_a_look_around_needs(demo: DemoCorpus, logs: dict[str, ReadLog]) -> None:
    headers = [log.header.header for log in logs.values() if log.header is not None]
    types = {event.type for log in logs.values() for event in log.events}
    assert {header.version for header in headers} == {0, 2, 3, 4}
    assert max(header.delegation_depth or 0 for header in headers) == 3
    assert sum(header.seed_length is not None for header in headers) >= 3
    assert len({header.cwd for header in headers}) >= 6
    assert {"compaction/prune", "compaction/end", "llm/retry", "todo/write", "approval/asked", "command/done"} <= types
    assert len(logs[demo.large_id].events) > 4000
    assert logs[demo.interrupted_id].events[-1].type == "tool/call"


def test_its_picture_is_in_the_attachment_store(demo: DemoCorpus, logs: dict[str, ReadLog]) -> None:
    references = {
        block["attachment"]["attachmentId"]: block["attachment"]["bytes"]
        for log in logs.values()
        for event in log.events
        if event.type == "user/message"
        for block in event.data["content"]
        if block["type"] == "image"
    }
    assert references
    for name, size in references.items():
        path = object_path(attachment_store(demo.root), name)
        assert path is not None
        assert b"".join(object_pieces(path, name, size)).startswith(b"\x89PNG")


def test_the_growing_session_grows_until_stopped_and_can_be_grown_again(tmp_path: Path) -> None:
    demo = write_demo(tmp_path / "sessions", now=NOW)
    store = JsonlStore(demo.root)
    before = len(store.read_from(demo.growing_id, 0).events)

    class Count:
        """Stops after so many appends, whatever the clock says."""

        def __init__(self, appends: int) -> None:
            self.left = appends

        def wait(self, timeout: float) -> bool:
            self.left -= 1
            return self.left < 0

    assert grow(demo, Count(150)) == 150
    events = store.read_from(demo.growing_id, 0).events
    assert len(events) > before + 150
    assert any(isinstance(event.surface_op, dict) for event in events), "a compaction shadows what came before"
    assert grow(demo, Count(20)) == 20
    assert fold_events(store.inspect(demo.growing_id).events, 0).problems == []
    stopped = threading.Event()
    stopped.set()
    assert grow(demo, stopped) == 0
