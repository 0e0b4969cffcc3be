"""The machine checks of case.json, one function for each kind (README.md tells what each means)."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import indexdamage
from caseexpect import check as check_result
from caseexpect import numbers_in, says, texts_in, why_not
from caseworld import TOP, World, run_outside

from palimpsest_core.batch import results_text, run_job

Check = dict[str, Any]


def batch(world: World, check: Check) -> None:
    """A job of the protocol: every request gets what it expects, and the output is what the protocol asks for."""
    index = world.fresh("index.sqlite")
    job = {
        "root": str(world.root(check)),
        "index_path": str(index),
        "config": check["config"],
        "requests": [{key: request[key] for key in ("id", "op", "args")} for request in check["requests"]],
    }
    results = run_job(job)
    told = json.loads(results_text(results).encode("utf-8"))
    assert [result["id"] for result in told] == [request["id"] for request in check["requests"]]
    wrong = {
        f"{request['id']} {request['op']} {json.dumps(request['args'])[:80]}": reason
        for request, result in zip(check["requests"], told, strict=True)
        if (reason := why_not(result, request["expect"])) is not None
    }
    assert wrong == {}


def ls(world: World, check: Check) -> None:
    """`ls --json`: rows, ids, states, generations, counts."""
    ran = world.run(check, "ls", "--json")
    rows: list[dict[str, Any]] = ran.json["sessions"]
    by_id = {row["id"]: row for row in rows}
    if "rows" in check:
        assert len(rows) == check["rows"], sorted(by_id)
    assert set(check.get("includes", [])) <= set(by_id)
    unreadable = [row for row in rows if row["state"] == "unreadable"]
    assert len(unreadable) == check.get("unreadable", 0), [row["id"] for row in unreadable]
    assert all(row["reason"] and row["path"] for row in unreadable)
    assert len({row["reason"] for row in unreadable}) == len(unreadable), "reasons of their own"
    for session_id, generation in check.get("formats", {}).items():
        assert by_id[session_id]["generation"] == generation, by_id[session_id]
    for session_id, values in check.get("values", {}).items():
        assert {key: by_id[session_id].get(key) for key in values} == values
    for text in check.get("has", []):
        assert says(rows, text)
    for text in check.get("lacks", []):
        assert text.encode() not in ran.out
    if check.get("syscalls_never"):
        _never_named(world, check)


def _never_named(world: World, check: Check) -> None:
    """No system call names any of these paths, in a listing and in a search."""
    if shutil.which("strace") is None:
        return
    trace = world.fresh("strace.txt")
    where = ["--root", str(world.root(check)), "--index", str(world.fresh("index.sqlite"))]
    before = ("strace", "-f", "-qq", "-s", "4096", "-e", "trace=file", "-o", str(trace))
    for argv in (["ls", "--json"], ["search", "--json", "question"]):
        ran = run_outside([*where, *argv], {}, before)
        assert ran.code in (0, 1), ran.err
        # The root's own folders carry the working folder's name in escaped form, never as a path.
        named = [path for path in check["syscalls_never"] if path.encode() in trace.read_bytes()]
        assert named == [], argv


def doctor(world: World, check: Check) -> None:
    """`doctor --json`: each finding that is asked for, in words, and nothing about sound sessions."""
    ran = world.run(check, "doctor", "--json")
    logs: list[dict[str, Any]] = [*ran.json["logs"], *ran.json["notes"]]
    told = world.run(check, "doctor").text
    for wanted in check.get("findings", []):
        mine = [log for log in logs if _is_about(log, wanted["about"])]
        assert mine, f"nothing about {wanted['about']}"
        words = " ".join(text for log in mine for text in _own_words(log)).lower()
        assert any(word.lower() in words for word in wanted["any"]), words
        assert all(text.lower() in words for text in wanted["all"]), words
        assert not [text for text in wanted["none"] if text.lower() in words], words
        assert wanted["about"] in told
    for session_id in check.get("clean", []):
        assert not [log for log in logs if log.get("sessionId") == session_id], session_id
    assert ran.code == (3 if ran.json["problems"] else 0)


def _is_about(log: dict[str, Any], name: str) -> bool:
    return log.get("sessionId") == name or name in Path(log["path"]).parts or log["path"].endswith(name)


def _own_words(log: dict[str, Any]) -> list[str]:
    """All that is said of a log; not the paths, which may hold any word."""
    said = {key: value for key, value in log.items() if key not in ("path", "sessionId", "findings")}
    findings = [{key: value for key, value in one.items() if key != "path"} for one in log["findings"]]
    values = [*said.values(), *(list(one.values()) for one in findings)]
    return [*texts_in(values), *(str(number) for number in numbers_in(values))]


def search(world: World, check: Check) -> None:
    """`search --json QUERY`: the sessions found."""
    options = [part for key, value in check.get("options", {}).items() for part in (f"--{key}", str(value))]
    ran = world.run(check, "search", "--json", *options, "--", check["query"])
    hits = ran.json["hits"]
    ids = [hit["header"]["id"] for hit in hits]
    if "ids" in check:
        assert ids == check["ids"]
    if "idset" in check:
        assert sorted(ids) == sorted(check["idset"])
    if "count" in check:
        assert len(ids) == check["count"], ids
    assert set(check.get("includes", [])) <= set(ids)
    assert not check.get("includes_any") or set(check["includes_any"]) & set(ids)


def stats(world: World, check: Check) -> None:
    """`stats --json`: numbers that must and that must not occur."""
    ran = world.run(check, "stats", "--json")
    found = set(numbers_in(ran.json))
    for told in (
        found,
        {float(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", world.run(check, "stats").text)},
    ):
        assert set(check.get("numbers", [])) <= told, sorted(told)
        assert not check.get("any_numbers") or set(check["any_numbers"]) & told
        assert not set(check.get("not_numbers", [])) & told
    for text in [*check.get("lacks", []), "None"]:
        assert text not in ran.text


def export(world: World, check: Check) -> None:
    """`export ID`: a file that holds what it must, and the name it gets when none is given."""
    folder = world.fresh("export")
    folder.mkdir()
    options = ["--redact"] if check.get("redact") else []
    ran = world.run(check, "export", check["id"], "--format", check["format"], *options, "--output", str(folder))
    (target,) = folder.iterdir()
    assert str(target).encode() in ran.out
    if "name" in check:
        assert target.name == check["name"]
    if check["format"] == "zip":
        assert "secrets included" in ran.err.decode("utf-8")
        with zipfile.ZipFile(target) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        if "entry" in check:
            assert hashlib.sha256(entries[check["entry"]]).hexdigest() == check["sha256"]
        text = "\n".join(data.decode("utf-8", "replace") for data in entries.values())
    else:
        text = target.read_bytes().decode("utf-8")
        if check["format"] == "html":
            text = html.unescape(text)
    for wanted in check.get("has", []):
        assert wanted in text, wanted
    for unwanted in check.get("lacks", []):
        assert unwanted not in text, unwanted
        assert unwanted not in target.name


def cli(world: World, check: Check) -> None:
    """A command for people: what its output holds and what it must not hold."""
    ran = world.run(check, *check["argv"])
    text = ran.text + ran.err.decode("utf-8")
    for wanted in check.get("has", []):
        assert wanted in text
    for unwanted in check.get("lacks", []):
        assert unwanted not in text, repr(unwanted)


def twice(world: World, check: Check) -> None:
    """The same command twice on one index: equal answers."""
    index = world.fresh("index.sqlite")
    first, second = (world.run(check, check["what"], "--json", index=index) for _ in range(2))
    assert first.json == second.json


def live(world: World, check: Check) -> None:
    """A log grows while searches run: every one answers, the last drop is found."""
    root = world.fresh("growing")
    shutil.copytree(world.root(check), root)
    target = root / Path(check["target"]).relative_to(check["root"])
    pieces = sorted((world.case / check["pieces"]).glob("*.bin"))
    done = threading.Event()

    def append() -> None:
        for piece in pieces:
            with target.open("ab") as log:
                log.write(piece.read_bytes())
            time.sleep(1 / check["perSecond"])
        done.set()

    searches = check["searches"]
    requests = [{"id": str(n), **check["request"]} for n in range(searches)]
    writer = threading.Thread(target=append)
    writer.start()
    try:
        for config in (check.get("config", {}), {"mode": "strict"}):
            job = {"root": str(root), "index_path": str(world.fresh("index.sqlite")), "config": config}
            results = run_job(job | {"requests": requests[: searches if config == check.get("config", {}) else 20]})
            for result in results:
                check_result(result, {"count": check["count"]})
    finally:
        writer.join()
    assert done.is_set()
    query = check["request"]["args"]["query"]
    last = [{"id": "1", "op": "searchEvents", "args": {"sessionId": target.parent.name, "query": query, "limit": 50}}]
    job = {"root": str(root), "index_path": str(world.fresh("index.sqlite")), "config": {"mode": "tolerant"}}
    found = run_job(job | {"requests": last})[0]["value"]["items"]
    assert any(f"drop {len(pieces) - 1}" in hit["snippet"].replace("\ufdd0", "").replace("\ufdd1", "") for hit in found)


def index_damage(world: World, check: Check) -> None:
    """Build the index, damage it in each way, ask again: the same answer, from the protocol and from the command."""
    request, count = check["request"], check["count"]
    asked = {"root": str(world.root(check)), "requests": [request]}
    for config in ({}, {"mode": "tolerant"}):
        built = world.fresh("index.sqlite")
        check_result(run_job({**asked, "config": config, "index_path": str(built)})[0], {"count": count})
        for way in check["ways"]:
            for name, damage in indexdamage.WAYS[way](built):
                index = world.fresh("damaged.sqlite")
                indexdamage.copy(built, index)
                damage(index)
                result = run_job({**asked, "config": config, "index_path": str(index)})[0]
                reason = why_not(result, {"count": count})
                assert reason is None, f"{config} {name}: {reason}"
    built = world.fresh("index.sqlite")
    argv = ["search", "--json", "--limit", str(count + 1), "--", request["args"]["query"]]
    world.run(check, *argv, index=built)
    for way in check["ways"]:
        name, damage = next(iter(indexdamage.WAYS[way](built)))
        index = world.fresh("damaged.sqlite")
        indexdamage.copy(built, index)
        damage(index)
        first, second = world.run(check, *argv, index=index), world.run(check, *argv, index=index)
        assert [len(ran.json["hits"]) for ran in (first, second)] == [count, count], name
        said = [ran.err.count(b"The index was damaged") for ran in (first, second)]
        assert said == [0 if way == "empty-wal" else 1, 0], (name, first.err, second.err)


CHECKS = {
    "batch": batch,
    "ls": ls,
    "doctor": doctor,
    "search": search,
    "stats": stats,
    "export": export,
    "cli": cli,
    "twice": twice,
    "live": live,
    "index-damage": index_damage,
}

__all__ = ["CHECKS", "TOP", "World"]
