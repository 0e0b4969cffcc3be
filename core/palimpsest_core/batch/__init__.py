"""The conformance protocol: one JSON job in, one result for each of its requests out.

A job is `{"root": ..., "index_path": ..., "config": {...}, "requests": [{"id", "op", "args", "cancel"?}, ...]}`.
Requests run in order in one engine; strict mode unless the config says otherwise. Names and shapes are the contract's.
"""

from palimpsest_core.batch.job import JobError, job_problems, run_job
from palimpsest_core.batch.text import results_text

__all__ = ["JobError", "job_problems", "results_text", "run_job"]
