"""A monkey at the keyboard: whatever keys come, on whatever corpus, the app stays up and answers."""

from __future__ import annotations

import asyncio
import random
import shutil
import tarfile
from pathlib import Path

import pytest
from appdriving import Driver, Launch

from palimpsest_core.writer.demo import DemoCorpus
from palimpsest_tui.keys import KEYS, Where, spelled

CORPORA = Path(__file__).resolve().parents[1] / "conformance"
_RESTS = 0.05
"""The share of keys after which the app gets time."""
_LEAVE = {"q", "ctrl+q", "ctrl+c"}
_TEXT = [*list("abcerx 1:=[/\\-"), "会", "é"]


def keys_of(seed: int, count: int) -> list[str]:
    """A mix of bound keys, motions and text."""
    rng = random.Random(seed)
    bound = [part for key in KEYS for part in spelled(key.keys) if key.where is not Where.EXPORT]
    bound = [part for part in bound if part not in _LEAVE]
    motions = ["j", "k", "down", "up", "enter", "escape", "tab", "space", "g", "G", "l", "h", "right", "left"]
    keys = []
    for _ in range(count):
        kind = rng.random()
        keys.append(rng.choice(bound) if kind < 0.55 else rng.choice(motions) if kind < 0.9 else rng.choice(_TEXT))
    return keys


async def let_loose(driver: Driver, seed: int, count: int) -> None:
    """Press the keys; the app must be up after each, and its main screen must come back.

    Most keys come as fast as they are handled; now and then the app gets the time to answer.
    """
    rests = random.Random(-seed)
    for number, key in enumerate(keys_of(seed, count)):
        await driver.press(key)
        assert driver.app.is_running, f"key {number} of seed {seed}: {key}"
        assert driver.app._exception is None
        if rests.random() < _RESTS:
            await asyncio.sleep(rests.uniform(0.02, 0.2))
    for _ in range(4):
        await driver.press("escape")
    await driver.quiet()
    assert driver.app.screen is driver.screen


@pytest.mark.parametrize(("seed", "size"), [(1, (80, 24)), (2, (120, 40)), (3, (60, 20))])
def test_a_hundred_random_keys_leave_the_app_up(
    demo: DemoCorpus, launch: Launch, seed: int, size: tuple[int, int]
) -> None:
    async def flow() -> None:
        async with launch(demo.root, size) as driver:
            await let_loose(driver, seed, 100)

    asyncio.run(flow())


def unpacked(name: str, target: Path) -> Path:
    """All roots of a recorded corpus as one root; logs of one name in several of them lie in projects of their own."""
    with tarfile.open(CORPORA / name / "roots.tar.gz") as archive:
        archive.extractall(target / "roots", filter="data")
    merged = target / "merged"
    merged.mkdir()
    roots = sorted((target / "roots").iterdir())
    for number, entry in enumerate(entry for root in roots for entry in sorted(root.iterdir())):
        place = merged / f"{number:03}{entry.name[:99]}"
        place.symlink_to(entry) if entry.is_dir() else shutil.copy(entry, place)
    return merged


LONG = [
    ("demo", 11, (80, 24)),
    ("demo", 12, (120, 40)),
    ("demo", 13, (200, 60)),
    ("demo", 14, (60, 20)),
    ("basic", 21, (120, 40)),
    ("search", 22, (80, 24)),
    ("damaged", 23, (120, 40)),
    ("damaged", 24, (80, 24)),
]


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("corpus", "seed", "size"), LONG)
def test_ten_thousand_random_keys_leave_the_app_up(
    demo: DemoCorpus, launch: Launch, tmp_path: Path, corpus: str, seed: int, size: tuple[int, int]
) -> None:
    root = demo.root if corpus == "demo" else unpacked(corpus, tmp_path)

    async def flow() -> None:
        async with launch(root, size) as driver:
            await let_loose(driver, seed, 10_000)

    asyncio.run(flow())


def test_random_keys_on_an_empty_root_and_without_one(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    async def flow() -> None:
        for root in (tmp_path / "empty", None):
            async with launch(root, (80, 24)) as driver:
                await let_loose(driver, 5, 60)

    asyncio.run(flow())
