"""How soon every call of the engine stops when its token is set. A script, no test: such numbers are no facts.

    PYTHONPATH=core:tests python tests/benchmarks/measure_cancelling.py [FOLDER] [CALL ...]

FOLDER keeps the corpus for the next run (by default it is made anew, half a minute). Each call is run to its end, then
several times with a token that another thread sets somewhere on the way. Told are the whole run and the most processor
time that passed from setting the token to `ABORTED`: on a busy machine the clock tells of others.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from logmaking import frame, header, packed, prompt, row, write

from palimpsest_core import Engine
from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.export.transcript import Form

TRIES = 6
SOON = 0.06
"""Seconds of processor time within which a call should have stopped."""
LONG = 400_000
SMALL = 4_000
WORDS = ["amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "kiosk", "ledge"]


def make(root: Path) -> None:
    """Two long logs (one of many small frames, one of a single huge frame) and thousands of small ones."""
    random = Random(5)

    def text(count: int) -> str:
        return " ".join(random.choices(WORDS, k=count))

    def rows(count: int, *, chunks: bool) -> list[Any]:
        made: list[Any] = []
        seq = 0
        while seq < count:
            made.append(prompt(seq, text(40)))
            seq += 1
            if chunks:
                made.append(packed(seq, [text(3) for _ in range(20)]))
                seq += 20
            message = {"role": "assistant", "content": [{"type": "text", "text": text(60)}]}
            data = {"turn": 1, "step": 1, "message": message}
            made.append(row(seq, "assistant/message", data, surfaceOp="append", sourceEventSeqs=[seq - 1]))
            seq += 1
        return made

    many = rows(LONG, chunks=True)
    live = b"".join(frame(*many[at : at + 5]) for at in range(0, len(many), 5))
    write(root, frame(header(session_id="many-frames")) + live, session_id="many-frames")
    one = rows(LONG // 4, chunks=False)
    write(root, frame(header(3, "one-frame")) + frame(*one), session_id="one-frame", version=3)
    for number in range(SMALL):
        name = f"small-{number}"
        parent = {"parentSession": f"small-{number - 1}", "seedLength": 1} if number % 4 else {}
        write(root, frame(header(session_id=name, **parent)) + frame(*rows(4, chunks=False)), session_id=name)


def calls(root: Path, out: Path) -> dict[str, Callable[[CancelToken | None], Any]]:
    """Every call that may take long, by a name."""
    engine = Engine(root, index=out / "full.sqlite")
    engine.refresh()
    number = [0]

    def fresh(token: CancelToken | None) -> None:
        number[0] += 1
        with Engine(root, index=out / f"fresh-{number[0]}.sqlite") as other:
            other.refresh(token)

    def first_list(token: CancelToken | None) -> None:
        with Engine(root, index=":memory:") as other:
            other.list_sessions(token)

    def first_sessions(token: CancelToken | None) -> None:
        with Engine(root, index=":memory:") as other:
            other.sessions(token)

    def first_search(token: CancelToken | None) -> None:
        with Engine(root, index=":memory:") as other:
            other.search_sessions("amber", cancel=token)

    def load(name: str) -> Callable[[CancelToken | None], None]:
        def run(token: CancelToken | None) -> None:
            with engine.open_log(name).closing() as log:
                log.load(token)

        return run

    def planned(token: CancelToken | None) -> None:
        engine.export(engine.plan_export("many-frames", cancel=token), out / f"{time.monotonic_ns()}.zip", cancel=token)

    found: dict[str, Callable[[CancelToken | None], Any]] = {
        "refresh-all": fresh,
        "list-first": first_list,
        "sessions-first": first_sessions,
        "list": engine.list_sessions,
        "sessions": engine.sessions,
        "filter-sessions": lambda token: engine.filter_sessions([{"kind": "id", "values": ["small-1"]}], token),
        "trace": lambda token: engine.trace_session("small-0", token),
        "lineage": lambda token: engine.lineage("small-0", token),
        "resolve": lambda token: engine.resolve_id("small-77", token),
        "health": engine.health,
        "titles": lambda token: engine.read_title_snapshots(["many-frames", "one-frame", "small-1"], token),
        "search-first": first_search,
        "search": lambda token: engine.search_sessions("amber basin", cancel=token),
        "search-common": lambda token: engine.search_sessions("amber", cancel=token),
        "search-events": lambda token: engine.search_events("many-frames", "amber", cancel=token),
        "scan": lambda token: list(engine.scan_text("amber basin cedar", cancel=token)),
    }
    for name in ("many-frames", "one-frame"):
        found |= {
            f"load {name}": load(name),
            f"read-session {name}": lambda token, name=name: engine.read_session(name, token),
            f"list-events {name}": lambda token, name=name: engine.list_events(name, token),
            f"filter-events {name}": lambda token, name=name: engine.filter_events(
                name, [{"kind": "text", "text": "amber basin"}], token
            ),
            f"surface {name}": lambda token, name=name: engine.read_surface(name, token),
            f"event {name}": lambda token, name=name: engine.read_event(name, 5, 2, 2, token),
            f"trace-event {name}": lambda token, name=name: engine.trace_event(name, 5, token),
            f"title {name}": lambda token, name=name: engine.read_title(name, token),
            f"row-counts {name}": lambda token, name=name: engine.row_counts(engine.logs_of(name)[0].path, token),
            f"plan {name}": lambda token, name=name: engine.plan_export(name, cancel=token),
            f"rescue {name}": lambda token, name=name: engine.rescue(name, out / "rescued", cancel=token),
        }
        for form in Form:
            found[f"transcript-{form.value} {name}"] = lambda token, name=name, form=form: engine.transcript(
                name, out / f"{time.monotonic_ns()}.txt", form, everything=True, cancel=token
            )
    found["export many-frames"] = planned
    return found


class Measured(NamedTuple):
    """Processor seconds of a whole call, the most from setting a token to its end, how often it was stopped, and where
    it was when it did not stop within `SOON`."""

    whole: float
    worst: float
    stopped: int
    late_at: set[str]


class Run(threading.Thread):
    """One call in a thread of its own."""

    def __init__(self, call: Callable[[CancelToken | None], Any]) -> None:
        super().__init__()
        self.token = CancelToken()
        self.aborted_at: float | None = None
        self._call = call

    def run(self) -> None:
        """Make the call and note how it ended."""
        try:
            self._call(self.token)
        except SessionQueryError as error:
            if error.code is ErrorCode.ABORTED:
                # Now, and not after the block: then all that was read so far is freed first.
                self.aborted_at = time.process_time()

    def places(self) -> list[str]:
        """Where in the engine it is now."""
        at = sys._current_frames().get(self.ident or 0)
        inner = [frame for frame, _ in traceback.walk_stack(at) if "palimpsest_core" in frame.f_code.co_filename]
        return [f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" for frame in inner[:3]]


def measure(call: Callable[[CancelToken | None], Any]) -> Measured:
    """Run a call to its end, then stop it at several places."""
    whole = min(timed(call), timed(call))
    worst, stopped = 0.0, 0
    late_at: set[str] = set()
    for place in range(TRIES):
        run = Run(call)
        started = time.process_time()
        run.start()
        while run.is_alive() and time.process_time() - started < whole * (place + 0.3) / TRIES:
            time.sleep(0.002)
        at = time.process_time()
        run.token.set()
        while run.is_alive():
            run.join(0.005)
            if time.process_time() - at > SOON and run.is_alive() and run.aborted_at is None:
                late_at.update(run.places())
                run.join()
        if run.aborted_at is not None:
            stopped += 1
            worst = max(worst, run.aborted_at - at)
    return Measured(whole, worst, stopped, late_at)


def timed(call: Callable[[CancelToken | None], Any]) -> float:
    """Processor seconds that a call takes when nobody stops it."""
    started = time.process_time()
    call(None)
    return time.process_time() - started


def main(folder: Path, only: list[str]) -> None:
    root = folder / "sessions"
    if not root.exists():
        make(root)
    with tempfile.TemporaryDirectory(dir=folder) as out:
        for name, call in calls(root, Path(out)).items():
            if not only or any(part in name for part in only):
                found = measure(call)
                print(
                    f"{name:32} whole {found.whole * 1000:7.0f} ms   stops in {found.worst * 1000:5.0f} ms   "
                    f"{found.stopped} of {TRIES}   {' '.join(sorted(found.late_at))}"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch), [])
