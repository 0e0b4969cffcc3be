"""The recorded answers of the reference engine, asked through the batch protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agreement import HERE, run_corpus

AGREED: dict[str, Any] = json.loads((HERE / "agreed.json").read_text("utf-8"))


def answer_job(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What `palimpsest batch` prints for a job, without starting a process for it."""
    from palimpsest_core.batch import run_job

    return run_job(job)


@pytest.mark.parametrize("name", ["basic", "search", "damaged", "lifetime", "live", "tools"])
def test_as_many_recorded_answers_agree_as_ever(name: str, tmp_path: Path, record_property: Any) -> None:
    tally = run_corpus(name, answer_job, tmp_path)
    record_property(
        "conformance",
        f"{name}: {tally.agreed} of {tally.asked} agree"
        + (f", {tally.excused} excused" if tally.excused else "")
        + (f", {len(tally.differences)} differ" if tally.differences else ""),
    )
    shown = "\n".join(tally.differences[:20])
    assert tally.asked == AGREED[name]["asked"]
    assert tally.agreed >= AGREED[name]["agreed"], f"fewer answers agree than before:\n{shown}"
    assert tally.agreed == AGREED[name]["agreed"], "more answers agree than before: write the new number down"


def test_the_comparing_script_accepts_the_program_as_a_command() -> None:
    command = [sys.executable, "-m", "palimpsest_tui.cli.main", "batch"]
    done = subprocess.run(
        [
            *(sys.executable, str(HERE / "compare.py"), "run", str(HERE / "lifetime")),
            *("--deviations", str(HERE / "deviations.json"), "--", *command),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    ok = AGREED["lifetime"]["agreed"]
    assert f"{ok} ok, {AGREED['lifetime']['asked'] - ok} failed, 0 unsupported" in done.stdout, (
        done.stdout + done.stderr
    )
