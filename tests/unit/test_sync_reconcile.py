"""Reconciling: what is new, grown, changed or gone is read, nothing else; one bad log never stops the others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, packed, prompt, row, text_of, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.model.config import Config
from palimpsest_core.model.finding import FindingCode
from palimpsest_core.model.session import SessionState, SessionSummary
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.request import event_search, session_search
from palimpsest_core.sync import extract, reconcile
from palimpsest_core.sync.extract import Begin
from palimpsest_core.sync.reconcile import Reconciler

END = {"turn": 1, "reason": {"kind": "completed"}}
CONFIG = Config()


class Bench:
    """A root, an index in memory, and a count of how logs were read."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.index = Fts5Provider(":memory:", root=str(root))
        self.reconciler = Reconciler(self.index, str(root), CONFIG)
        self.begun: list[tuple[str, bool, int]] = []
        original = extract.extract

        def watched(*args: Any, **more: Any) -> Iterator[Any]:
            for piece in original(*args, **more):
                if isinstance(piece, Begin):
                    self.begun.append((piece.entry.session_id or "", piece.resumed, piece.drop_from))
                yield piece

        monkeypatch.setattr(reconcile, "extract", watched)

    def run(self, **more: Any) -> reconcile.Refresh:
        self.begun.clear()
        return self.reconciler.run(**more)

    def found(self, query: str, **more: Any) -> list[tuple[str, int]]:
        page = self.index.search_sessions(session_search(query, config=CONFIG, **more))
        return [(hit.header.id, hit.best_match.seq) for hit in page.items]

    def events(self, session_id: str, query: str, *filters: Any) -> list[int]:
        page = self.index.search_events(event_search(session_id, query, list(filters), config=CONFIG))
        return [hit.seq for hit in page.items]

    def summary(self, session_id: str) -> SessionSummary:
        (found,) = (each for each in self.index.summaries() if each.id == session_id)
        return found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(tmp_path, monkeypatch)
    yield made
    made.index.close()


def simple(session_id: str, *texts: str, cwd: str = "/srv/a") -> list[Any]:
    return [header(session_id=session_id, cwd=cwd), *(prompt(seq, text) for seq, text in enumerate(texts))]


def append(path: str, *values: Any) -> None:
    with open(path, "ab") as file:
        file.write(frame(*values))


def test_every_log_is_found_and_an_unchanged_root_costs_nothing(bench: Bench) -> None:
    for name in "abc":
        write(bench.root, frames(simple(name, f"needle {name}")), session_id=name)
    refresh = bench.run()
    assert (len(refresh.added), refresh.logs, refresh.failed) == (3, 3, {})
    assert {name for name, _ in bench.found("needle")} == {"a", "b", "c"}
    again = bench.run()
    assert (again.anything, bench.begun, again.logs) == (False, [], 3)


def test_newest_logs_come_first(bench: Bench) -> None:
    for age, name in enumerate(["young", "middle", "old"]):
        file = write(bench.root, frames(simple(name, "x")), session_id=name)
        os.utime(file.path, (1_000_000 - age, 1_000_000 - age))
    bench.run()
    assert [name for name, _, _ in bench.begun] == ["young", "middle", "old"]


def test_an_append_reads_only_what_is_new(bench: Bench) -> None:
    file = write(bench.root, frames(simple("a", "needle zero", "needle one")), session_id="a")
    write(bench.root, frames(simple("b", "needle")), session_id="b")
    bench.run()
    append(file.path, prompt(2, "needle two"))
    refresh = bench.run()
    assert bench.begun == [("a", True, 2)]
    assert refresh.changed == [file.path]
    assert refresh.bytes_read < 200
    assert bench.events("a", "needle") == [2, 1, 0]


def test_a_replacement_shadows_what_was_indexed_before(bench: Bench) -> None:
    file = write(bench.root, frames(simple("a", "needle zero", "needle one")), session_id="a")
    bench.run()
    replacing = prompt(2, "summary") | {
        "surfaceOp": {"op": "replace", "start": 0, "end": 1},
        "sourceEventSeqs": [0, 1],
    }
    append(file.path, replacing)
    bench.run()
    assert bench.begun == [("a", True, 2)]
    assert bench.events("a", "needle", {"kind": "surface", "values": ["shadowed"]}) == [1, 0]
    summary = bench.summary("a")
    assert (summary.events, summary.current, summary.shadowed) == (3, 1, 2)


