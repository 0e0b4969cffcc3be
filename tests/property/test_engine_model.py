"""The engine against an obvious slow model: plain Python over the events, no index, no columns, no shortcuts."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logmaking import frames, header, prompt, row, write

from palimpsest_core import Engine, ErrorCode, SessionQueryError, parse_config

WORDS = ["aa", "bb", "AA", "cc-dd", "aa bb", "bb,aa", "  ", "x_y", "aa\n\naa", "bb."]
IDS = ["a", "B", "b", "c-1", "c_1"]
CWDS = ["/p", "/q", None]
END = {"turn": 1, "reason": {"kind": "completed"}}

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
queries = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "x", "zz", "aa bb", "Aa  AA"]), min_size=1, max_size=2).map(
    " ".join
)


class Doc(NamedTuple):
    seq: int
    type: str
    time: int
    surface: str
    text: str


class Model:
    """One session as plain lists."""

    def __init__(self, head: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        self.head = head
        self.rows = rows
        self.surface: list[int] = []
        self.replaced: dict[int, list[int]] = {}
        for item in rows:
            op = item.get("surfaceOp")
            if op == "append":
                self.surface.append(item["seq"])
            elif op:
                first, last = self.surface.index(op["start"]), self.surface.index(op["end"])
                self.replaced[item["seq"]] = self.surface[first : last + 1]
                self.surface[first : last + 1] = [item["seq"]]

    def kind(self, seq: int) -> str:
        if seq in self.surface:
            return "current"
        return "shadowed" if any(seq in gone for gone in self.replaced.values()) else "log-only"

    def docs(self) -> list[Doc]:
        found = []
        for item in self.rows:
            if item["type"] == "user/message":
                text = item["data"]["content"][0]["text"].strip()
                if text:
                    found.append(Doc(item["seq"], item["type"], item["time"], self.kind(item["seq"]), text))
        return found


@st.composite
def sessions(draw: st.DrawFn) -> list[Model]:
    models = []
    for session_id in draw(st.lists(st.sampled_from(IDS), unique=True, max_size=4)):
        head = header(session_id=session_id, createdAt=draw(st.integers(0, 2)))
        cwd = draw(st.sampled_from(CWDS))
        head.pop("cwd")
        if cwd is not None:
            head["cwd"] = cwd
        parent = draw(st.sampled_from([None, *IDS]))
        if parent is not None:
            head["parentSession"] = parent
        rows = [row(0, time=0)]
        surface: list[int] = []
        for _ in range(draw(st.integers(0, 6))):
            seq = len(rows)
            item = {**prompt(seq, draw(texts)), "time": draw(st.integers(0, 3))}
            if surface and draw(st.integers(0, 2)) == 0:
                start = draw(st.integers(0, len(surface) - 1))
                end = draw(st.integers(start, len(surface) - 1))
                gone = surface[start : end + 1]
                item["surfaceOp"] = {"op": "replace", "start": gone[0], "end": gone[-1]}
                item["sourceEventSeqs"] = sorted(gone)
                surface[start : end + 1] = [seq]
            else:
                surface.append(seq)
            rows.append(item)
        rows.append({**row(len(rows), "turn/end", END), "time": 3})
        models.append(Model(head, rows))
    return models


def a_range(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(st.integers(-1, 4), st.integers(0, 3)).map(
        lambda pair: {"kind": kind, "from": pair[0] - 0.5, "to": pair[0] + pair[1]}
    )


session_filters = st.lists(
    st.one_of(
        st.lists(st.sampled_from(IDS), max_size=4).map(lambda v: {"kind": "id", "values": v}),
        st.lists(st.sampled_from(CWDS), max_size=2).map(lambda v: {"kind": "cwd", "values": v}),
        st.lists(st.sampled_from([None, *IDS]), max_size=4).map(lambda v: {"kind": "parent", "values": v}),
        a_range("created-at"),
    ),
    max_size=2,
)
event_filters = st.lists(
    st.one_of(
        st.lists(st.sampled_from(["current", "shadowed", "log-only"]), max_size=2).map(
            lambda v: {"kind": "surface", "values": v}
        ),
        st.sampled_from([["user/message"], ["turn/end"]]).map(lambda v: {"kind": "type", "values": v}),
        a_range("time"),
        a_range("seq"),
    ),
    max_size=2,
)


def within(spec: dict[str, Any], number: float) -> bool:
    return bool(spec["from"] <= number <= spec["to"])


def session_passes(model: Model, filters: list[dict[str, Any]]) -> bool:
    tests = {
        "id": lambda spec: model.head["id"] in spec["values"],
        "cwd": lambda spec: model.head.get("cwd") in spec["values"],
        "parent": lambda spec: model.head.get("parentSession") in spec["values"],
        "created-at": lambda spec: within(spec, model.head["createdAt"]),
    }
    return all(tests[spec["kind"]](spec) for spec in filters)


def doc_passes(doc: Doc, filters: list[dict[str, Any]]) -> bool:
    tests = {
        "surface": lambda spec: doc.surface in spec["values"],
        "type": lambda spec: doc.type in spec["values"],
        "time": lambda spec: within(spec, doc.time),
        "seq": lambda spec: within(spec, doc.seq),
    }
    return all(tests[spec["kind"]](spec) for spec in filters)


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def spans(query: str, text: str) -> int:
    """Matches of the phrase; overlapping ones count once."""
    wanted, given_words = tokens(query), tokens(text)
    count, end = 0, -1
    for at in range(len(given_words) - len(wanted) + 1):
        if wanted and given_words[at : at + len(wanted)] == wanted:
            count += at > end
            end = at + len(wanted) - 1
    return count


def ranked(model: Model, query: str, filters: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rank keys of a session's matching events, best first; the last member is the seq, negated."""
    found = [
        (-spans(query, doc.text), len(doc.text), -doc.time, -doc.seq)
        for doc in model.docs()
        if doc_passes(doc, filters) and spans(query, doc.text)
    ]
    return sorted(found)


