"""Its place lets every test import the helpers that lie beside it; it tells how much of each recorded corpus agrees.

The telling stands here and not beside the corpora: only this file is read by the process that writes the summary when
the tests are spread over several.
"""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line per corpus that ran, passed or not."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, text in getattr(report, "user_properties", ()):
                if name == "conformance":
                    terminalreporter.write_line(f"conformance {text}")
