"""Hostile characters on their way to a screen."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_core.base.printable import escaped, printable

HOSTILE = "\x1b \x07 \x9b \u202e \u2066 \u200b \ud83d \U000e0041 \x7f"


def test_escapes_keep_json_what_it_is() -> None:
    stored = json.dumps({"a": HOSTILE + " é 你"}, ensure_ascii=False).replace("\\u001b", "\\u001B")
    shown = escaped(stored)
    assert json.loads(shown) == json.loads(stored)
    assert shown == printable(shown)
    assert "\\u202e" in shown
    assert "\\u001B" in shown
    assert "é 你" in shown


@given(st.text(st.characters()))
def test_nothing_hostile_is_left_and_nothing_else_is_touched(text: str) -> None:
    assert escaped(text) == printable(escaped(text)).replace("\r\n", "\n")
    if text == printable(text):
        assert escaped(text) == text
