"""A process that reads logs for the one that writes the index, started when much is pending.

    python -m palimpsest_core.sync.extractor --root ROOT --config JSON

Messages on standard input are logs to read, those on standard output their pieces (`piecewire`), log by log in the same
order. It ends when standard input is closed or nobody reads any more, and is never less willing than its parent.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import signal
import sys

import msgspec

from palimpsest_core.log.text import registry_for
from palimpsest_core.model.config import parse_config
from palimpsest_core.sync.extract import End, Unreadable, extract
from palimpsest_core.sync.piecewire import receive, send, to_bytes


def main() -> int:
    """The process."""
    parser = argparse.ArgumentParser(prog="palimpsest-extractor")
    parser.add_argument("--root", required=True)
    parser.add_argument("--config", default="{}")
    given = parser.parse_args()
    config = parse_config(msgspec.json.decode(given.config))
    registry = registry_for(config.extractors)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    jobs, pieces = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(BrokenPipeError):
        while (job := receive(jobs)) is not None:
            _as_nice_as_the_parent()
            file, state = pickle.loads(job.data)
            for piece in extract(given.root, file, state, config=config, registry=registry):
                send(pieces, to_bytes(piece), last=isinstance(piece, (End, Unreadable)))
    os._exit(0)  # standard output may be closed already, which an orderly end would complain about


def _as_nice_as_the_parent() -> None:
    if hasattr(os, "getpriority"):
        with contextlib.suppress(OSError):
            wanted = os.getpriority(os.PRIO_PROCESS, os.getppid())
            if wanted > os.getpriority(os.PRIO_PROCESS, 0):
                os.setpriority(os.PRIO_PROCESS, 0, wanted)


if __name__ == "__main__":
    sys.exit(main())