def test_the_closers_of_an_open_turn_go_when_the_turn_goes_on(bench: Bench) -> None:
    call = {"type": "tool-call", "id": "c1", "name": "grep", "arguments": "{}"}
    message = {"id": "m", "role": "assistant", "content": [call], "source": {"kind": "model", "model": "deep"}}
    start = [
        header(session_id="a"),
        row(0, "turn/start"),
        row(1, "step/start", {"turn": 1, "step": 1}),
        row(2, "assistant/message", {"turn": 1, "step": 1, "message": message}, surfaceOp="append"),
    ]
    file = write(bench.root, frames(start), session_id="a")
    bench.run()
    assert bench.events("a", "interrupted") == [5, 3]
    assert bench.summary("a").state in (SessionState.ACTIVE, SessionState.INTERRUPTED)
    assert bench.summary("a").model == "deep"
    append(file.path, prompt(3, "steering needle"), row(4, "turn/end", END))
    bench.run()
    assert bench.begun == [("a", True, 3)]
    assert bench.events("a", "interrupted") == []
    assert bench.events("a", "needle") == [3]
    assert bench.summary("a").state is SessionState.COMPLETE


def test_an_open_turn_counts_as_active_only_while_its_log_is_fresh(bench: Bench) -> None:
    file = write(bench.root, frames([header(session_id="a"), row(0)]), session_id="a")
    os.utime(file.path, (1_000_000, 1_000_000))
    bench.run()
    assert [each.state for each in bench.index.summaries(now=1_000_500)] == [SessionState.ACTIVE]
    assert [each.state for each in bench.index.summaries(now=1_000_700)] == [SessionState.INTERRUPTED]


def test_a_log_of_another_content_under_the_same_name_is_read_anew(bench: Bench) -> None:
    write(bench.root, frames(simple("a", "old needle", "old again")), session_id="a")
    bench.run()
    write(bench.root, frames(simple("a", "new needle of another size entirely")), session_id="a")
    bench.run()
    assert bench.begun == [("a", False, 0)]
    assert (bench.found("old"), bench.found("new")) == ([], [("a", 0)])


def test_a_shortened_log_is_read_anew(bench: Bench) -> None:
    whole = frames(simple("a", "first", "second"), each=1)
    file = write(bench.root, whole, session_id="a")
    bench.run()
    kept = frames(simple("a", "first"), each=1)
    with open(file.path, "r+b") as opened:
        opened.truncate(len(kept))
    bench.run()
    assert (bench.found("first"), bench.found("second")) == ([("a", 0)], [])


def test_a_removed_log_is_forgotten(bench: Bench) -> None:
    file = write(bench.root, frames(simple("a", "needle")), session_id="a")
    bench.run()
    os.unlink(file.path)
    assert bench.run().removed == [file.path]
    assert (bench.found("needle"), bench.index.summaries()) == ([], [])


def test_a_touched_log_counts_as_a_change_and_stays_found(bench: Bench) -> None:
    file = write(bench.root, frames(simple("a", "needle")), session_id="a")
    bench.run()
    os.utime(file.path, (5, 5))
    assert bench.run().changed == [file.path]
    assert bench.found("needle") == [("a", 0)]


def test_one_bad_log_never_stops_the_others(bench: Bench) -> None:
    bad = write(bench.root, b"this is no log at all", session_id="bad")
    torn = write(bench.root, frames(simple("torn", "needle kept", "lost"), each=1)[:-7], session_id="torn")
    write(bench.root, frames(simple("good", "needle")), session_id="good")
    refresh = bench.run()
    assert list(refresh.failed) == [bad.path]
    assert {name for name, _ in bench.found("needle")} == {"good", "torn"}
    summary = bench.summary("bad")
    assert (summary.state, summary.path) == (SessionState.UNREADABLE, bad.path)
    assert summary.reason
    damaged = bench.summary("torn")
    assert damaged.state is SessionState.DAMAGED
    assert [finding.code for finding in damaged.findings or []] == [FindingCode.TORN_TAIL]
    assert torn.path == damaged.path


def test_a_log_that_became_unreadable_keeps_its_last_good_rows(bench: Bench) -> None:
    file = write(bench.root, frames(simple("a", "needle")), session_id="a")
    bench.run()
    Path(file.path).write_bytes(b"overwritten with something that is no log, and longer than before")
    refresh = bench.run()
    assert list(refresh.failed) == [file.path]
    assert bench.found("needle") == [("a", 0)]
    assert bench.summary("a").state is SessionState.UNREADABLE
    assert not bench.run().anything
    write(bench.root, frames(simple("a", "needle again")), session_id="a")
    bench.run()
    assert (bench.summary("a").state, bench.summary("a").reason) == (SessionState.COMPLETE, None)


