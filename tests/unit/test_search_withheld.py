"""Rows that a damaged log withholds are found by searching, marked as what they are, and opened at their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from logmaking import frame, frames, header, line, packed, prompt, row, write

from palimpsest_core import Config, Engine, EventHit, Flag, SessionQueryError, Surface
from palimpsest_core.log.text import FULL, Registry
from palimpsest_core.log.withheld import withheld_text
from palimpsest_core.model.config import APP_CONFIG

SOUND = [prompt(0, "shown needle"), row(1, "turn/end", {"turn": 1, "reason": {"kind": "completed"}})]
BEHIND = [prompt(7, "lost walrus"), row(8, "acme/thing", {"note": "opaque walrus"}), b'{"type":"user/mess walrus\n']


def damaged(root: Path, *more: object) -> Path:
    content = frames([header(0, "gap"), *SOUND, *BEHIND, *more])
    return Path(write(root, content, session_id="gap").path)


def hits(engine: Engine, words: str) -> list[EventHit]:
    return sorted(engine.search_events("gap", words).items, key=lambda hit: hit.seq)


def test_withheld_rows_are_found_and_tell_their_line(tmp_path: Path) -> None:
    damaged(tmp_path)
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        found = hits(engine, "walrus")
        assert [(hit.line, hit.surface, hit.type) for hit in found] == [
            (4, Surface.WITHHELD, "user/message"),
            (5, Surface.WITHHELD, "acme/thing"),
            (6, Surface.WITHHELD, "row"),
        ]
        assert [hit.best_match.line for hit in engine.search_sessions("lost").items] == [4]
        assert [hit.line for hit in hits(engine, "needle")] == [None]
        assert list(engine.scan_text("st walr")) == hits(engine, "lost")


def test_they_can_be_asked_for_alone_or_left_out(tmp_path: Path) -> None:
    damaged(tmp_path, prompt(9, "a needle too"))
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        for surface, line_number in (("withheld", 7), ("current", None)):
            filters = [{"kind": "surface", "values": [surface]}]
            assert [hit.line for hit in engine.search_events("gap", "needle", filters).items] == [line_number]
            assert [hit.line for hit in engine.scan_text("needle", event_filters=filters)] == [line_number]
            assert [hit.best_match.line for hit in engine.search_sessions("needle", None, filters).items] == [
                line_number
            ]


def test_a_hit_opens_at_its_row(tmp_path: Path) -> None:
    damaged(tmp_path)
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        with engine.open_log("gap").closing() as log:
            log.load()
            for hit in hits(engine, "walrus"):
                index = log.index_of_seq(hit.seq)
                assert index is not None
                assert log.row(index).flags & Flag.WITHHELD
                assert b"walrus" in log.raw(index)
                assert log.number_at(index) == hit.seq
            beyond = hits(engine, "walrus")[-1].seq + 1
            assert log.index_of_seq(beyond) is None
            assert [log.number_at(index) for index in range(2)] == [0, 1]
            assert log.index_of_seq(hits(engine, "walrus")[0].seq - 1) is None


CALL = {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}
ANSWER = {"id": "a", "role": "assistant", "source": {"kind": "model"}, "content": [CALL]}
OPEN_TURN = [
    row(0),
    row(1, "assistant/message", {"turn": 1, "step": 1, "message": ANSWER}, surfaceOp="append"),
    prompt(7, "lost walrus"),
    prompt(8, "lost walrus too"),
]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("begin", [[*SOUND, *BEHIND], OPEN_TURN, SOUND])
def test_all_are_found_once_however_the_log_grows_behind_the_damage(
    tmp_path: Path, plain: bool, begin: list[object]
) -> None:
    rows = [header(0, "gap"), *begin]
    content = b"".join(map(line, rows)) if plain else frames(rows)
    path = Path(write(tmp_path, content, session_id="gap", plain=plain).path)
    more = [line(prompt(seq, f"later walrus number {seq}")) for seq in range(9, 13)]
    pieces = more if plain else [frame(each) for each in more]
    end = line(row(13, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}))
    growth = [pieces[0], pieces[1][:-9], pieces[1][-9:] + pieces[2], end if plain else frame(end), pieces[3][:40]]
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        for piece in growth:
            with path.open("ab") as file:
                file.write(piece)
            engine.refresh()
            with Engine(tmp_path, index=":memory:") as anew:
                anew.refresh()
                for words in ("walrus", "lost", "number", "interrupted"):
                    assert hits(engine, words) == hits(anew, words)
                assert engine.sessions() == anew.sessions()
                with anew.open_log("gap").closing() as log:
                    log.load()
                    assert all(log.index_of_seq(hit.seq) is not None for hit in hits(engine, "interrupted"))


@pytest.mark.parametrize("many", [False, True])
def test_a_grown_log_is_not_read_again_for_its_withheld_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    if many:  # more than are told one by one: the later ones are counted only
        monkeypatch.setattr("palimpsest_core.formats.rowscan.MOST_WITHHELD", len(BEHIND))
    path = damaged(tmp_path, prompt(9, "one more"))
    read: list[bytes] = []

    def text(stored: bytes, registry: Registry) -> str:
        read.append(stored)
        return withheld_text(stored, registry)

    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        monkeypatch.setattr("palimpsest_core.sync.withheld.withheld_text", text)
        for seq in (10, 11):
            with path.open("ab") as file:
                file.write(frame(prompt(seq, "later walrus")))
            engine.refresh()
        assert [hit.line for hit in hits(engine, "walrus")] == [4, 5, 6, *([] if many else [8, 9])]
        (summary,) = engine.sessions()
        assert (summary.rows_shown, summary.rows_withheld) == (2, 6)
    assert read == ([] if many else [line(prompt(seq, "later walrus")) for seq in (10, 11)])


def test_a_torn_row_is_found_until_it_is_whole(tmp_path: Path) -> None:
    whole = line(prompt(2, "half walrus of many words"))
    path = Path(write(tmp_path, b"".join(map(line, [header(0, "gap"), *SOUND])), session_id="gap", plain=True).path)
    with path.open("ab") as file:
        file.write(whole[:-20])
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        assert [hit.surface for hit in hits(engine, "half")] == [Surface.WITHHELD]
        with path.open("ab") as file:
            file.write(whole[-20:])
        engine.refresh()
        assert [(hit.seq, hit.surface) for hit in hits(engine, "half")] == [(2, Surface.CURRENT)]


def test_texts_that_are_not_stored_are_read_from_the_row(tmp_path: Path) -> None:
    damaged(tmp_path)
    config = Config(tokenizer="unicode61-cjk", store_text=False)
    with Engine(tmp_path, index=":memory:", config=config) as engine:
        engine.refresh()
        assert [hit.snippet for hit in hits(engine, "lost")] == ["lost walrus"]
        assert [hit.line for hit in engine.scan_text("st walr")] == [4]


def test_strict_searching_knows_no_withheld_rows(tmp_path: Path) -> None:
    content = b"".join(map(line, [header(0, "gap"), *SOUND, prompt(2, "lost walrus")]))
    write(tmp_path, content[:-3], session_id="gap", plain=True)
    strict = Config(mode="strict", extractors="reference", compression="none")
    with Engine(tmp_path, index=":memory:", config=strict) as engine:
        assert len(engine.search_sessions("needle").items) == 1
        assert engine.search_sessions("walrus").items == []
        for search in (engine.search_sessions, engine.scan_text):
            with pytest.raises(SessionQueryError, match='"withheld"'):
                search("walrus", event_filters=[{"kind": "surface", "values": ["withheld"]}])
    with Engine(tmp_path, index=":memory:", config=APP_CONFIG) as engine:
        engine.refresh()
        assert len(engine.search_sessions("walrus").items) == 1


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (line(packed(3, ["one ", "two"])), "one two"),
        (b'{"type":"reasoning-chunks","seq0":3,"data":{"texts":["secret"]}}\n', ""),
        (b'{"type":"reasoning-chunks","seq0":3,"data":{"texts":["secr\n', ""),
        (b"\xff no text \x00\n", "\ufffd no text"),
        (b"[\"a list\"]\n", "a list"),
        (line(row(3, "turn/end")), ""),
    ],
)  # fmt: skip
def test_the_text_of_a_row_is_what_it_claims_without_reasoning(stored: bytes, text: str) -> None:
    assert withheld_text(stored, FULL) == text


@pytest.mark.parametrize("grown", [False, True])
def test_they_are_found_by_their_time_though_no_event_is_of_that_time(tmp_path: Path, grown: bool) -> None:
    late = prompt(9, "late walrus") | {"time": 9_000_000}
    early = prompt(10, "early walrus") | {"time": 1}
    path = damaged(tmp_path, *([] if grown else [late, early]))
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        if grown:
            with path.open("ab") as file:
                file.write(frame(late, early))
            engine.refresh()
        for word, bounds in (("late", {"from": 5_000_000}), ("early", {"to": 10})):
            filters = [{"kind": "time", **bounds}]
            found = engine.search_events("gap", "walrus", filters).items
            assert [hit.snippet for hit in found] == [f"{word} walrus"]
            assert [hit.best_match for hit in engine.search_sessions("walrus", None, filters).items] == found
            assert list(engine.scan_text("walrus", event_filters=filters)) == found


def test_what_closes_a_turn_is_found_by_the_time_of_the_last_event(tmp_path: Path) -> None:
    end = row(2, "acme/silent") | {"time": 9_000_000}
    write(tmp_path, frames([header(0, "gap"), *OPEN_TURN[:2], end]), session_id="gap")
    filters = [{"kind": "time", "from": 5_000_000}]
    with Engine(tmp_path, index=":memory:") as engine:
        engine.refresh()
        found = engine.search_events("gap", "interrupted", filters).items
        assert found
        assert [hit.best_match.session_id for hit in engine.search_sessions("interrupted", None, filters).items] == [
            "gap"
        ]
        assert len(list(engine.scan_text("interrupted", event_filters=filters))) == len(found)
