"""Whatever happens to logs in turn, searches equal plain SQL over what they hold, and numbers stay few and apart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import SessionRecord
from palimpsest_core.search.documents import IndexDocument, LogEntry
from palimpsest_core.search.fts5 import extents, ranking, searcher, spans
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.search.fts5.searcher import Options
from palimpsest_core.search.provider import IndexGrowth, IndexSnapshot
from palimpsest_core.search.request import event_search, literal_scan, session_search

CONFIG = Config()
NAMES = ["a", "b", "c"]
TEXTS = ["x", "x x", "x y x", "y", "y y long", "z"]
NEW = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(TEXTS)), max_size=6)
STEP = st.one_of(
    st.tuples(st.just("grow"), st.sampled_from(NAMES), NEW),
    st.tuples(st.just("grow"), st.sampled_from(NAMES), NEW),
    st.tuples(
        st.just("loose"), st.sampled_from(NAMES), st.lists(st.tuples(st.integers(0, 20), st.sampled_from(TEXTS)))
    ),
    st.tuples(st.just("cut"), st.sampled_from(NAMES), st.integers(0, 30)),
    st.tuples(st.just("pick out"), st.sampled_from(NAMES), st.lists(st.integers(0, 30))),
    st.tuples(st.just("mark"), st.sampled_from(NAMES), st.lists(st.integers(0, 30))),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("commit"), st.just(""), st.none()),
    st.tuples(st.just("fail"), st.just(""), st.none()),
    st.tuples(st.just("live"), st.sampled_from(NAMES), NEW),
    st.tuples(st.just("dispose"), st.sampled_from(NAMES), st.none()),
)
Held = dict[int, tuple[str, str]]
"""The text and the surface of each document of one log, by seq."""


def record(name: str, live: bool = False) -> SessionRecord:
    return SessionRecord(Header(version=0, id=name, created_at=5), live=live, persisted=True)


def grown(held: Held, new: list[tuple[int, str]]) -> list[IndexDocument]:
    seq, out = max(held, default=-1), []
    for step, text in new:
        seq += step
        out.append(IndexDocument(seq, "t", 1, "current", text))
    return out


def keep(held: Held, documents: list[IndexDocument]) -> None:
    held.update({document.seq: (document.text, document.surface) for document in documents})


class Logs:
    """The stored logs of an index beside what they should hold; steps gather in one batch until a commit."""

    def __init__(self) -> None:
        self.provider = Fts5Provider(":memory:", options=Options(count_matches=True))
        self.live: dict[str, Held] = {}
        self.stored: dict[str, Held] = {}
        self.numbers: dict[str, int] = {}

    def batch(self, steps: list[tuple[str, str, Any]], fails: bool) -> None:
        """Apply the steps in one transaction, which may come to nothing."""
        stored, numbers = {name: dict(held) for name, held in self.stored.items()}, dict(self.numbers)
        try:
            with self.provider.batch():
                for step in steps:
                    self.apply(*step)
                if fails:
                    raise KeyError("stop")
        except KeyError:
            self.stored, self.numbers = stored, numbers

    def apply(self, kind: str, name: str, what: Any) -> None:
        provider = self.provider
        if kind == "grow" and name not in self.numbers:
            entry = LogEntry(path=name, session_id=name, revision="1", fingerprint="", header=record(name).header)
            self.numbers[name], self.stored[name] = provider.add_log(entry), {}
        if name not in self.numbers:
            return
        number, held = self.numbers[name], self.stored[name]
        if kind == "grow":
            documents = grown(held, what)
            provider.add_documents(number, documents)
            keep(held, documents)
        elif kind == "loose":
            told = sorted(IndexDocument(seq, "t", 1, "current", text) for seq, text in dict(what).items())
            provider.drop_each(number, [document.seq for document in told])
            provider.add_documents(number, told)
            keep(held, told)
        elif kind == "cut":
            provider.drop_documents(number, what)
            self.stored[name] = {seq: value for seq, value in held.items() if seq < what}
        elif kind == "pick out":
            provider.drop_each(number, what)
            self.stored[name] = {seq: value for seq, value in held.items() if seq not in what}
        elif kind == "mark":
            provider.mark(number, what, "shadowed")
            held.update({seq: (held[seq][0], "shadowed") for seq in what if seq in held})
        elif kind == "remove":
            provider.remove_log(number)
            del self.numbers[name], self.stored[name]

    def apply_live(self, kind: str, name: str, new: Any) -> None:
        if kind == "dispose":
            self.provider.remove_live(name)
            self.live.pop(name, None)
        elif name in self.live:
            documents = grown(self.live[name], new)
            marked = {min(self.live[name]): "shadowed"} if self.live[name] else {}
            self.provider.append_live(IndexGrowth(record(name, True), "2", documents, marked))
            keep(self.live[name], documents)
            self.live[name].update({seq: (self.live[name][seq][0], surface) for seq, surface in marked.items()})
        else:
            self.live[name] = {}
            documents = grown({}, new)
            self.provider.replace_live(IndexSnapshot(record(name, True), "1", documents))
            keep(self.live[name], documents)


def best(held: Held, word: str, surface: str | None) -> list[tuple[int, int, int]]:
    """What is to be found of one log, best first: spans descending, length ascending, seq descending."""
    found = [
        (-text.split().count(word), len(text), -seq)
        for seq, (text, where) in held.items()
        if word in text.split() and surface in (None, where)
    ]
    return sorted(found)


def check_searches(logs: Logs) -> None:
    seen = {**logs.stored, **logs.live}
    for word in ("x", "y"):
        for surface in (None, "shadowed"):
            filters = [] if surface is None else [{"kind": "surface", "values": [surface]}]
            for name, held in seen.items():
                page = logs.provider.search_events(event_search(name, word, filters, 100, config=CONFIG))
                found = [(hit.seq, hit.surface, hit.snippet) for hit in page.items]
                assert found == [(-seq, held[-seq][1], held[-seq][0]) for _, _, seq in best(held, word, surface)]
            for only in ([], [{"kind": "id", "values": ["a", "c"]}]):
                page = logs.provider.search_sessions(session_search(word, only, filters, config=CONFIG))
                ranked = {name: best(held, word, surface) for name, held in seen.items() if not only or name != "b"}
                wanted = sorted((rows[0][:2], name, rows[0][2], len(rows)) for name, rows in ranked.items() if rows)
                found = [(hit.header.id, -hit.best_match.seq, hit.matches) for hit in page.items]
                assert found == [row[1:] for row in wanted]
    scanned = [(hit.session_id, hit.seq) for hit in logs.provider.scan(literal_scan("Y", config=CONFIG))]
    for name, held in seen.items():
        holding = sorted(seq for seq, (text, _) in held.items() if "y" in text)
        assert [seq for session, seq in scanned if session == name] == holding


def check_numbers(logs: Logs) -> None:
    db = logs.provider._db
    for prefix, held in (("", logs.stored), ("live_", logs.live)):
        held_runs = db.execute(f"select first, last, n from {prefix}extent order by first").fetchall()
        assert all(before[1] < after[0] for before, after in pairwise(held_runs))
        assert {n for _, _, n in held_runs} <= {n for (n,) in db.execute(f"select n from {prefix}log")}
        rows = db.execute(
            f"select d.n, e.n, e.first, d.seq from {prefix}doc d left join {prefix}extent e"
            " on d.id between e.first and e.last order by d.id"
        ).fetchall()
        assert len(rows) == sum(map(len, held.values()))
        for before, after in zip([None, *rows], rows, strict=False):
            assert after[0] == after[1]
            assert before is None or before[2] != after[2] or before[3] < after[3]
        for table, key in (("body", "id"), ("fts", "rowid")):
            ids = db.execute(f"select {key} from {prefix}{table} order by 1").fetchall()
            assert ids == db.execute(f"select id from {prefix}doc order by 1").fetchall()


@settings(max_examples=200)
@given(steps=st.lists(STEP, max_size=25), tight=st.booleans())
def test_searches_equal_the_model_and_extents_never_overlap(steps: list[tuple[str, str, Any]], tight: bool) -> None:
    logs, waiting = Logs(), []
    with pytest.MonkeyPatch.context() as patch:
        if tight:  # as if logs were long: little room, every seq looked for by itself, walks in pieces and under masks
            for module, name, value in (
                (extents, "LEAST_ROOM", 2),
                (extents, "SCANNED_PER_SEQ", 0),
                (spans, "FIRST_PIECE", 1),
                (spans, "LEAST_SEEN", 1),
                (ranking, "LEAST_KEPT", 1),
                (ranking, "KEPT_PER_HIT", 0),
                (searcher, "FEW_RANGES", 0),
            ):
                patch.setattr(module, name, value)
        for step in [*steps, ("commit", "", None)]:
            if step[0] in ("live", "dispose"):
                logs.apply_live(*step)
            elif step[0] in ("commit", "fail"):
                logs.batch(waiting, step[0] == "fail")
                waiting = []
            else:
                waiting.append(step)
        check_searches(logs)
        check_numbers(logs)


def entry(name: str) -> LogEntry:
    return LogEntry(path=name, session_id=name, revision="1", fingerprint="", header=record(name).header)


def runs(provider: Fts5Provider) -> list[tuple[Any, ...]]:
    return provider._db.execute("select first, last, n from extent order by first").fetchall()


def test_a_bulk_build_numbers_documents_without_gaps_between_logs() -> None:
    provider = Fts5Provider(":memory:")
    with provider.batch():
        for name, size in (("a", 3), ("b", 0), ("c", 2)):
            number = provider.add_log(entry(name))
            for seq in range(size):
                provider.add_documents(number, [IndexDocument(10 * seq, "t", 1, "current", "x")])
    assert runs(provider) == [(1, 3, 1), (4, 5, 3)]


def test_logs_that_grow_in_turn_have_few_extents_and_leave_none_behind() -> None:
    provider = Fts5Provider(":memory:")
    with provider.batch():
        numbers = [provider.add_log(entry(name)) for name in NAMES]
    for seq in range(600):
        for number in numbers:
            with provider.batch():
                provider.drop_documents(number, seq)
                documents = [IndexDocument(at, "t", 1, "current", "x") for at in (seq, seq + 1)]
                provider.add_documents(number, documents)
    held = runs(provider)
    assert len(held) <= 3 * 6
    assert held[-1][1] <= 3 * 4 * (600 + extents.LEAST_ROOM)
    with provider.batch():
        for number in numbers:
            provider.remove_log(number)
    assert runs(provider) == []


def test_what_is_told_anew_again_and_again_takes_no_more_room() -> None:
    provider = Fts5Provider(":memory:")
    with provider.batch():
        number = provider.add_log(entry("a"))
        provider.add_documents(number, [IndexDocument(seq, "t", 1, "current", "x") for seq in range(0, 20, 2)])
    for turn in range(50):
        with provider.batch():
            provider.drop_each(number, [4, 8])
            provider.add_documents(number, [IndexDocument(seq, "t", 1, "current", f"y {turn}") for seq in (4, 8)])
    assert runs(provider) == [(1, 10, number)]
