"""Strict reading of damaged logs gives the answers that were recorded from the reference engine."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from logmaking import CONFIG, frame, header, row, write

from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jsjson import NotPlainJson, js_json, plain_copy
from palimpsest_core.formats.reader import read_log
from palimpsest_core.formats.strict import (
    OUTCOMES,
    Outcome,
    envelope_refusal,
    outcome,
    physical_refusal,
    strict_catalog,
)
from palimpsest_core.log.repair import closers
from palimpsest_core.log.validate import validate_stored
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import event_json
from palimpsest_core.model.finding import Finding, FindingCode
from palimpsest_core.storage.layout import LogFile

DATA = Path(__file__).parents[1] / "data" / "damage" / "refusals.json.zst"
RECORDED: dict[str, Any] = json.loads(zstandard.ZstdDecompressor().decompress(DATA.read_bytes()))
CASES: list[dict[str, Any]] = RECORDED["cases"]
STRICT = Config(mode="strict")


def put(root: Path, session_id: str, compression: str, content: str) -> None:
    folder = root / "--d-work--" / session_id
    folder.mkdir(parents=True)
    name = "session.jsonl.zstd" if compression == "zstd" else "session.jsonl"
    (folder / name).write_bytes(base64.b64decode(content))


def answer(file: LogFile, config: Config) -> Any:
    """The events from 23 on of the whole session as it is read, or the code of the refusal."""
    log = read_log(file, config=config)
    assert log.header is not None
    refusal = physical_refusal(log.findings)
    if refusal is not None:
        return refusal.code.value
    fault = validate_stored(log.header.raw, log.events)
    if fault is not None:
        return fault.code.value
    refusal = envelope_refusal(log.findings)
    if refusal is not None:
        return refusal.code.value
    whole = [*log.events, *closers(log.events, 0)]
    try:
        plain_copy([event_json(event) for event in whole])
    except NotPlainJson:
        return ErrorCode.CORRUPT_SESSION.value
    return json.loads(js_json([event_json(event) for event in whole[23:]]))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_damaged_log_meets_the_recorded_fate(tmp_path: Path, case: dict[str, Any]) -> None:
    compression = case["compression"]
    put(tmp_path, "victim", compression, case["victim"])
    put(tmp_path, "healthy", compression, RECORDED["healthy"][compression])
    config = msgspec.structs.replace(STRICT, compression=compression)
    if isinstance(case["listed"], str):
        with pytest.raises(SessionQueryError) as caught:
            strict_catalog(tmp_path, config)
        assert caught.value.code.value == case["listed"]
        return
    catalog = strict_catalog(tmp_path, config)
    assert sorted(entry.id for entry in catalog.sessions) == case["listed"]
    victim = [entry for entry in catalog.sessions if entry.id == "victim"]
    read = case["read"]
    if not victim:
        assert read == {"error": "SESSION_QUERY_SESSION_NOT_FOUND"}
    elif isinstance(read, list):
        assert answer(victim[0].primary, config) == read
    else:
        found = answer(victim[0].primary, config)
        assert isinstance(found, str)
        assert read["error"] in (None, found)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_tolerant_reader_takes_every_one_of_them(tmp_path: Path, case: dict[str, Any]) -> None:
    put(tmp_path, "victim", case["compression"], case["victim"])
    name = "session.jsonl.zstd" if case["compression"] == "zstd" else "session.jsonl"
    log = read_log(LogFile.at(tmp_path / "--d-work--" / "victim" / name), config=CONFIG)
    assert [event.seq for event in log.events] == list(range(len(log.events)))
    assert all(finding.message.endswith(".") and finding.detail for finding in log.findings)


def test_strict_reading_sees_one_encoding_and_one_generation(tmp_path: Path) -> None:
    write(tmp_path, frame(header(3)) + frame(row(0)), version=3)
    assert strict_catalog(tmp_path, STRICT).sessions == []
    write(tmp_path, frame(header()))
    assert [entry.id for entry in strict_catalog(tmp_path, STRICT).sessions] == ["sess"]
    with pytest.raises(SessionQueryError):
        strict_catalog(tmp_path, msgspec.structs.replace(STRICT, compression="none"))


def test_one_log_in_the_wrong_place_fails_the_root(tmp_path: Path) -> None:
    file = write(tmp_path, frame(header()))
    flat = tmp_path / "--srv-a--" / "x.jsonl.zstd"
    flat.touch()
    with pytest.raises(SessionQueryError):
        strict_catalog(tmp_path, STRICT)
    flat.unlink()
    Path(file.path).parent.rename(tmp_path / "--srv-a--" / "renamed")
    with pytest.raises(SessionQueryError):
        strict_catalog(tmp_path, STRICT)


def test_a_defect_with_nothing_committed_behind_it_is_repaired() -> None:
    for detail in ("seq-gap", "bad-json"):
        assert outcome(Finding(FindingCode.CORRUPT, "x.", detail=detail)) == Outcome.UNREADABLE
        assert outcome(Finding(FindingCode.CORRUPT, "x.", detail=detail + ":tail")) == Outcome.REPAIRED
    assert set(OUTCOMES.values()) == set(Outcome)
