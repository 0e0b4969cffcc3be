"""Whether a result of the batch protocol is what a case expects (README.md tells the keys of `expect`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CLOSERS = ("tool/result", "step/end", "turn/end")


def texts_in(value: Any) -> Iterator[str]:
    """Every text anywhere in a value, names included."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            yield from one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def numbers_in(value: Any) -> Iterator[float]:
    """Every number anywhere in a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (int, float)) and not isinstance(one, bool):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def says(value: Any, text: str) -> bool:
    """Whether a text stands somewhere in a value."""
    return any(text in one for one in texts_in(value))


def ranges(text: str) -> list[int]:
    """`0-3 7` as numbers."""
    out: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def at_path(value: Any, path: str) -> Any:
    """The value at a dotted path. Raises KeyError, IndexError."""
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def entries(value: Any) -> list[Any]:
    """The entries of a list, of a page, or of a session."""
    if isinstance(value, list):
        return value
    for key in ("items", "events"):
        if isinstance(value, dict) and isinstance(value.get(key), list):
            found: list[Any] = value[key]
            return found
    raise AssertionError("The value has no entries.")


def ids_of(value: Any) -> list[str]:
    """The session ids of a list or a page, in its order."""
    return [entry["header"]["id"] for entry in entries(value)]


def events_of(value: Any) -> list[dict[str, Any]]:
    """The events of a list of records, or of a session."""
    return [entry.get("event", entry) for entry in entries(value)]


def why_not(result: dict[str, Any], expect: dict[str, Any]) -> str | None:
    """Why a result is not what is expected; None when it is."""
    try:
        check(result, expect)
    except (AssertionError, KeyError, IndexError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def check(result: dict[str, Any], expect: dict[str, Any]) -> None:
    """Raise AssertionError unless a result is what is expected."""
    if "either" in expect:
        reasons = [why_not(result, one) for one in expect["either"]]
        assert None in reasons, reasons
        return
    if "error" in expect:
        codes = expect["error"] if isinstance(expect["error"], list) else [expect["error"]]
        assert "error" in result, f"no error, {codes} was expected"
        assert result["error"]["code"] in codes, result["error"]
        return
    assert "error" not in result, result["error"]
    value = result["value"]
    for key, wanted in expect.items():
        _KEYS[key](value, wanted)


def _ids(value: Any, wanted: list[str]) -> None:
    assert ids_of(value) == wanted, ids_of(value)


def _idset(value: Any, wanted: list[str]) -> None:
    assert sorted(ids_of(value)) == sorted(wanted), ids_of(value)


def _includes(value: Any, wanted: list[str]) -> None:
    assert set(wanted) <= set(ids_of(value)), set(wanted) - set(ids_of(value))


def _excludes(value: Any, wanted: list[str]) -> None:
    assert not set(wanted) & set(ids_of(value)), set(wanted) & set(ids_of(value))


def _first(value: Any, wanted: str) -> None:
    assert ids_of(value)[0] == wanted


def _last(value: Any, wanted: str) -> None:
    assert ids_of(value)[-1] == wanted


def _count(value: Any, wanted: int) -> None:
    assert len(entries(value)) == wanted, len(entries(value))


def _seqs(value: Any, wanted: str) -> None:
    found = [event["seq"] for event in events_of(value)]
    assert found == ranges(wanted), found


def _prefix(value: Any, wanted: int) -> None:
    events = events_of(value)
    seqs = [event["seq"] for event in events]
    assert seqs == list(range(len(seqs))), seqs
    assert len(seqs) > wanted, seqs
    behind = [event["type"] for event in events[wanted + 1 :]]
    assert all(kind in CLOSERS for kind in behind), behind


def _surfaces(value: Any, wanted: dict[str, str]) -> None:
    found = {str(event["seq"]): event["surface"] for event in events_of(value)}
    assert {seq: found[seq] for seq in wanted} == wanted


def _at(value: Any, wanted: dict[str, Any]) -> None:
    for path, what in wanted.items():
        assert at_path(value, path) == what, f"{path}: {at_path(value, path)!r}"


def _lengths(value: Any, wanted: dict[str, int]) -> None:
    for path, length in wanted.items():
        assert len(at_path(value, path)) == length, f"{path}: {len(at_path(value, path))}"


def _has(value: Any, wanted: list[str]) -> None:
    assert not [text for text in wanted if not says(value, text)], [text for text in wanted if not says(value, text)]


def _lacks(value: Any, wanted: list[str]) -> None:
    assert not [text for text in wanted if says(value, text)], [text for text in wanted if says(value, text)]


def _ok(value: Any, wanted: bool) -> None:
    assert wanted


_KEYS = {
    "ids": _ids,
    "idset": _idset,
    "includes": _includes,
    "excludes": _excludes,
    "first": _first,
    "last": _last,
    "count": _count,
    "seqs": _seqs,
    "prefix": _prefix,
    "surfaces": _surfaces,
    "at": _at,
    "lengths": _lengths,
    "has": _has,
    "lacks": _lacks,
    "ok": _ok,
}