def test_a_file_that_cannot_be_opened_is_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(bench.root, frames(simple("a", "needle")), session_id="a")
    original = extract.LogReader

    def refusing(*args: Any, **more: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(extract, "LogReader", refusing)
    assert "Permission denied" in bench.run().failed[file.path]
    monkeypatch.setattr(extract, "LogReader", original)
    assert bench.run().added == [file.path]
    assert bench.found("needle") == [("a", 0)]


def test_the_highest_generation_answers_unless_a_lower_one_ends_later(bench: Bench) -> None:
    old = write(bench.root, frames(simple("a", "old needle")), session_id="a")
    modern = [header(2, "a"), prompt(0, "new needle")]
    write(bench.root, frames(modern), version=2, session_id="a")
    bench.run()
    assert bench.found("needle") == [("a", 0)]
    assert (bench.found("old"), bench.found("new")) == ([], [("a", 0)])
    summary = bench.summary("a")
    assert (summary.generation, summary.generations) == (2, [0, 2])
    append(old.path, prompt(1, "old needle goes on"))
    bench.run()
    assert bench.begun == [("a", True, 1)]
    assert (bench.found("old"), bench.found("new")) == ([("a", 0)], [])
    summary = bench.summary("a")
    assert (summary.generation, summary.path) == (0, old.path)
    assert FindingCode.GENERATION_DIVERGENCE in {finding.code for finding in summary.findings or []}
    assert [each.generation for each in bench.index.summaries_of("a")] == [0, 2]
    os.unlink(old.path)
    bench.run()
    assert (bench.found("old"), bench.found("new")) == ([], [("a", 0)])
    assert bench.summary("a").generations == [2]


def test_one_id_in_two_folders_answers_once_and_is_listed_twice(bench: Bench) -> None:
    write(bench.root, frames(simple("a", "needle one")), session_id="a")
    write(bench.root, frames(simple("a", "needle two", "later needle", cwd="/srv/b")), session_id="a", cwd="/srv/b")
    bench.run()
    assert bench.found("needle") == [("a", 0)]
    assert bench.found("later") == [("a", 1)]
    listed = [each for each in bench.index.summaries() if each.id == "a"]
    assert len(listed) == 2
    assert any(FindingCode.DUPLICATE_ID in {f.code for f in each.findings or []} for each in listed)


def test_packed_chunks_that_were_never_settled_are_found_until_they_are(bench: Bench) -> None:
    rows = [
        header(session_id="a"),
        row(0),
        row(1, "step/start", {"turn": 1, "step": 1}),
        packed(2, ["need", "le ", "x"]),
    ]
    file = write(bench.root, frames(rows), session_id="a")
    bench.run()
    assert bench.events("a", "needle") == [2]
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "needle x"}]}
    data = {"turn": 1, "step": 1, "message": message | {"source": {"kind": "model"}}}
    append(file.path, row(5, "assistant/message", data, surfaceOp="append", sourceEventSeqs=[2, 3, 4]))
    bench.run()
    assert bench.begun == [("a", True, 5)]
    assert bench.events("a", "needle") == [5]


def test_a_fork_s_copies_are_shown_where_they_were_born(tmp_path: Path) -> None:
    from palimpsest_core.search.fts5.searcher import Options

    write(tmp_path, frames(simple("parent", "needle needle shared", "other")), session_id="parent")
    fork = [
        header(session_id="fork", parentSession="parent", seedLength=1),
        *simple("", "needle needle shared", "needle own")[1:],
    ]
    write(tmp_path, frames(fork), session_id="fork")
    index = Fts5Provider(":memory:", options=Options(fold_inherited=True, count_matches=True))
    Reconciler(index, str(tmp_path), CONFIG).run()
    page = index.search_sessions(session_search("needle", config=CONFIG))
    assert [(hit.header.id, hit.best_match.seq, hit.matches, hit.shared_with) for hit in page.items] == [
        ("parent", 0, 1, ["fork"]),
        ("fork", 1, 2, None),
    ]
    only_fork = [{"kind": "id", "values": ["fork"]}]
    page = index.search_sessions(session_search("needle", only_fork, config=CONFIG))
    assert [(hit.header.id, hit.best_match.seq) for hit in page.items] == [("fork", 0)]
    summary = next(each for each in index.summaries() if each.id == "fork")
    assert (summary.inherited_cut, summary.inherited, summary.own) == (1, 1, 1)
    index.close()


def test_what_was_read_to_its_end_before_cancelling_stays(bench: Bench) -> None:
    for name in "abcdef":
        write(bench.root, frames(simple(name, f"needle {name}")), session_id=name)
    seen: list[str] = []
    for wanted in (2, 4):
        cancel = CancelToken()

        def progress(step: reconcile.SyncProgress, cancel: CancelToken = cancel) -> None:
            seen.append(step.path)
            if step.logs_done == 2:
                cancel.set()

        with pytest.raises(SessionQueryError):
            bench.run(cancel=cancel, progress=progress)
        assert len(bench.found("needle")) == len(set(seen)) == wanted
    assert not set(bench.run().added) & set(seen)
    assert len(bench.found("needle")) == 6