def collated(models: list[Model]) -> list[str]:
    """Newest first; of the ids used here: marks before letters, `_` before `-`, lower case before upper."""
    order = ["a", "b", "B", "c_1", "c-1"]
    return [m.head["id"] for m in sorted(models, key=lambda m: (-m.head["createdAt"], order.index(m.head["id"])))]


def opened(folder: str, models: list[Model]) -> Engine:
    for model in models:
        content = frames([model.head, *model.rows], each=3)
        write(Path(folder), content, session_id=model.head["id"], cwd=model.head.get("cwd"))
    return Engine(Path(folder), index=":memory:", config=parse_config({}, mode="strict"))


@settings(max_examples=40)
@given(sessions(), session_filters, event_filters)
def test_reads_and_filters_agree(
    models: list[Model], wanted: list[dict[str, Any]], filters: list[dict[str, Any]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(folder, models) as engine:
        assert [item.header.id for item in engine.list_sessions()] == collated(models)
        passing = [model for model in models if session_passes(model, wanted)]
        assert [item.header.id for item in engine.filter_sessions(wanted)] == collated(passing)
        for model in models:
            session_id = model.head["id"]
            listed = [(item.seq, item.type, item.time, item.surface.value) for item in engine.list_events(session_id)]
            assert listed == [(r["seq"], r["type"], r["time"], model.kind(r["seq"])) for r in model.rows]
            snapshot = engine.read_surface(session_id)
            assert [event["seq"] for event in snapshot.events] == model.surface
            assert snapshot.captured_through_seq == len(model.rows) - 1
            assert engine.read_session(session_id).events == model.rows
            found = [
                Doc(d.seq, d.type, d.time, d.surface.value, d.text) for d in engine.filter_events(session_id, filters)
            ]
            assert found == [doc for doc in model.docs() if doc_passes(doc, filters)]


@settings(max_examples=40)
@given(sessions())
def test_links_of_events_agree(models: list[Model]) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(folder, models) as engine:
        for model in models:
            for item in model.rows:
                seq = item["seq"]
                trace = engine.trace_event(model.head["id"], seq)
                chain = []
                at = seq
                while (after := next((r for r, gone in model.replaced.items() if at in gone), None)) is not None:
                    chain.append(after)
                    at = after
                assert trace.replacement_chain == chain
                assert trace.replaced_by == (chain[0] if chain else None)
                assert trace.replaced_event_seqs == model.replaced.get(seq, [])
                assert trace.source_event_seqs == item.get("sourceEventSeqs", [])
                assert trace.derived_event_seqs == [
                    r["seq"] for r in model.rows if r["seq"] > seq and seq in r.get("sourceEventSeqs", [])
                ]


@settings(max_examples=60)
@given(sessions(), queries, session_filters, event_filters, st.integers(1, 3))
def test_searches_agree_page_by_page(
    models: list[Model],
    query: str,
    wanted: list[dict[str, Any]],
    filters: list[dict[str, Any]],
    limit: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(folder, models) as engine:
        hits = []
        for model in models:
            best = ranked(model, query, filters)
            if best and session_passes(model, wanted):
                hits.append((*best[0][:3], model.head["id"].encode(), best[0][3]))
        expected = [(key[3].decode(), -key[4]) for key in sorted(hits)]
        got: list[tuple[str, int]] = []
        cursor = None
        while True:
            page = engine.search_sessions(query, wanted, filters, limit, cursor)
            assert len(page.items) <= limit
            got += [(hit.header.id, hit.best_match.seq) for hit in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert got == expected
        for model in models:
            page = engine.search_events(model.head["id"], query, filters)
            assert [hit.seq for hit in page.items] == [-key[3] for key in ranked(model, query, filters)]


@settings(max_examples=40)
@given(sessions())
def test_lineages_agree(models: list[Model]) -> None:
    by_id = {model.head["id"]: model for model in models}
    with tempfile.TemporaryDirectory() as folder, opened(folder, models) as engine:
        for session_id, model in by_id.items():
            passed, here, lost = [session_id], model.head.get("parentSession"), None
            while here is not None and here not in passed:
                if here not in by_id:
                    lost = here
                    break
                passed.append(here)
                here = by_id[here].head.get("parentSession")
            circle = here is not None and lost is None
            if circle:
                with pytest.raises(SessionQueryError) as caught:
                    engine.trace_session(session_id)
                assert caught.value.code is ErrorCode.INVALID_LINEAGE
                continue
            trace = engine.trace_session(session_id)
            assert [item.header.id for item in trace.ancestors] == passed[1:]
            assert trace.unresolved_parent_id == lost
