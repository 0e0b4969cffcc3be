"""Little work is done at almost normal priority, much work at the lowest."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from palimpsest_core.sync.priority import MILD, NICENESS, SMALL_BYTES

_PROGRAM = """
import os, threading
from palimpsest_core.sync.priority import Priority
priority = Priority()
seen = []
for pending in (0, {small}, {small} + 1, 0):
    priority.fit(pending)
    seen.append(os.getpriority(os.PRIO_PROCESS, 0))
inside = []
thread = threading.Thread(target=lambda: inside.append(os.getpriority(os.PRIO_PROCESS, 0)))
thread.start()
thread.join()
print(*seen, *inside)
"""


@pytest.mark.skipif(not hasattr(os, "setpriority"), reason="this system has no niceness")
def test_the_niceness_follows_what_is_pending_and_never_goes_back() -> None:
    program = _PROGRAM.format(small=SMALL_BYTES)
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    least = max(MILD, os.getpriority(os.PRIO_PROCESS, 0))
    assert [int(one) for one in seen] == [least, least, NICENESS, NICENESS, NICENESS]
