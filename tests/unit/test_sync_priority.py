"""Little work is done at almost normal priority, much work at the lowest, by a thread of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from logmaking import header, prompt, row, text_of, write

from palimpsest_core.sync.priority import MILD, NICENESS, SMALL_BYTES

_ROUNDS = """
import os, threading
from palimpsest_core.sync.priority import Priority
priority = Priority()
def nice():
    return os.getpriority(os.PRIO_PROCESS, 0)
def work():
    for pending in (0, {small}, {small} + 1, 0):
        priority.fit(pending)
        seen.append(nice())
seen = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(*seen, nice())
"""

_INDEXER = """
import json, os, sys, threading
from palimpsest_core import CancelToken
from palimpsest_core.model.config import Config
from palimpsest_core.sync import priority
from palimpsest_core.sync.indexer import Indexer
priority.SMALL_BYTES = int(sys.argv[3])
cancel = CancelToken()
def tell(report):
    print(json.dumps([report.event, os.getpriority(os.PRIO_PROCESS, 0)]), flush=True)
def listen():
    sys.stdin.read()
    cancel.set()
threading.Thread(target=listen, daemon=True).start()
Indexer(sys.argv[1], sys.argv[2], Config(), tell, priority=priority.Priority()).run(cancel, follow=True)
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="threads have no niceness of their own")


def least() -> int:
    return max(MILD, os.getpriority(os.PRIO_PROCESS, 0))


@linux
def test_a_thread_with_much_to_do_goes_down_and_stays_there_but_nobody_else() -> None:
    program = _ROUNDS.format(small=SMALL_BYTES)
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert [int(one) for one in seen] == [least(), least(), NICENESS, NICENESS, least()]


@linux
def test_after_much_work_a_log_that_grows_is_answered_at_almost_normal_priority(tmp_path: Path) -> None:
    rows = [header(0, "x"), prompt(0, "hello " * 200), row(1, "turn/end")]
    write(tmp_path / "root", text_of(rows), session_id="x", plain=True)
    command = [sys.executable, "-c", _INDEXER, str(tmp_path / "root"), str(tmp_path / "index.sqlite"), "1000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        told = map(json.loads, process.stdout)
        at = {}
        for event, niceness in told:
            at.setdefault(event, niceness)
            if event == "current":
                break
        write(tmp_path / "root", text_of([*rows, prompt(2, "more")]), session_id="x", plain=True)
        grown = next(niceness for event, niceness in told if event == "refreshed")
        process.stdin.close()
        process.wait(60)
    assert (at["refreshed"], at["current"], grown) == (NICENESS, least(), least())
