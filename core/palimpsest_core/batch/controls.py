"""The protocol's control operations: they change the world between requests."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palimpsest_core.batch.world import Refused, World

Args = dict[str, Any]


def _overlay(world: World, args: Args) -> None:
    source = Path(args["from"])
    for folder, _, names in os.walk(source):
        target = world.root / Path(folder).relative_to(source)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            # Not copy2: a replaced file must look changed.
            shutil.copyfile(Path(folder, name), target / name)


def _remove(world: World, args: Args) -> None:
    place = world.inside(args.get("path"))
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def _touch(world: World, args: Args) -> None:
    place = world.inside(args.get("path"))
    now = place.stat()
    os.utime(place, ns=(now.st_atime_ns, now.st_mtime_ns + 1_000_000_000))


def _reopen(world: World, args: Args) -> None:
    world.reopen(args.get("config") or {})


def _mount(world: World, args: Args) -> None:
    world.mount()


def _unmount(world: World, args: Args) -> None:
    world.unmount()


def _caller(world: World, args: Args) -> None:
    session_id = args.get("sessionId")
    world.engine().header_of(session_id)
    world.caller = session_id


_HEADER_KEYS = ("cwd", "parentSession", "createdAt", "seedLength", "delegationDepth", "agentPreset", "origin")
"""What the protocol lets a header hold. Other keys are passed over; the live store itself would refuse them."""


def _live_create(world: World, args: Args) -> None:
    seed = spelled(args["seed"]) if "seed" in args else None
    if "seed" in args and not isinstance(seed, list):
        raise Refused("The seed must be a list of events.")
    given = args.get("header")
    header = {key: given[key] for key in _HEADER_KEYS if key in given} if isinstance(given, dict) else {}
    if header.get("createdAt", 0) is None:
        del header["createdAt"]
    world.live().create(args["id"], header, seed=seed, now=args.get("now"))


def _live_fork(world: World, args: Args) -> None:
    if args.get("boundary", 0) is None:
        raise Refused("The boundary must be an event number, or absent.")
    world.live().fork(args["from"], args["id"], boundary=args.get("boundary"), now=args.get("now"))


def _live_resume(world: World, args: Args) -> None:
    world.live().resume(args["id"], now=args.get("now"))


def _live_append(world: World, args: Args) -> None:
    now, tick = args.get("now"), args.get("tick", 0)
    for place, event in enumerate(args["events"]):
        marks = {name: spelled(event[key]) for key, name in _MARKS.items() if key in event}
        time = None if now is None else now + place * tick
        if "data" not in event:
            raise Refused(f"The event {place} of the call has no data.")
        world.live().append(args["id"], event.get("type"), spelled(event.get("data")), now=time, **marks)


_MARKS = {"surfaceOp": "surface_op", "sourceEventSeqs": "source_event_seqs"}


def _live_flush(world: World, args: Args) -> None:
    world.live().flush(args["id"])


def _live_dispose(world: World, args: Args) -> None:
    world.live().dispose(args["id"])


def _cycle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


_UNSPELLABLE: dict[str, Callable[[], Any]] = {
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "negativeZero": lambda: -0.0,
    "cycle": _cycle,
    "object": object,
}


def spelled(value: Any) -> Any:
    """A copy of `value` with each `{"$value": NAME}` replaced by the thing that JSON cannot spell."""
    if isinstance(value, list):
        return [spelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$value" in value:
        made = _UNSPELLABLE.get(value["$value"])
        if made is None:
            raise Refused(f"There is no value called {value['$value']}.")
        return made()
    return {key: spelled(item) for key, item in value.items()}


CONTROLS: dict[str, Callable[[World, Args], None]] = {
    "$overlay": _overlay,
    "$remove": _remove,
    "$touch": _touch,
    "$reopen": _reopen,
    "$mount": _mount,
    "$unmount": _unmount,
    "$caller": _caller,
    "$liveCreate": _live_create,
    "$liveFork": _live_fork,
    "$liveResume": _live_resume,
    "$liveAppend": _live_append,
    "$liveFlush": _live_flush,
    "$liveDispose": _live_dispose,
}
