"""Every component class that is drawn with has a rule in a style sheet, and every rule is drawn with."""

from __future__ import annotations

import re

from house import TUI, sources


def test_what_is_drawn_with_has_a_rule_and_every_rule_is_drawn_with() -> None:
    drawn: set[str] = set()
    rules: set[str] = set()
    for path in sources(TUI):
        text = path.read_text()
        drawn |= set(re.findall(r'"([a-z]+--[a-z-]+)"', text))
        rules |= set(re.findall(r"\.([a-z]+--[a-z-]+) \{", text))
    for sheet in TUI.rglob("*.tcss"):
        rules |= set(re.findall(r"\.([a-z]+--[a-z-]+)", sheet.read_text()))
    assert drawn == rules
