"""`python -m palimpsest_core.batch`: a job on stdin, the results on stdout."""

from __future__ import annotations

import json
import sys

from palimpsest_core.batch import JobError, results_text, run_job


def main() -> None:
    """Answer the job on stdin."""
    try:
        answers = run_job(json.loads(sys.stdin.buffer.read()))
    except JobError as error:
        sys.exit(str(error))
    sys.stdout.write(results_text(answers) + "\n")


if __name__ == "__main__":
    main()
