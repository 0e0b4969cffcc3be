"""The first look into an index: the newest sessions and their families, before the engine is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from logmaking import header, prompt, row, text_of, write

from palimpsest_core import Engine, first_look
from palimpsest_tui.widgets.session_rows import Grouping, Sort, arrange


def put(root: Path, name: str, time: int, **more: object) -> None:
    rows = [{**prompt(0, name), "time": time}, {**row(1, "turn/end"), "time": time}]
    write(root, text_of([header(0, name, **more), *rows]), session_id=name, plain=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Sessions 0 to 29, the newest first; 25 descends from 20, which descends from 1, as 28 does from 27."""
    root = tmp_path / "root"
    parents = {25: "s20", 20: "s01", 28: "s27"}
    for number in range(30):
        more = {"parentSession": parents[number], "seedLength": 1} if number in parents else {}
        put(root, f"s{number:02}", 100_000 - number, **more)
    with Engine(root, index=tmp_path / "index.sqlite") as engine:
        engine.refresh()
    return root


@pytest.mark.parametrize("grouping", [Grouping.FLAT, Grouping.TREE])
def test_its_rows_are_the_first_rows_of_the_whole_list(tmp_path: Path, root: Path, grouping: Grouping) -> None:
    with Engine(root, index=tmp_path / "index.sqlite") as engine:
        whole = arrange(engine.sessions(fresh=False), Sort.ACTIVITY, grouping)
    for newest in (1, 2, 5, 21, 26, 100):
        known = first_look(str(tmp_path / "index.sqlite"), root, newest)
        assert known is not None
        assert known.total == 30
        assert arrange(known.sessions, Sort.ACTIVITY, grouping)[:newest] == whole[:newest]


def test_a_family_is_whole_as_soon_as_one_of_it_is_new(tmp_path: Path, root: Path) -> None:
    known = first_look(str(tmp_path / "index.sqlite"), root, 2)
    assert known is not None
    assert {session.id for session in known.sessions} == {"s00", "s01", "s20", "s25"}


def test_parents_in_a_circle_are_no_trap(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "a", 10, parentSession="b", seedLength=1)
    put(root, "b", 20, parentSession="a", seedLength=1)
    with Engine(root, index=tmp_path / "index.sqlite") as engine:
        engine.refresh()
    known = first_look(str(tmp_path / "index.sqlite"), root, 1)
    assert known is not None
    assert {session.id for session in known.sessions} == {"a", "b"}


def test_it_knows_nothing_of_another_root_or_without_an_index(tmp_path: Path, root: Path) -> None:
    assert first_look(str(tmp_path / "index.sqlite"), tmp_path, 10) is None
    assert first_look(str(tmp_path / "absent.sqlite"), root, 10) is None
    assert first_look(":memory:", root, 10) is None
    assert not (tmp_path / "absent.sqlite").exists()


def test_it_leaves_a_file_alone_that_is_no_sound_index(tmp_path: Path, root: Path) -> None:
    place = tmp_path / "index.sqlite"
    sound = place.read_bytes()
    for content in (b"", b"no database at all", sound[:5000], sound[:9000] + bytes(8192) + sound[9000 + 8192 :]):
        place.write_bytes(content)
        assert first_look(str(place), root, 10) is None
        assert place.read_bytes() == content
