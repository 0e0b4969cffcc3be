"""Logs of every generation, sound and odd: what is said of each, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from logmaking import frame, frames, header, packed, prompt, row, text_of

from palimpsest_core import Engine
from palimpsest_core.storage.layout import log_file_name

END = {"turn": 1, "reason": {"kind": "completed"}}
SOUND = [prompt(0, "hi"), row(1, "turn/end", END)]
PLACE = "--srv-a--/s/"
IN_TURN = [row(0), row(1, "step/start", {"turn": 1, "step": 1})]


class Told(NamedTuple):
    """What a list tells of session `s`, and what opening it shows."""

    generation: int | None
    findings: list[str]
    lineage: str | None = "ordinary"
    cut: int | None = None
    own: int | None = None
    inherited: int | None = 0
    rows: tuple[int, int] | None = None
    surface: list[int] | None = None


def stored(version: int, *rows: Any, head: dict[str, Any] | None = None) -> dict[str, bytes]:
    """The files of a root with one log."""
    return {PLACE + log_file_name(version, "zstd"): frames([head or header(version, "s"), *rows])}


def replacing(seq: int, a: int, b: int, spelling: str, *sources: Any) -> dict[str, Any]:
    names = ("start", "end") if spelling == "old" else ("startSeq", "endSeq")
    op = {"op": "replace", names[0]: a, names[1]: b}
    return {**prompt(seq, "instead"), "surfaceOp": op, "sourceEventSeqs": list(sources)}


def system(seq: int, op: Any = "append", *sources: int) -> dict[str, Any]:
    message = {"id": f"y{seq}", "role": "system", "content": [], "source": {"kind": "plugin", "plugin": "x"}}
    cited = {"sourceEventSeqs": list(sources)} if sources else {}
    return row(seq, "system/message", {"turn": 1, "step": 1, "message": message}, surfaceOp=op, **cited)


def seed(seq: int, *, tagged: bool = True) -> dict[str, Any]:
    return row(seq, "session/end-seed", {"inherited": True} if tagged else {})


def told(root: Path, files: dict[str, bytes], session_id: str = "s") -> Told:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    with Engine(root, index=":memory:") as engine:
        engine.refresh()
        record = next(record for record in engine.list_sessions() if record.header.id == session_id)
        with engine.open_log(session_id).closing() as log:
            log.load()
            rows, surface = (log.rows_shown, log.rows_withheld), list(log.fold.surface)
            assert {str(finding.code) for finding in log.findings} <= set(record.findings or [])
    findings = [code for code in record.findings or [] if code != "dangling-parent"]
    lineage = str(record.lineage) if record.lineage is not None else None
    return Told(record.generation, findings, lineage, record.inherited_cut, record.own, record.inherited, rows, surface)


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("spelling", ["old", "new"])
def test_both_spellings_of_a_replacement_are_read_in_every_generation(
    tmp_path: Path, version: int, spelling: str
) -> None:
    rows = [row(0), prompt(1, "a"), prompt(2, "b"), replacing(3, 1, 2, spelling, 1, 2), row(4, "turn/end", END)]
    newer = ["unsupported-version"] if version > 4 else []
    assert told(tmp_path, stored(version, *rows)) == Told(version, newer, own=5, rows=(5, 0), surface=[3])


@pytest.mark.parametrize(
    ("rows", "surface", "sound"),
    [
        ([system(2), prompt(3, "a"), system(4, {"op": "replace", "startSeq": 2, "endSeq": 2}, 2)], [4, 3], True),
        ([system(2), prompt(3, "a"), replacing(4, 2, 3, "new", 2, 3)], [2, 3, 4], False),
        ([system(2), prompt(3, "a"), system(4)], [2, 3, 4], True),
        ([prompt(2, "a"), system(3)], [2, 3], False),
        ([system(2), prompt(3, "a"), system(4, {"op": "replace", "startSeq": 3, "endSeq": 3}, 3)], [2, 3, 4], False),
    ],
)
@pytest.mark.parametrize("version", [3, 4, 5])
def test_only_a_system_message_takes_the_place_of_the_head(
    tmp_path: Path, version: int, rows: list[Any], surface: list[int], sound: bool
) -> None:
    seen = told(tmp_path, stored(version, *IN_TURN, *rows))
    assert seen.surface == surface
    assert ("surface-unreliable" not in seen.findings) == sound


@pytest.mark.parametrize(
    ("version", "rows", "surface", "sound"),
    [
        (0, [prompt(0, "a"), prompt(1, "b"), replacing(2, 1, 0, "old", 0, 1)], [0, 1, 2], False),
        (0, [prompt(0, "a"), prompt(1, "b"), replacing(2, 0, 1, "old", 1)], [0, 1, 2], False),
        (0, [prompt(0, "a"), {**prompt(1, "b"), "sourceEventSeqs": [5]}], [0, 1], False),
        (0, [prompt(0, "a"), {**prompt(1, "b"), "sourceEventSeqs": [0, 0]}], [0, 1], False),
        (0, [prompt(0, "a"), {**prompt(1, "b"), "sourceEventSeqs": []}], [0, 1], False),
        (0, [prompt(0, "a"), prompt(1, "b"), prompt(2, "c"), replacing(3, 0, 2, "old", [0, 2])], [3], True),
        (
            2,
            [prompt(0, "a"), prompt(1, "b"), prompt(2, "c"), replacing(3, 0, 2, "old", 2, [0, 1])],
            [0, 1, 2, 3],
            False,
        ),
        (
            0,
            [
                *(prompt(seq, "x") for seq in range(3)),
                replacing(3, 1, 1, "old", 1),
                replacing(4, 3, 2, "old", 3, 2),
            ],
            [0, 4],
            True,
        ),
    ],
)
def test_a_marker_that_cannot_be_kept_to_is_said(
    tmp_path: Path, version: int, rows: list[Any], surface: list[int], sound: bool
) -> None:
    seen = told(tmp_path, stored(version, *rows))
    assert (seen.surface, seen.findings) == (surface, [] if sound else ["surface-unreliable"])


_MARKS: list[dict[str, Any]] = [
    {"surfaceOp": "append"},
    {"surfaceOp": {"op": "replace", "start": 0, "end": 0}},
    {"surfaceOp": None},
    {"sourceEventSeqs": [0]},
    {"surfaceOp": "append", "sourceEventSeqs": [0]},
]


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("marks", _MARKS)
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("session/title", {"title": "t", "messageSeqs": []}),
        ("turn/end", END),
        ("todo/write", {"todos": []}),
        ("plan/mode", {"active": -0.0}),
    ],
)
def test_surface_markers_on_events_that_are_only_logged_are_said_and_mean_nothing(
    tmp_path: Path, version: int, marks: dict[str, Any], kind: str, data: Any
) -> None:
    rows = [prompt(0, "a"), row(1, kind, data, **marks), prompt(2, "b")]
    newer = ["unsupported-version"] if version > 4 else []
    seen = told(tmp_path, stored(version, *rows))
    assert seen == Told(version, ["surface-unreliable", *newer], own=3, rows=(3, 0), surface=[0, 2])


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("marks", _MARKS)
def test_surface_markers_on_unknown_events_are_nobodys_business(
    tmp_path: Path, version: int, marks: dict[str, Any]
) -> None:
    rows = [prompt(0, "a"), row(1, "x/y", {}, ignorable=True, **marks), prompt(2, "b")]
    newer = ["unsupported-version"] if version > 4 else []
    assert told(tmp_path, stored(version, *rows)) == Told(version, newer, own=3, rows=(3, 0), surface=[0, 2])


def fork(version: int, *rows: Any, **more: Any) -> dict[str, bytes]:
    seeded = {"isSeeded": True} if version > 1 else {}
    return stored(version, *rows, head=header(version, "s", parentSession="p", **{**seeded, **more}))


_SUB = {"origin": "subagent", "delegationDepth": 1}
_PARENTS = [prompt(0, "a"), row(1, "turn/end", END), row(2, "session/title", {"title": "t", "messageSeqs": []})]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("head", "lineage", "cut", "findings"),
    [
        ({"seedLength": 3}, "fork", 3, []),
        ({"seedLength": 0}, "fork", None, []),
        ({"seedLength": 2, **_SUB}, "subagent-forked", 2, []),
        (_SUB, "subagent-fresh", None, []),
        ({"seedLength": 30}, "fork", 30, ["seed-cut-missing"]),
    ],
)
def test_the_cut_of_old_generations_is_what_the_header_says(
    tmp_path: Path, version: int, head: dict[str, Any], lineage: str, cut: int | None, findings: list[str]
) -> None:
    rows = [*_PARENTS, seed(3, tagged=False), prompt(4, "own")]
    seen = told(tmp_path, fork(version, *rows, **head))
    taken = min(cut or 0, 5)
    assert seen == Told(version, findings, lineage, cut, 5 - taken, taken, (5, 0), [0, 4])


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize(
    ("rows", "head", "lineage", "cut", "sound"),
    [
        ([prompt(0, "a"), seed(1), prompt(2, "b"), seed(3), seed(4, tagged=False)], {}, "fork", 3, True),
        ([prompt(0, "a"), seed(1), prompt(2, "b")], _SUB, "subagent-forked", 1, True),
        ([seed(0), prompt(1, "a")], {}, "fork", None, True),
        ([prompt(0, "a"), seed(1, tagged=False)], {}, "fork", None, False),
        ([prompt(0, "a"), prompt(1, "b")], {"isSeeded": False, **_SUB}, "subagent-fresh", None, True),
    ],
)
def test_the_cut_of_new_generations_is_the_last_tagged_marker(
    tmp_path: Path, version: int, rows: list[Any], head: dict[str, Any], lineage: str, cut: int | None, sound: bool
) -> None:
    seen = told(tmp_path, fork(version, *rows, **head))
    assert (seen.lineage, seen.cut, seen.own, seen.inherited) == (lineage, cut, len(rows) - (cut or 0), cut or 0)
    assert ("seed-cut-missing" not in seen.findings) == sound


_LANES = [*(prompt(seq, f"a{seq}") for seq in range(5)), *(prompt(seq, f"b{seq}") for seq in range(3, 8))]


@pytest.mark.parametrize("version", [0, 2, 4])
@pytest.mark.parametrize(
    ("rows", "finding", "counts"),
    [
        ([*SOUND, row(5), row(6, "turn/end", END)], "sequence-gap", (2, 2)),
        ([*SOUND, row(5)], "sequence-gap", (2, 1)),
        ([prompt(0, "a"), prompt(0, "b"), prompt(1, "c")], "overlapping-writers", (1, 2)),
        ([*_LANES, row(8, "turn/end", END)], "overlapping-writers", (5, 6)),
        ([prompt(0, "a"), b'{"type":"x","seq":1,\n', prompt(2, "b"), row(3, "turn/end", END)], "corrupt", (1, 3)),
    ],
)
def test_rows_behind_a_defect_are_counted_as_withheld(
    tmp_path: Path, version: int, rows: list[Any], finding: str, counts: tuple[int, int]
) -> None:
    seen = told(tmp_path, stored(version, *rows))
    assert (seen.findings, seen.rows, seen.own) == ([finding], counts, counts[0])


@pytest.mark.parametrize(
    ("version", "texts", "counts", "events"),
    [(0, ["a", "b", "c"], (3, 0), 5), (1, ["a"], (3, 0), 3), (2, ["a", "b"], (1, 2), 1), (4, ["a"], (1, 2), 1)],
)
def test_packed_rows_belong_to_the_old_generations(
    tmp_path: Path, version: int, texts: list[str], counts: tuple[int, int], events: int
) -> None:
    rows = [prompt(0, "a"), packed(1, texts), row(1 + len(texts), "turn/end", END)]
    seen = told(tmp_path, stored(version, *rows))
    assert (seen.rows, seen.own, seen.findings) == (counts, events, [] if version < 2 else ["corrupt"])


_HEAD = frame(header(0, "s"))


@pytest.mark.parametrize(
    ("content", "findings", "counts"),
    [
        (_HEAD + frame(*SOUND) + frame(prompt(2, "c"))[:-4], ["torn-tail"], (3, 0)),
        (_HEAD + frame(prompt(0, "a")) + frame(prompt(1, "b"))[:-1] + b"\0" + frame(SOUND[1]), ["corrupt"], (1, 1)),
        (frame(header(0, "s"), *SOUND), ["header-frame"], (2, 0)),
        (_HEAD + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + frame(*SOUND), ["foreign-frame"], (2, 0)),
        (text_of([header(0, "s"), *SOUND]), ["name-header-mismatch"], (2, 0)),
        (_HEAD, [], (0, 0)),
    ],
)
def test_odd_bytes_are_told_apart(tmp_path: Path, content: bytes, findings: list[str], counts: tuple[int, int]) -> None:
    seen = told(tmp_path, {PLACE + "session.jsonl.zstd": content})
    assert (seen.findings, seen.rows) == (findings, counts)


@pytest.mark.parametrize(
    ("head", "findings"),
    [
        (header(0, "s", extra=1), ["header-keys"]),
        ({key: value for key, value in header(0, "s").items() if key != "delegationDepth"}, ["header-keys"]),
        (header(0, "s", isSeeded=False), ["header-keys"]),
        ({key: value for key, value in header(3, "s").items() if key != "isSeeded"}, ["header-keys"]),
        (header(0, "s", sandboxMode="x"), ["header-keys"]),
        (header(4, "s", owner="x"), ["header-keys"]),
        (header(5, "s", origin="automation", ownerUserId="u"), ["unsupported-version"]),
        (header(2, "s", agentPreset="code"), []),
        (header(3, "s", agentPreset="ptc"), []),
    ],
)
def test_headers_with_keys_more_or_less_are_read(tmp_path: Path, head: dict[str, Any], findings: list[str]) -> None:
    seen = told(tmp_path, stored(head["version"], *SOUND, head=head))
    assert (seen.generation, seen.findings, seen.rows) == (head["version"], findings, (2, 0))


STRAYS = {PLACE + "session.jsonl.zstd.0123456789ab.tmp": b"x", PLACE + "session.v03.jsonl": b"x"}
LATER = {**prompt(2, "later"), "time": 99_999}


@pytest.mark.parametrize(
    ("files", "generation", "findings"),
    [
        ({**stored(0, *SOUND, LATER), **stored(3, *SOUND)}, 0, ["generation-divergence"]),
        ({**stored(0, *SOUND), **stored(3, *SOUND, LATER)}, 3, []),
        ({**stored(9, *SOUND, LATER), **stored(2, *SOUND)}, 2, ["unsupported-version"]),
        ({**stored(6, *SOUND), **stored(9, *SOUND)}, 9, ["unsupported-version"]),
        ({PLACE + "session.v3.jsonl.zstd": frames([header(0, "s"), *SOUND])}, 0, ["name-header-mismatch"]),
        ({"--other--/s/session.jsonl.zstd": frames([header(0, "s"), *SOUND])}, 0, ["path-mismatch"]),
        ({**stored(0, *SOUND), PLACE + "session.jsonl": text_of([header(0, "s"), *SOUND])}, 0, ["twin-encoding"]),
        ({**stored(0, *SOUND), **STRAYS}, 0, []),
    ],
)  # fmt: skip
def test_which_file_of_a_folder_answers(
    tmp_path: Path, files: dict[str, bytes], generation: int, findings: list[str]
) -> None:
    seen = told(tmp_path, files)
    assert (seen.generation, seen.findings) == (generation, findings)
