"""Every call stops soon after its token is set, wherever it is by then, and the engine answers on.

No clock is asked: the token counts how often it is looked at, and sets itself at a chosen look.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logmaking import frame, frames, header, packed, prompt, row, write

from palimpsest_core import Config, Engine, ErrorCode, Event, SessionQueryError, parse_config
from palimpsest_core.base.cancel import CancelToken, stoppable, watched
from palimpsest_core.export.transcript import Form
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.log import loose
from palimpsest_core.log.text import FULL
from palimpsest_core.model.jsonable import to_json

STRICT = parse_config({}, mode="strict")
TOLERANT = Config()
BETWEEN_LOOKS = 64
"""So many items may go by between two looks."""


class AtLook(CancelToken):
    """Sets itself at its look number `at` (never, by default)."""

    __slots__ = ("_at", "looks")

    def __init__(self, at: int | None = None) -> None:
        super().__init__()
        self.looks = 0
        self._at = at

    def _look(self) -> None:
        self.looks += 1
        if self.looks == self._at:
            self.set()

    def is_set(self) -> bool:
        self._look()
        return super().is_set()

    def raise_if_set(self) -> None:
        self._look()
        super().raise_if_set()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One log of a few hundred events in many frames, and a family of small ones, created together."""
    place = tmp_path_factory.mktemp("sessions")
    rows: list[Any] = [header(session_id="long"), row(0)]
    while len(rows) < 260:
        rows.append(prompt(rows[-1].get("seq", 0) + 1 if "seq" in rows[-1] else rows[-1]["seq0"] + 3, "needle amber"))
        rows.append(packed(rows[-1]["seq"] + 1, ["a", "b", "c"]))
    write(place, frames(rows, each=5), session_id="long")
    for number in range(70):
        above = {"parentSession": f"small-{number // 2}" if number else "long"}
        name = f"small-{number + 1}"
        write(place, frame(header(session_id=name, **above)) + frame(row(0), prompt(1, "needle")), session_id=name)
    return place


Call = Callable[[Engine, CancelToken | None], Any]

READS: dict[str, Call] = {
    "list_sessions": lambda engine, token: to_json(engine.list_sessions(token)),
    "filter_sessions": lambda engine, token: to_json(
        engine.filter_sessions([{"kind": "parent", "values": ["long"]}], token)
    ),
    "trace_session": lambda engine, token: engine.trace_session("small-1", token).as_json(),
    "read_session": lambda engine, token: to_json(engine.read_session("long", token)),
    "header_of": lambda engine, token: to_json(engine.header_of("long", token)),
    "list_events": lambda engine, token: to_json(engine.list_events("long", token)),
    "filter_events": lambda engine, token: to_json(
        engine.filter_events("long", [{"kind": "text", "text": "needle"}], token)
    ),
    "read_surface": lambda engine, token: engine.read_surface("long", token).as_json(),
    "read_event": lambda engine, token: to_json(engine.read_event("long", 5, 1, 1, token)),
    "trace_event": lambda engine, token: to_json(engine.trace_event("long", 5, token)),
    "read_title": lambda engine, token: to_json(engine.read_title("long", token)),
    "read_title_snapshot": lambda engine, token: to_json(engine.read_title_snapshot("long", token)),
    "read_title_snapshots": lambda engine, token: [
        each.as_json() for each in engine.read_title_snapshots(["long", "small-1", "small-2"], token)
    ],
    "search_sessions": lambda engine, token: [
        hit.header.id for hit in engine.search_sessions("needle", limit=5, cancel=token).items
    ],
    "search_events": lambda engine, token: [
        hit.seq for hit in engine.search_events("long", "needle amber", limit=5, cancel=token).items
    ],
}
FOR_PEOPLE: dict[str, Call] = {
    "sessions": lambda engine, token: sorted(each.id for each in engine.sessions(token)),
    "known sessions": lambda engine, token: sorted(each.id for each in engine.sessions(token, fresh=False)),
    "lineage": lambda engine, token: engine.lineage("small-1", token).as_json(),
    "resolve_id": lambda engine, token: engine.resolve_id("lon", token),
    "health": lambda engine, token: len(engine.health(token)),
    "row_counts": lambda engine, token: engine.row_counts(engine.logs_of("long")[0].path, token),
    "scan_text": lambda engine, token: sorted(hit.session_id for hit in engine.scan_text("eedle", cancel=token)),
    "plan_export": lambda engine, token: len(engine.plan_export("small-1", cancel=token).logs),
    "rescue": lambda engine, token: engine.rescue("long", Path("nowhere"), cancel=token).rows,
    "refresh": lambda engine, token: engine.refresh(token).elsewhere,
}


def stopped(call: Call, engine: Engine, token: CancelToken) -> bool:
    """Whether a call ends with `ABORTED`."""
    try:
        call(engine, token)
    except SessionQueryError as error:
        return error.code is ErrorCode.ABORTED
    return False


