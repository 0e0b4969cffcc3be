"""Logs of every format generation: what a tolerant reader must find in each, asked through the batch protocol."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agreement import HERE, script

AGREED: dict[str, Any] = json.loads((HERE / "agreed.json").read_text("utf-8"))["generations"]
CORPUS = HERE / "generations"


def run_in_process(_command: Any, root: str, index: str, config: Any, requests: Any) -> dict[str, Any]:
    """What the checking script's own `run` does, without a process."""
    from palimpsest_core.batch import run_job

    job = {"root": root, "index_path": index, "config": config, "requests": requests}
    return {item["id"]: item for item in json.loads(json.dumps(run_job(job)))}


def test_every_fact_about_every_generation_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    check = script(CORPUS / "check.py")
    monkeypatch.setattr(check, "run", run_in_process)
    expected = json.loads((CORPUS / "expected.json").read_text("utf-8"))
    with tarfile.open(CORPUS / expected["archive"]) as archive:
        archive.extractall(tmp_path / "roots", filter="data")
    options = SimpleNamespace(skip=[], max_diffs=20, config='{"mode": "tolerant"}', command=[])
    report = check.Report(options)
    for root in expected["roots"]:
        folder = tmp_path / "run" / root["name"]
        shutil.copytree(tmp_path / "roots" / root["name"], folder)
        check.check_root(report, root, str(folder), options, str(tmp_path))
    found = sum(count for (_, ok), count in report.counts.items() if ok)
    missed = sum(count for (_, ok), count in report.counts.items() if not ok)
    record_property("conformance", f"generations: {found} of {found + missed} facts agree")
    shown = capsys.readouterr().out
    assert found + missed == AGREED["asked"]
    assert found >= AGREED["agreed"], f"fewer facts agree than before:\n{shown}"
    assert found == AGREED["agreed"], f"more facts agree than before, write the new number down:\n{shown}"
