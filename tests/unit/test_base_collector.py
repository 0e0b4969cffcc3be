"""The cycle collector rests during long reads, and only then."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from palimpsest_core.base import collector
from palimpsest_core.base.collector import collector_resting


@pytest.fixture(autouse=True)
def usual_collector() -> Iterator[None]:
    """The collector as a program starts with it."""
    enabled = gc.isenabled()
    gc.unfreeze()
    gc.enable()
    yield
    gc.unfreeze()
    if not enabled:
        gc.disable()


@collector_resting
def is_collecting() -> bool:
    return gc.isenabled()


def test_the_collector_rests_inside_and_goes_on_after() -> None:
    assert not is_collecting()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_it_goes_on_after_a_failure_too() -> None:
    with pytest.raises(ZeroDivisionError):
        collector_resting(lambda: 1 / 0)()
    assert gc.isenabled()


def knot(objects: int) -> None:
    """Garbage that counting references does not free, and so many objects made beside it."""
    circle: list[object] = []
    circle.append(circle)
    del circle
    list(map(list, [()] * objects))


def test_after_a_large_call_all_is_old_and_its_garbage_is_found_by_a_full_collection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "_spared", 0)
    kept: list[list[object]] = []

    @collector_resting
    def work() -> None:
        knot(0)
        kept.extend([] for _ in range(collector._MANY + 1))

    gc.collect()
    work()
    assert gc.collect(0) == 0
    assert gc.collect() == 1


def test_after_a_small_call_the_collector_finds_its_garbage_as_ever() -> None:
    gc.collect()
    collector_resting(knot)(0)
    assert gc.collect(0) == 1


def test_large_calls_again_and_again_do_not_keep_their_garbage_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_MANY", -1)
    monkeypatch.setattr(collector, "_spared", 0)
    gc.collect()
    for _ in range(collector._WALK_AFTER):
        collector_resting(knot)(0)
    assert gc.collect(0) == 0
    assert gc.collect() == collector._WALK_AFTER
    collector_resting(knot)(0)
    assert gc.collect(0) == 1


def test_a_collector_that_somebody_switched_off_stays_off() -> None:
    gc.disable()
    assert not is_collecting()
    assert not gc.isenabled()


def test_what_somebody_set_aside_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_MANY", -1)
    monkeypatch.setattr(collector, "_spared", 0)
    gc.freeze()
    aside = gc.get_freeze_count()
    assert not is_collecting()
    assert gc.isenabled()
    assert gc.get_freeze_count() == aside


def test_with_several_threads_inside_the_last_one_out_lets_it_go_on() -> None:
    inside, leave = threading.Event(), threading.Event()

    @collector_resting
    def wait() -> None:
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=wait)
    thread.start()
    assert inside.wait(10)
    assert not is_collecting()
    assert not gc.isenabled()
    leave.set()
    thread.join(10)
    assert gc.isenabled()
