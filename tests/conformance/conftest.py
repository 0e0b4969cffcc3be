"""Prints, after the tests, how much of each recorded corpus agrees."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line per corpus that ran, passed or not."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, text in getattr(report, "user_properties", ()):
                if name == "conformance":
                    terminalreporter.write_line(f"conformance {text}")
