"""One holder at a time, and a lock that dies with its process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from palimpsest_core.storage.locks import FileLock

HOLDER = """
import sys
from palimpsest_core.storage.locks import FileLock
lock = FileLock(sys.argv[1])
print("held" if lock.acquire() else "refused", flush=True)
sys.stdin.read()
"""


def test_a_held_lock_is_refused_and_free_again_after_release(tmp_path: Path) -> None:
    one, two = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert one.acquire()
    assert one.acquire()
    assert not two.acquire()
    one.release()
    one.release()
    with two as got:
        assert got
        assert two.held
    assert not two.held


def test_a_lock_is_free_when_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert not FileLock(path).acquire()
        holder.kill()
        holder.wait()
    assert FileLock(path).acquire()
