"""Headers: what is read of odd ones, and what is said about them."""

from __future__ import annotations

from typing import Any

import pytest
from logmaking import header, line

from palimpsest_core.formats.header import HeaderPeek, is_absolute, parse_header
from palimpsest_core.model.finding import FindingCode


def parsed(raw: dict[str, Any] | bytes, named: int = 0) -> HeaderPeek:
    return parse_header(line(raw), "p", named)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_a_sound_header_of_each_generation_has_nothing_to_say(version: int) -> None:
    more = {"parentSession": "x", "origin": "subagent", "agentPreset": "code"}
    peek = parsed(header(version, **more, **({"seedLength": 0} if version < 2 else {"isSeeded": True})))
    assert peek.findings == []
    assert peek.header is not None
    assert (peek.header.version, peek.header.parent_session, peek.header.seeded) == (version, "x", True)


@pytest.mark.parametrize(
    ("change", "detail", "word"),
    [
        ({"createdAt": None}, "header-created", "createdAt"),
        ({"createdAt": 1.5}, "header-created", "createdAt"),
        ({"createdAt": -0.0}, "header-created", "createdAt"),
        ({"createdAt": 2**60}, "header-created", "createdAt"),
        ({"delegationDepth": -1}, "header-depth", "delegationDepth"),
        ({"cwd": ""}, "header-cwd", "cwd"),
        ({"cwd": 5}, "header-cwd", "cwd"),
        ({"cwd": "a/b"}, "header-cwd-relative", "cwd"),
        ({"parentSession": None}, "header-parent", "parentSession"),
        ({"seedLength": "1"}, "header-seed", "seedLength"),
        ({"origin": None}, "header-origin", "origin"),
        ({"origin": "robot"}, "header-origin", "origin"),
        ({"agentPreset": 1}, "header-preset", "agentPreset"),
        ({"sandboxMode": "x"}, "header-retired", "sandboxMode"),
        ({"archived": True}, "header-unknown-key", "archived"),
        ({"version": "0"}, "header-version", "version"),
        ({"version": True}, "header-version", "version"),
    ],
)
def test_an_odd_key_is_named_and_the_rest_is_read(change: dict[str, Any], detail: str, word: str) -> None:
    peek = parsed({**header(), **change})
    assert [finding.detail for finding in peek.findings] == [detail]
    assert word in peek.findings[0].message
    assert peek.header is not None
    assert peek.header.id == "sess"


def test_a_missing_key_is_assumed_and_the_events_called_sound() -> None:
    raw = header()
    del raw["delegationDepth"]
    peek = parsed(raw)
    assert peek.header is not None
    assert peek.header.delegation_depth == 0
    assert [(f.code, f.detail) for f in peek.findings] == [(FindingCode.HEADER_KEYS, "header-depth")]
    assert "sound" in peek.findings[0].message


def test_whole_floats_are_integers_in_a_header() -> None:
    peek = parsed(
        line(header()).replace(b'"createdAt":5', b'"createdAt":5.0').replace(b'"version":0', b'"version":0.0')
    )
    assert peek.findings == []
    assert peek.header is not None
    assert peek.header.created_at == 5


def test_a_key_of_another_generation_is_unknown_here() -> None:
    assert [f.detail for f in parsed(header(3, seedLength=1)).findings] == ["header-unknown-key"]
    assert [f.detail for f in parsed(header(0, isSeeded=True)).findings] == ["header-unknown-key"]


def test_a_newer_version_is_named_and_its_own_keys_are_nobodys_business() -> None:
    peek = parsed(header(7, ownerUserId="u", origin="automation"))
    assert [f.code for f in peek.findings] == [FindingCode.UNSUPPORTED_VERSION]
    assert "7" in peek.findings[0].message
    assert peek.header is not None
    assert peek.header.origin == "automation"


@pytest.mark.parametrize(
    ("cwd", "absolute"),
    [("/x", True), ("C:\\x", True), ("c:/x", True), ("\\\\host\\x", True), ("x", False), ("C:x", False)],
)
def test_absolute_is_judged_for_any_machine(cwd: str, absolute: bool) -> None:
    assert is_absolute(cwd) is absolute
