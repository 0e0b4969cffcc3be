"""What ails the logs of a root: every unsound file, how much of it can be read, what can be done."""

from __future__ import annotations

from pathlib import Path

import pytest
from logmaking import frame, frames, header, prompt, row, text_of, write

from palimpsest_core import Engine, Finding, FindingCode, LogHealth, Remedy, SessionQueryError
from palimpsest_core.model.health import AILMENT_OF, CODE_WORDS, Ailment, ailment_of

NO_TROUBLE = {FindingCode.OPEN_TURN, FindingCode.DANGLING_PARENT, FindingCode.MISSING_ATTACHMENT}


def health_of(root: Path, *, indexed: bool = True) -> list[LogHealth]:
    with Engine(root, index=":memory:") as engine:
        if indexed:
            engine.refresh()
        return engine.health()


def sound(version: int = 0, session_id: str = "sound", last: int = 1001) -> list[object]:
    return [header(version, session_id), prompt(0, "hello"), {**row(1, "turn/end"), "time": last}]


def test_every_code_has_words_and_is_trouble_or_a_note() -> None:
    assert set(CODE_WORDS) == set(FindingCode)
    assert set(FindingCode) - set(AILMENT_OF) == NO_TROUBLE


def test_the_worst_finding_names_the_ailment() -> None:
    newer = Finding(FindingCode.UNSUPPORTED_VERSION, "newer")
    torn = Finding(FindingCode.TORN_TAIL, "torn")
    note = Finding(FindingCode.OPEN_TURN, "open")
    assert ailment_of([newer, torn]) is Ailment.DAMAGED
    assert ailment_of([note, newer]) is Ailment.NEWER
    assert ailment_of([note]) is None


def test_sound_logs_are_not_mentioned(tmp_path: Path) -> None:
    write(tmp_path, frames(sound()), session_id="sound")
    assert health_of(tmp_path) == []


def test_a_damaged_log_is_found_once_it_is_read_and_can_be_rescued(tmp_path: Path) -> None:
    file = write(tmp_path, frames([*sound(session_id="gap"), row(5), row(6, "turn/end")]), session_id="gap")
    assert health_of(tmp_path, indexed=False) == []
    (health,) = health_of(tmp_path)
    assert (health.path, health.session_id, health.ailment) == (file.path, "gap", Ailment.DAMAGED)
    assert [finding.code for finding in health.findings] == [FindingCode.SEQUENCE_GAP]
    assert (health.remedies, health.answers, health.readable) == ([Remedy.RESCUE], True, True)


def test_rows_shown_and_withheld_are_all_rows(tmp_path: Path) -> None:
    file = write(tmp_path, frames([*sound(session_id="gap"), row(5), row(6, "turn/end")]), session_id="gap")
    with Engine(tmp_path, index=":memory:") as engine:
        counts = engine.row_counts(file.path)
    assert (counts.shown, counts.withheld, counts.total) == (2, 2, 4)


def test_a_newer_format_beside_a_known_one_is_newer_and_never_damaged(tmp_path: Path) -> None:
    write(tmp_path, frames(sound(2, "two")), version=2, session_id="two")
    file = write(tmp_path, frames(sound(9, "two")), version=9, session_id="two")
    (health,) = health_of(tmp_path)
    assert (health.path, health.ailment, health.answers, health.beside) == (file.path, Ailment.NEWER, False, (2,))
    assert health.remedies == [Remedy.OTHER_FILE, Remedy.NEWER_HARNESS]


def test_what_is_no_log_is_told_with_the_rest_and_left_to_people(tmp_path: Path) -> None:
    file = write(tmp_path, frames(sound()), session_id="sound")
    left = Path(file.path).with_name("session.jsonl.zstd.0123456789ab.tmp")
    left.write_bytes(b"half")
    empty = write(tmp_path, b"", session_id="empty")
    first, second = health_of(tmp_path)
    assert (first.path, first.ailment, first.remedies) == (empty.path, Ailment.UNREADABLE, [Remedy.BY_HAND])
    assert (second.path, second.ailment, second.session_id) == (str(left), Ailment.LEFTOVER, None)
    assert second.remedies == [Remedy.BY_HAND]


def test_a_plug_in_event_asks_for_its_plug_in_and_no_copy(tmp_path: Path) -> None:
    write(tmp_path, frames([header(), row(0, "acme/route"), row(1, "turn/end")]))
    (health,) = health_of(tmp_path)
    assert (health.ailment, health.remedies) == (Ailment.FOREIGN, [Remedy.PLUG_IN])
    assert "acme/route" in health.findings[0].message


def test_all_files_of_a_session_are_listed_the_answering_one_first(tmp_path: Path) -> None:
    files = [write(tmp_path, frames(sound(v, "many")), version=v, session_id="many") for v in (0, 2, 3)]
    twin = write(tmp_path, text_of(sound(2, "many")), version=2, session_id="many", plain=True)
    for indexed in (False, True):
        with Engine(tmp_path, index=":memory:") as engine:
            if indexed:
                engine.refresh()
            rows = engine.logs_of("many")
        assert [row.generation for row in rows] == [3, 2, 2, 0]
        assert rows[0].path == files[2].path
        assert {row.path for row in rows} == {*(file.path for file in files), twin.path}
        assert {row.events for row in rows} == ({2} if indexed else {None})


def test_a_file_is_opened_by_its_path_where_id_and_generation_name_two(tmp_path: Path) -> None:
    write(tmp_path, frames(sound(2, "twin")), version=2, session_id="twin")
    shorter = write(tmp_path, text_of(sound(2, "twin")[:2]), version=2, session_id="twin", plain=True)
    with Engine(tmp_path, index=":memory:") as engine:
        log = engine.open_log("twin", path=shorter.path)
        with log.closing():
            log.load()
            assert (log.file.path, len(log)) == (shorter.path, 1)
        copy = engine.rescue("twin", tmp_path / "new", path=shorter.path)
        assert (copy.source, copy.rows, copy.written) == (shorter.path, 1, False)


def test_a_path_without_a_log_is_a_failure_in_words(tmp_path: Path) -> None:
    write(tmp_path, frame(header()))
    with Engine(tmp_path, index=":memory:") as engine, pytest.raises(SessionQueryError, match="cannot be read"):
        engine.row_counts(str(tmp_path / "nothing"))


def test_parents_in_a_circle_are_told_for_each_session_of_it(tmp_path: Path) -> None:
    for name, parent in (("a", "b"), ("b", "a"), ("c", "a")):
        rows = [header(0, name, parentSession=parent), prompt(0, "hello"), row(1, "turn/end")]
        write(tmp_path, frames(rows), session_id=name)
    found = health_of(tmp_path)
    assert [health.session_id for health in found] == ["a", "b"]
    assert {health.findings[0].code for health in found} == {FindingCode.LINEAGE_CYCLE}
    assert "a → b → a" in found[0].findings[0].message
    assert found[0].remedies == [Remedy.NOTHING]
