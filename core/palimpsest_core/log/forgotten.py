"""Forgotten facts: what a compaction dropped and what occurs nowhere on the surface any more.

Paths, commands, errors and numbers are what a later turn misses most when a summary leaves them out. This finds them by
their looks; it is a help for readers and no proof of anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import msgspec

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.jstext import squeeze
from palimpsest_core.log.messages import call_of, content_blocks, tool_calls
from palimpsest_core.log.text import FULL, semantic_text
from palimpsest_core.model.event import Event

MOST = 200
"""How many facts of one kind are told; nobody reads more."""

_LONGEST = 240
_LONGEST_LINE = 4_000
_LONGEST_TEXT = 1_000_000
_PATH = re.compile(
    r"(?<![\w./~:-])(?:~?/|\.{0,2}/)?(?:[\w@.+-]{1,80}/){1,20}[\w@.+-]{1,80}|(?<![\w.-])[\w-]{1,60}\.(?:\w{1,5})(?![\w.])"
)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_ERROR = re.compile(r"\b(?:\w{0,60}(?:Error|Exception)|error|fatal|panic|failed|failure)\b")
_NUMBER = re.compile(
    r"(?<![\w.#/-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w.#/-])\d+(?:\.\d+)?(?:\s?(?:%|ms|s|min|h|[kKMGT]i?B|px))?(?![\w-])"
)
_COMMAND_KEY = re.compile(r'"(?:command|cmd|script)"\s*:\s*"((?:[^"\\]|\\.){1,2000})"')
_PROMPT = re.compile(r"^\s*\$ (.+)$", re.MULTILINE)


class Forgotten(msgspec.Struct, frozen=True):
    """Facts in the order in which they first occurred, each once, cut to one line."""

    paths: list[str]
    commands: list[str]
    errors: list[str]
    numbers: list[str]

    def __bool__(self) -> bool:
        return any((self.paths, self.commands, self.errors, self.numbers))


def forgotten(removed: Iterable[Event], kept: Iterable[Event], cancel: CancelToken | None = None) -> Forgotten:
    """The facts of `removed` events that no `kept` event (the surface) holds. Raises `ABORTED` when cancelled."""
    found: dict[str, dict[str, None]] = {"paths": {}, "commands": {}, "errors": {}, "numbers": {}}
    for event in removed:
        check(cancel)
        for kind, fact in _facts(event):
            if len(found[kind]) < MOST * 5:
                found[kind].setdefault(fact)
    rest: list[str] = []
    for event in kept:
        check(cancel)
        rest.append(_text(event))
        # A command stands escaped among a call's arguments, so it must be looked for as a fact.
        for command in _commands(event, rest[-1]):
            found["commands"].pop(command, None)
    whole = squeeze("\n".join(rest))
    return Forgotten(**{kind: _missing(facts, whole, cancel) for kind, facts in found.items()})


def _missing(facts: Iterable[str], whole: str, cancel: CancelToken | None) -> list[str]:
    lost = []
    for fact in facts:
        check(cancel)
        if not _occurs(fact, whole):
            lost.append(fact)
            if len(lost) >= MOST:
                break
    return lost


def _occurs(fact: str, whole: str) -> bool:
    """Whether a fact stands in a text: numbers as whole numbers, everything else anywhere."""
    if not fact[0].isdigit():
        return fact in whole
    return re.search(rf"(?<![\d.,]){re.escape(fact)}(?![\d]|[.,]\d)", whole) is not None


def _text(event: Event) -> str:
    """What an event says, its calls included; of a huge one the beginning."""
    return semantic_text(event, FULL)[:_LONGEST_TEXT]


def _facts(event: Event) -> Iterator[tuple[str, str]]:
    text = _text(event)
    for command in _commands(event, text):
        yield "commands", command
    for match in _PATH.finditer(text):
        path = match.group().rstrip(".")
        if "/" in path or _EXTENSION.search(path):
            yield "paths", path[:_LONGEST]
    if content_blocks(event):
        for line in text.split("\n"):
            if _ERROR.search(line, 0, _LONGEST_LINE):
                yield "errors", squeeze(line[:_LONGEST_LINE])[:_LONGEST]
    for match in _NUMBER.finditer(text):
        if len(match.group()) >= 2:
            yield "numbers", match.group()


def _commands(event: Event, text: str) -> Iterator[str]:
    calls = [call_of(event)] if event.type == "tool/call" else tool_calls(event)
    for call in calls:
        for match in _COMMAND_KEY.finditer(call.arguments if call else ""):
            yield squeeze(_unescaped(match.group(1)))[:_LONGEST]
    for match in _PROMPT.finditer(text):
        yield squeeze(match.group(1))[:_LONGEST]


def _unescaped(text: str) -> str:
    """The inside of a JSON string as text; as it is when it is none."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
