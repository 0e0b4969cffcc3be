"""The indexer waits when it is told to, and with much to do while the battery is being emptied."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from logmaking import frames, header, prompt, write

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.model.config import Config
from palimpsest_core.search.fts5.provider import Fts5Provider
from palimpsest_core.sync import pause
from palimpsest_core.sync.indexer import Indexer, Report
from palimpsest_core.sync.pause import AS_TOLD, ON_BATTERY, Pause
from palimpsest_core.sync.power import on_battery
from palimpsest_core.sync.priority import SMALL_BYTES

MUCH = SMALL_BYTES + 1
PATIENCE = 60.0


def supply(root: Path, name: str, **words: str) -> None:
    folder = root / name
    folder.mkdir(parents=True)
    for word, value in words.items():
        (folder / word).write_text(value + "\n")


@pytest.mark.parametrize(
    ("supplies", "drains"),
    [
        ({"BAT0": {"type": "Battery", "status": "Discharging"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Charging"}, "AC": {"type": "Mains", "online": "1"}}, False),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}, "AC": {"type": "Mains", "online": "0"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}, "C1": {"type": "USB", "online": "1"}}, False),
        ({"mouse": {"type": "Battery", "status": "Discharging", "scope": "Device"}}, False),
        ({"BAT0": {"type": "Battery", "status": "Full"}, "BAT1": {"type": "Battery", "status": "Discharging"}}, True),
        ({}, False),
    ],
)
def test_the_power_supplies_tell_whether_the_battery_is_emptied(
    tmp_path: Path, supplies: dict[str, dict[str, str]], drains: bool
) -> None:
    for name, words in supplies.items():
        supply(tmp_path, name, **words)
    assert on_battery(str(tmp_path)) is drains


def test_where_nothing_is_known_of_power_nothing_waits(tmp_path: Path) -> None:
    assert on_battery(str(tmp_path / "none")) is False


def test_little_work_goes_on_while_the_battery_is_emptied() -> None:
    held = Pause(lambda: True)
    assert held.reason(MUCH) == ON_BATTERY
    assert held.reason(SMALL_BYTES) == ""


def test_an_order_to_go_on_holds_on_battery_until_the_next_order_to_pause() -> None:
    held = Pause(lambda: True)
    held.set(False)
    assert held.reason(MUCH) == ""
    held.set(True)
    assert held.reason() == AS_TOLD


def test_waiting_ends_when_the_charger_is_plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "_BATTERY_SECONDS", 0.0)
    drains = [True, True, False]
    held = Pause(lambda: drains.pop(0))
    held.hold(CancelToken(), MUCH)
    assert drains == []


def test_waiting_ends_when_it_is_cancelled() -> None:
    cancel = CancelToken()
    held = Pause(lambda: True)
    waiting = threading.Thread(target=held.hold, args=(cancel, MUCH))
    waiting.start()
    cancel.set()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()


def test_a_paused_indexer_says_why_and_indexes_nothing_until_it_is_told_to_go_on(tmp_path: Path) -> None:
    root, index, config = tmp_path / "root", tmp_path / "index.sqlite", Config()
    for number in range(3):
        name = f"s{number}"
        write(root, frames([header(0, name), prompt(0, "needle")]), session_id=name)
    told: list[Report] = []
    paused = threading.Event()

    def tell(report: Report) -> None:
        told.append(report)
        if report.event == "paused":
            paused.set()

    indexer = Indexer(str(root), str(index), config, tell)  # type: ignore[arg-type]
    indexer.pause.set(True)
    run: Callable[[], object] = lambda: indexer.run(CancelToken(), follow=False)  # noqa: E731
    work = threading.Thread(target=run)
    work.start()
    assert paused.wait(PATIENCE)
    other = Fts5Provider(str(index), root=str(root.resolve()), config=config)
    assert other.known_logs() == {}
    other.close()
    indexer.pause.set(False)
    work.join(PATIENCE)
    assert not work.is_alive()
    assert next(report.message for report in told if report.event == "paused") == AS_TOLD
    assert [report.event for report in told][-2:] == ["current", "stopped"]
