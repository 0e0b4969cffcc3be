"""A typed path never fails, whatever is half typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_core.base.paths import typed_path


def test_a_home_that_is_known_is_filled_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert typed_path("~/a.zip") == tmp_path / "a.zip"


@pytest.mark.parametrize("text", ["~nobody-of-this-name/a.zip", "~K/s", "", "~~", "a/~/b"])
def test_what_cannot_be_filled_in_stays(text: str) -> None:
    assert typed_path(text) == Path(text)
