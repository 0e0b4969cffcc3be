"""JSON with one thing wrong: values that no harness writes, put anywhere into a sound row, as text."""

from __future__ import annotations

import json
from random import Random
from typing import Any


class Raw(str):
    """Text that stands for itself in JSON, whether it is JSON or not."""


class Pairs(list[tuple[str, Any]]):
    """An object as its members in order, so that a key may be repeated."""


def dump(value: Any) -> str:
    """JSON text of a value that may hold `Raw` and `Pairs`."""
    if isinstance(value, Raw):
        return str.__str__(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(key)}:{dump(item)}" for key, item in value) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{dump(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value)


SCALARS = [
    *("null", "true", "false", "0", "1", "2", "-0", "-0.0", "-1", "1.5", "7.0", "1e3", "1e400", "-1e400"),
    *("9007199254740991", "9007199254740992", "-9007199254740992", "123456789012345678901234567890"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "8640000000000001"),
    "1" + "0" * 400,
    "9" * 5000,
    "0." + "3" * 4000,
    "1e-999999999",
    *('""', '" "', '"\\u0000"', '"\\ud800"', '"x\\udc00\\ud83d"', '"\\ud83d\\ude00"', '"\\ufeff"', '"\\u2028\\u0085"'),
    *(
        '"\\u202eevil\\u2066"',
        '"\\u001b[31mred\\u001b]0;t\\u0007"',
        '"[red]a[/]\\\\[/b]"',
        '"e\\u0301\\u0301"',
        '"\\t\\r\\n"',
    ),
    *('"__proto__"', '"../../../etc/passwd"', '"/"', '"."', '".."', '"C:\\\\x"', '"user"', '"plugin"', '"text"'),
    *('"tool-result"', '"turn/end"', '"text-chunks"', '"append"', '"session"', '"subagent"', '"sha256:00"'),
    '"' + "long " * 20_000 + '"',
    '"' + "\\u0001" * 3_000 + '"',
    '"' + "字" * 30_000 + '"',
]
CONTAINERS = [
    *("[]", "{}", "[[]]", '[""]', "[null]", '{"":{}}', '{"text":5}', '{"type":"text","text":{"a":1}}', "[0,0,0]"),
    *("[1,[2,3],[5,4]]", "[[0,9007199254740991]]", "[[0,3999999]]", "[[0,1]]", '[[{"a":[]}]]', '{"a":1,"a":2}'),
    *('{"op":"replace","start":0,"end":3}', '{"op":"replace","startSeq":3,"endSeq":0}', '{"op":"append"}'),
    *('{"op":"replace","startSeq":0,"endSeq":9007199254740991}', '{"op":"replace","start":-1,"end":1.5}'),
    '{"type":"tool-result","content":[{"type":"tool-result","content":[{"type":"text","text":"in"}]}]}',
    "[" * 60 + "]" * 60,
    "[" * 900 + "]" * 900,
    "[" * 30_000 + "]" * 30_000,
    '{"content":[' * 5_000 + '"x"' + "]}" * 5_000,
    '{"a":' * 400 + "1" + "}" * 400,
    "[" + ",".join(["1"] * 20_000) + "]",
    '{"type":"text","text":"' + "wide " * 9 + '"}',
    "{" + ",".join(f'"k{n}":{n}' for n in range(3_000)) + "}",
]
NOT_JSON = [
    *("NaN", "Infinity", "-Infinity", "undefined", "01", "1.", ".5", "+1", "0x10", "1_000", "'x'", "", "tru", "nul"),
    *(
        '"\\x41"',
        '"open',
        '"\\ud8"',
        "[1,]",
        '{"a"}',
        "{a:1}",
        "[",
        "}",
        "/*c*/1",
        "\ufeff1",
        '"\x01"',
        '"\x7f"',
        "1\x002",
    ),
]
BYTES = [b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b"\x00", b'"\xf4\x90\x80\x80"', b'"\xe2\x28\xa1"']
"""Bytes that are no UTF-8, as values; they go in for a marker."""

KEYS = [
    "",
    "type",
    "seq",
    "time",
    "data",
    "surfaceOp",
    "\ud800",
    "__proto__",
    "a\x1b[1m",
    "ignorable",
    "seq0",
    "x" * 9000,
]


def hostile(random: Random) -> Any:
    """One value, `Raw` so that it reaches the text as it is."""
    pool = random.choice((SCALARS, SCALARS, SCALARS, CONTAINERS, CONTAINERS, NOT_JSON))
    return Raw(random.choice(pool))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every member of a value and of what is inside it, as its container and key."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        item = todo.pop()
        members = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, inner in members:
            found.append((item, key))
            todo.append(inner)
    return found


def spoil(line: bytes, random: Random) -> bytes:
    """A sound line with one to three places made hostile; it may be no JSON any more. Line feed included."""
    value = json.loads(line)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        value = _spoil_once(value, random)
    text = dump(value).encode("utf-8", "surrogatepass")
    if random.random() < 0.04:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(BYTES) + text[at:]
    return text.replace(b"\n", b" ") + b"\n"


def _spoil_once(value: Any, random: Random) -> Any:
    found = places(value)
    if not found or random.random() < 0.01:
        return hostile(random)
    # Envelope keys as often as all the rest.
    container, key = random.choice(found if random.random() < 0.6 or not isinstance(value, dict) else _top(value))
    how = random.random()
    if how < 0.6 or isinstance(container, list):
        container[key] = hostile(random)
    elif how < 0.75:
        del container[key]
    elif how < 0.85:
        container[random.choice(KEYS)] = container.pop(key)
    elif how < 0.95:
        container[random.choice(KEYS)] = hostile(random)
    else:
        pairs = Pairs([*container.items(), (key, hostile(random))])
        if container is value:
            return Raw(dump(pairs))
        _replace(value, container, Raw(dump(pairs)))
    return value


def _top(value: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(value, key) for key in value] or [(value, "type")]


def _replace(value: Any, container: Any, other: Any) -> None:
    for holder, key in places(value):
        if holder[key] is container:
            holder[key] = other
            return
