"""`python -m palimpsest_core.batch`: a job on stdin, the results on stdout."""

from __future__ import annotations

import json
import sys

from palimpsest_core.batch import results_text, run_job


def main() -> None:
    """Answer the job on stdin."""
    sys.stdout.write(results_text(run_job(json.loads(sys.stdin.buffer.read()))) + "\n")


if __name__ == "__main__":
    main()
