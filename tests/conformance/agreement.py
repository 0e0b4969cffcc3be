"""Runs a recorded corpus in this process and counts what agrees; `compare.py` beside it does the comparing."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
Answer = Callable[[dict[str, Any]], list[dict[str, Any]]]


def script(path: Path) -> ModuleType:
    """One of the recorded corpora's own scripts as a module."""
    name = f"conformance_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


compare = script(HERE / "compare.py")


@dataclass
class Tally:
    """How many recorded answers agree, how many are excused, and what differs."""

    agreed: int = 0
    excused: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """All answers compared."""
        return self.agreed + self.excused + len(self.differences)

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.agreed += other.agreed
        self.excused += other.excused
        self.differences += other.differences


def groups(corpus: Any, scratch: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each group of an unpacked corpus with the job that asks it, over a fresh copy of its root."""
    for number, group in enumerate(corpus.plan["groups"]):
        place = scratch / f"group-{number}"
        place.mkdir()
        root = place / "root"
        source = Path(corpus.files) / group["root"]
        if source.is_dir():
            shutil.copytree(source, root)
        requests = [
            {**request, "args": {"from": str(Path(corpus.files) / request["args"]["from"])}}
            if request["op"] == "$overlay"
            else request
            for request in corpus.requests(group)
        ]
        yield (
            group,
            {
                "root": str(root),
                "index_path": str(place / "index.sqlite"),
                "config": group.get("config", {}),
                "requests": requests,
            },
        )
        shutil.rmtree(place, ignore_errors=True)


def run_corpus(name: str, answer: Answer, scratch: Path) -> Tally:
    """Ask every group of the corpus `name` and compare, with the intended differences excused."""
    corpus = compare.Corpus(str(HERE / name), str(scratch))
    expected = json.loads((HERE / name / "expected.json").read_text("utf-8"))["groups"]
    deviations = compare.Deviations(str(HERE / "deviations.json"))
    tally = Tally()
    for group, job in groups(corpus, scratch):
        wanted = expected[group.get("sameAs", group["name"])]
        # What a program prints is JSON: numbers and texts are compared as they would arrive.
        results = json.loads(json.dumps(answer(json.loads(json.dumps(job)))))
        tally.add(compare_group(group["name"], job["requests"], wanted, results, deviations))
    return tally


def compare_group(
    name: str, requests: list[dict[str, Any]], wanted: list[Any], results: list[Any], deviations: Any
) -> Tally:
    """Compare one group's answers with the recorded ones."""
    tally = Tally()
    answers = {result.get("id"): result for result in results}
    operations = {request["id"]: request.get("op", "") for request in requests}
    for want in wanted:
        operation, got = operations.get(want["id"], ""), answers.get(want["id"])
        if got is None:
            tally.differences.append(f"{name} :: {want['id']} {operation}: no answer")
            continue
        outcome = compare.compare_result(want, got, deviations.ignore, operation)
        if outcome == "ok":
            tally.agreed += 1
        elif isinstance(outcome, list) and deviations.excuse(name, operation, want, got):
            tally.excused += 1
        else:
            tally.differences.append(f"{name} :: {want['id']} {operation}: {outcome}"[:400])
    return tally
