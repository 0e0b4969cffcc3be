"""Writes the demo corpus: the told sessions, a damaged log, logs of newer generations, and one that grows."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from palimpsest_core.writer.demo import ledgerline, newer, others, review, tidepool
from palimpsest_core.writer.demo.growing import LiveWork, Stop
from palimpsest_core.writer.demo.images import draw_png, store_image
from palimpsest_core.writer.demo.large import typing_campaign
from palimpsest_core.writer.demo.script import Script
from palimpsest_core.writer.store import JsonlStore

_HOUR = 3_600_000
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class DemoCorpus:
    """What was written. `root` is the session root; `growing_id` the session that `grow` continues.

    `now` is the corpus's present in epoch milliseconds.
    """

    root: Path
    now: int
    ids: tuple[str, ...]
    growing_id: str
    damaged_id: str
    interrupted_id: str
    large_id: str


def write_demo(root: Path, *, now: int | None = None) -> DemoCorpus:
    """Write the corpus below `root` (created; it should be empty) and the attachment store beside it.

    `now` (epoch ms, default the clock) dates it: the newest session is minutes old, the oldest three weeks. The same
    `now` gives the same logs byte for byte. Raises `WriteRefused(ID_TAKEN)` when a session is there already.
    """
    present = int(time.time() * 1000) if now is None else now
    root = Path(root)
    root.mkdir(parents=True, exist_ok=True)
    image = store_image(root.parent / "attachments", draw_png(), "flamegraph.png")
    damaged = tidepool.release_day(present - 9 * _DAY)
    interrupted = tidepool.interrupted_import(present - 3 * _HOUR)
    large = typing_campaign(present - 16 * _DAY)
    scripts: list[Script] = [
        ledgerline.flaky_refund(present - 2 * _DAY - 5 * _HOUR),
        *review.money_rounding(present - 1 * _DAY - 3 * _HOUR),
        ledgerline.migration_stuck(present - 6 * _DAY),
        *ledgerline.quick_questions(present - 9 * _HOUR),
        tidepool.compaction_race(present - 8 * _DAY),
        tidepool.flame_graph(present - 7 * _DAY - 4 * _HOUR, image),
        *tidepool.aborted_and_failed(present - 12 * _DAY),
        *damaged,
        interrupted,
        *others.atlas(present - 14 * _DAY),
        *others.kestrel(present - 19 * _DAY),
        *others.notes(present - 21 * _DAY),
        *others.loose(present - 5 * _HOUR),
        others.hostile(present - 4 * _HOUR),
        large,
    ]
    store = JsonlStore(root)
    for script in scripts:
        _write(store, script)
    _damage(store.locate(damaged[-1].header))
    ids = [script.id for script in scripts] + newer.write_newer(root, present - 4 * _DAY)
    work = LiveWork(store, present - 600_000)
    work.begin()
    ids.append(work.script.id)
    return DemoCorpus(root, present, tuple(ids), work.script.id, damaged[-1].id, interrupted.id, large.id)


def grow(demo: DemoCorpus, stop: Stop, *, pace: float = 1.0) -> int:
    """Go on with the growing session until `stop` (anything with `wait(seconds) -> bool`, as `threading.Event`) is set.

    One durable append about every `pace` seconds, with the clock's times: a turn streams in, tools run, and once in
    a while a compaction shadows what came before. Returns the number of appends.
    """
    store = JsonlStore(demo.root)
    work = LiveWork(store, demo.now - 600_000)
    work.resume()
    return work.run(stop, pace)


def _write(store: JsonlStore, script: Script) -> None:
    """One session, in few durable batches: each costs a sync, and a person waits for the demo to open."""
    script.flush()
    store.create(script.header)
    batches = script.batches
    first = batches[0]
    rest = [row for batch in batches[1:] for row in batch]
    store.append(script.id, first)
    middle = len(rest) // 2
    for part in (rest[:middle], rest[middle:]):
        store.append(script.id, part)
    stamp = script.time / 1000
    os.utime(store.locate(script.header), (stamp, stamp))


def _damage(path: Path) -> None:
    """Flip a byte in the last frame, as a failing disk does: the readable prefix stays, the rest is lost."""
    content = bytearray(path.read_bytes())
    content[-40] ^= 0xFF
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
