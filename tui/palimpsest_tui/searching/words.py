"""The text of the search bar: a phrase and filter words.

A filter word is `kind:value`, with `-` before it to exclude; a value with spaces stands in double quotes. `\\kind:`
takes the meaning away. A phrase that begins with `=` asks for a literal scan. `/export` alone, or with a path, is the
one command.
"""

from __future__ import annotations

import re
from typing import NamedTuple

KINDS: dict[str, str] = {
    "project": "sessions of a project (a part of its path)",
    "since": "events from a day on: 2026-11-28, 7d, 12h, today, yesterday",
    "until": "events up to a day: 2026-11-28, 7d, today",
    "type": "events of a type: user/message, or a part of its name",
    "is": "current, shadowed, log-only, withheld · active, root, fork, sub, damaged",
    "parent": "children of a session (the beginning of its id)",
    "id": "sessions by the beginning of their id",
    "model": "sessions that a model answered in",
    "tool": "calls and results of a tool (a part of its name)",
}
"""Every filter word with what it does."""

IS_EVENT = ("current", "shadowed", "log-only", "withheld")
IS_SHORT = {"log": "log-only"}
"""Shorter words that are taken for others."""
IS_SESSION = ("active", "root", "fork", "sub", "damaged")
IS_VALUES = (*IS_EVENT, *IS_SESSION)

_WORD = re.compile(r"(?<!\S)(-?)(" + "|".join(KINDS) + r'):("(?:[^"]*)"?|\S*)')
_ESCAPED = re.compile(r"(?<!\S)\\(-?(?:" + "|".join(KINDS) + r"):)")
_EXPORT = re.compile(r"^\s*/export(?:\s+(\S.*?))?\s*$")


class Chip(NamedTuple):
    """One filter word: where it stands in the text, and what it says."""

    kind: str
    value: str
    negated: bool
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word as a person would type it."""
        value = f'"{self.value}"' if " " in self.value else self.value
        return f"{'-' if self.negated else ''}{self.kind}:{value}"


class SearchText(NamedTuple):
    """What the text says. `export_to` is None unless the text is the export command (then the path, or empty)."""

    phrase: str
    literal: bool
    chips: tuple[Chip, ...]
    export_to: str | None = None

    @property
    def blank(self) -> bool:
        """Whether there is nothing to search or filter by."""
        return not self.phrase and not self.chips and self.export_to is None


def read_words(text: str) -> SearchText:
    """Take the text of the search bar apart."""
    command = _EXPORT.match(text)
    if command is not None:
        return SearchText("", False, (), command.group(1) or "")
    chips: list[Chip] = []
    rest: list[str] = []
    at = 0
    for match in _WORD.finditer(text):
        value = match.group(3).strip('"')
        chips.append(Chip(match.group(2), value, bool(match.group(1)), match.start(), match.end()))
        rest.append(text[at : match.start()])
        at = match.end()
    rest.append(text[at:])
    phrase = _ESCAPED.sub(r"\1", " ".join(part.strip() for part in rest if part.strip())).strip()
    literal = phrase.startswith("=")
    if literal:
        phrase = phrase[1:].strip()
    return SearchText(phrase, literal, tuple(chip for chip in chips if chip.value), None)


def with_word(text: str, kind: str, value: str, *, negated: bool = False) -> str:
    """The text with a filter word added, in place of the one of the same kind and sense that is there."""
    word = Chip(kind, value, negated, 0, 0).word
    for chip in read_words(text).chips:
        if chip.kind == kind and chip.negated == negated and kind != "is":
            return text[: chip.start] + word + text[chip.end :]
    return f"{text.rstrip()} {word} ".lstrip()


def without_chip(text: str, chip: Chip) -> str:
    """The text without a filter word."""
    return (text[: chip.start].rstrip() + " " + text[chip.end :].lstrip()).strip()


class Completion(NamedTuple):
    """What the word at the cursor can become: the part of the text it replaces, and the candidates."""

    start: int
    end: int
    candidates: list[str]


def complete(text: str, cursor: int, values: dict[str, list[str]]) -> Completion | None:
    """Candidates for the word that ends at `cursor`; `values` are the known values of each kind."""
    start = cursor
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    word = text[start:cursor]
    sign = "-" if word.startswith("-") else ""
    body = word[len(sign) :]
    kind, colon, value = body.partition(":")
    if not colon:
        if not body:
            return None
        found = [f"{sign}{name}:" for name in KINDS if name.startswith(body.lower())]
        return Completion(start, cursor, found) if found else None
    if kind not in KINDS:
        return None
    wanted = value.strip('"').casefold()
    known = values.get(kind, [])
    first = [name for name in known if name.casefold().startswith(wanted)]
    later = [name for name in known if wanted in name.casefold() and name not in first]
    found = [sign + Chip(kind, name, False, 0, 0).word + " " for name in [*first, *later]]
    return Completion(start, cursor, found) if found else None
