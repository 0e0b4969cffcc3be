"""`palimpsest batch`: one JSON job on stdin, one JSON list of results on stdout (the conformance protocol)."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.output import write_bytes


def read_job(data: bytes) -> dict[str, Any]:
    """The job as given; anything that is no job is a usage error, each fault a sentence."""
    from palimpsest_core.batch import job_problems

    try:
        job = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Failure(Exit.USAGE, f"stdin holds no JSON job: {error}") from error
    problems = job_problems(job)
    if problems:
        raise Failure(Exit.USAGE, " ".join(problems))
    return dict(job)


@click.command("batch")
def command() -> int:
    """Answer a JSON job from stdin: the conformance protocol.

    The job names its own root, index_path, config and requests; the answer is a JSON list with one result for each
    request, in order. tests/conformance/README.md describes it.
    """
    from palimpsest_core.batch import results_text, run_job

    job = read_job(sys.stdin.buffer.read())
    write_bytes(results_text(run_job(job)).encode("ascii") + b"\n")
    return Exit.FINE