def places(looks: int) -> list[int]:
    """Where to stop a call that looks so often: at both ends and at some places between."""
    return sorted({1, 2, looks // 4, looks // 2, looks * 3 // 4, looks - 1, looks} & set(range(1, looks + 1)))


CASES = [
    *(pytest.param(call, STRICT, id=f"{name}, strict") for name, call in READS.items()),
    *(pytest.param(call, TOLERANT, id=name) for name, call in {**READS, **FOR_PEOPLE}.items()),
]


@pytest.mark.parametrize(("call", "config"), CASES)
def test_a_call_stops_at_whatever_look_finds_the_token_set_and_answers_rightly_after(
    root: Path, call: Call, config: Config
) -> None:
    with Engine(root, index=":memory:", config=config) as engine:
        right = call(engine, None)
        whole = AtLook()
        assert call(engine, whole) == right
        assert whole.looks
        for at in places(whole.looks):
            assert stopped(call, engine, AtLook(at)), f"look {at} of {whole.looks}"
        before = CancelToken()
        before.set()
        assert stopped(call, engine, before)
        assert call(engine, None) == right


@pytest.mark.parametrize("config", [STRICT, TOLERANT], ids=["strict", "tolerant"])
def test_a_first_search_stops_anywhere_and_the_next_one_finds_everything(root: Path, config: Config) -> None:
    def search(engine: Engine, token: CancelToken | None) -> Any:
        return [hit.header.id for hit in engine.search_sessions("needle", limit=100, cancel=token).items]

    with Engine(root, index=":memory:", config=config) as engine:
        whole = AtLook()
        right = search(engine, whole)
    assert len(right) == 71
    for at in places(whole.looks):
        with Engine(root, index=":memory:", config=config) as engine:
            assert stopped(search, engine, AtLook(at))
            assert search(engine, None) == right


def test_exports_and_transcripts_stop_anywhere_and_leave_no_file(root: Path, tmp_path: Path) -> None:
    with Engine(root, index=":memory:") as engine:
        plan = engine.plan_export("long", descendants=False)
        target = tmp_path / "out"

        def export(engine: Engine, token: CancelToken | None) -> Any:
            return engine.export(plan, target, cancel=token)

        def transcript(engine: Engine, token: CancelToken | None) -> Any:
            return engine.transcript("long", target, Form.JSONL, everything=True, cancel=token)

        for call in (export, transcript):
            whole = AtLook()
            call(engine, whole)
            target.unlink()
            for at in places(whole.looks):
                assert stopped(call, engine, AtLook(at))
                assert list(tmp_path.iterdir()) == []


def test_not_one_further_row_is_decoded_once_the_token_is_set(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expanded = 0
    expand = LogReader.expand

    def counted(self: LogReader, row: Any) -> list[Event]:
        nonlocal expanded
        found = expand(self, row)
        expanded += 1
        return found

    monkeypatch.setattr(LogReader, "expand", counted)
    with Engine(root, index=":memory:", config=STRICT) as engine:
        whole = AtLook()
        engine.list_events("long", whole)
        every = expanded
        then: list[int] = []

        def note() -> None:
            then.append(expanded)

        for at in range(2, whole.looks, 17):
            token = AtLook(at)
            expanded = 0
            with token.on_set(note), pytest.raises(SessionQueryError):
                engine.list_events("long", token)
            assert expanded == then[-1] <= every


def test_text_between_events_is_looked_for_no_further_than_a_few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = {"chunk": {"type": "text-delta", "index": 0, "text": "a"}}
    events = [Event("assistant/chunk", seq, 0, chunk) for seq in range(1000)]
    pushed = 0
    push = loose.LooseText.push

    def counted(self: loose.LooseText, event: Event) -> None:
        nonlocal pushed
        pushed += 1
        push(self, event)

    monkeypatch.setattr(loose.LooseText, "push", counted)
    whole = AtLook()
    assert len(list(loose.documents(events, FULL, whole))) == 1
    assert whole.looks >= 3 * len(events) // BETWEEN_LOOKS
    for at in range(1, whole.looks + 1):
        pushed = 0
        with pytest.raises(SessionQueryError):
            list(loose.documents(events, FULL, AtLook(at)))
        assert pushed <= at * BETWEEN_LOOKS


@pytest.mark.parametrize("watch", [watched, stoppable])
def test_going_over_many_things_looks_at_the_token_every_few_of_them(watch: Any) -> None:
    taken: list[int] = []
    with pytest.raises(SessionQueryError):
        taken.extend(watch(range(1000), AtLook(3)))
    assert len(taken) == 2 * BETWEEN_LOOKS
    assert list(watch([1, 2], None)) == [1, 2]