def test_a_log_that_is_half_read_when_cancelled_is_read_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "PART_CHARS", 1)
    write(bench.root, frames(simple("whole", "needle")), session_id="whole")
    file = write(bench.root, frames(simple("half", *("needle " * 50 for _ in range(40)))), session_id="half")
    os.utime(file.path, (1, 1))
    cancel = CancelToken()
    with pytest.raises(SessionQueryError):
        bench.run(cancel=cancel, progress=lambda step: cancel.set())
    assert [session for session, _ in bench.found("needle")] == ["whole"]
    assert [path for path in bench.run().added if "half" in path]
    assert len(bench.found("needle")) == 2


def test_cancelling_leaves_nothing_half_done_and_going_on_completes_it(bench: Bench) -> None:
    for name in "abc":
        write(bench.root, frames(simple(name, "needle")), session_id=name)
    cancel = CancelToken()
    with pytest.raises(SessionQueryError) as caught:
        bench.run(cancel=cancel, progress=lambda step: cancel.set())
    assert caught.value.code is ErrorCode.ABORTED
    assert len(bench.found("needle")) == 1
    bench.run()
    assert len(bench.found("needle")) == 3


def test_a_long_log_is_committed_in_parts_that_can_be_gone_on_from(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palimpsest_core.sync import ledger

    monkeypatch.setattr(extract, "PART_CHARS", 300_000)
    monkeypatch.setattr(extract, "CHECKPOINT_CHARS", 300_000)
    monkeypatch.setattr(ledger, "FIRST_COMMIT_CHARS", 300_000)
    rows = simple("a", *(f"needle {number} " + "hay " * 5_000 for number in range(60)))
    write(bench.root, text_of(rows), session_id="a", plain=True)
    cancel = CancelToken()
    written = 0
    original = bench.index.add_documents

    def counting(number: int, documents: Any) -> int:
        nonlocal written
        written += original(number, documents)
        if written >= 40:
            cancel.set()
        return 0

    monkeypatch.setattr(bench.index, "add_documents", counting)
    with pytest.raises(SessionQueryError):
        bench.run(cancel=cancel)
    monkeypatch.setattr(bench.index, "add_documents", original)
    kept = len(bench.events("a", "needle"))
    assert kept > 0
    assert not bench.summary("a").indexed
    bench.run()
    assert bench.begun[0][:2] == ("a", True)
    assert bench.begun[0][2] > 0
    assert bench.index.search_events(event_search("a", "needle 59", config=CONFIG)).items[0].seq == 59
    assert bench.summary("a").indexed


def test_only_the_named_folders_are_looked_at(bench: Bench) -> None:
    a = write(bench.root, frames(simple("a", "needle")), session_id="a")
    b = write(bench.root, frames(simple("b", "needle")), session_id="b")
    refresh = bench.run(folders={os.path.dirname(a.path)})
    assert refresh.added == [a.path]
    os.unlink(a.path)
    refresh = bench.run(folders={os.path.dirname(a.path), os.path.dirname(b.path)})
    assert (refresh.removed, refresh.added) == ([a.path], [b.path])


def test_other_extractors_read_every_log_anew(bench: Bench) -> None:
    write(bench.root, frames([header(session_id="a"), row(0, "session/title", {"title": "needle"})]), session_id="a")
    bench.run()
    assert bench.found("needle") == [("a", 0)]
    Reconciler(bench.index, str(bench.root), Config(extractors="reference")).run()
    assert bench.found("needle") == []


def test_a_root_that_is_not_there_is_an_empty_one(tmp_path: Path) -> None:
    index = Fts5Provider(":memory:")
    assert Reconciler(index, str(tmp_path / "none"), CONFIG).run() == reconcile.Refresh()
    index.close()


def test_file_names_that_are_no_text_are_fine(bench: Bench) -> None:
    file = write(bench.root, text_of(simple("a", "needle")), session_id="a", plain=True)
    folder = os.path.join(os.fsencode(bench.root), b"proj\xff", b"sess\xfe")
    os.makedirs(folder)
    os.rename(os.fsencode(file.path), os.path.join(folder, b"session.jsonl"))
    bench.run()
    assert bench.found("needle") == [("a", 0)]
    assert not bench.run().anything
    assert FindingCode.PATH_MISMATCH in {finding.code for finding in bench.summary("a").findings or []}


def test_text_can_stay_in_the_logs(tmp_path: Path) -> None:
    from palimpsest_core.sync.logtext import LogTexts

    config = Config(store_text=False)
    write(tmp_path, frames(simple("a", "a needle in the hay", "other")), session_id="a")
    index = Fts5Provider(":memory:", config=config, text_source=LogTexts(config))
    Reconciler(index, str(tmp_path), config).run()
    page = index.search_sessions(session_search("needle", config=config))
    assert [hit.best_match.snippet for hit in page.items] == ["a needle in the hay"]
    index.close()
