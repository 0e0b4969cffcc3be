"""Code as lines with style names: one name for each family of tokens. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, Token, _TokenType
from pygments.util import ClassNotFound

from palimpsest_tui.reading.lines import Piece

if TYPE_CHECKING:
    from palimpsest_tui.reading.lines import Line

HIGHLIGHT_MAX_CHARS = 40_000
"""Longer code is shown plain: highlighting runs at about 1 MB a second."""

CODE_STYLES = {
    Comment: "code--comment",
    Keyword: "code--keyword",
    String: "code--string",
    Number: "code--number",
    Literal: "code--number",
    Name.Function: "code--name",
    Name.Class: "code--name",
    Name.Builtin: "code--name",
    Name.Tag: "code--keyword",
    Name.Attribute: "code--name",
    Name.Decorator: "code--name",
    Operator.Word: "code--keyword",
    Generic.Inserted: "text--added",
    Generic.Deleted: "text--removed",
    Generic.Heading: "text--heading",
    Generic.Subheading: "text--heading",
}


@lru_cache(maxsize=64)
def lexer_named(name: str) -> Lexer | None:
    """The lexer of a fence's info word, or None."""
    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def lexer_for_path(path: str) -> Lexer | None:
    """The lexer for a file's name, or None."""
    try:
        return get_lexer_for_filename(path.rsplit("/", 1)[-1], stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def code_lines(code: str, lexer: Lexer | None) -> list[Line]:
    """Printable code as lines, highlighted where there is a lexer and the code is not too long."""
    if lexer is None or len(code) > HIGHLIGHT_MAX_CHARS:
        return [[Piece(line)] for line in code.split("\n")]
    lines: list[Line] = [[]]
    for token, value in lexer.get_tokens(code):
        style = _style(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append(Piece(part, style))
    return lines


@lru_cache(maxsize=256)
def _style(token: _TokenType) -> str:
    kind: _TokenType | None = token
    while kind is not Token and kind is not None:
        if kind in CODE_STYLES:
            return CODE_STYLES[kind]
        kind = kind.parent
    return ""


_HUNK = re.compile(r"^@@ .* @@", re.MULTILINE)


def looks_like_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    head = text[:4000]
    return head.startswith("diff --git ") or (_HUNK.search(head) is not None and ("\n+" in head or "\n-" in head))


def diff_lines(text: str) -> list[Line]:
    """A printable unified diff as lines: the sign first, then the colour."""
    lines: list[Line] = []
    for line in text.split("\n"):
        if line.startswith(("+++", "---", "diff ", "index ")):
            style = "text--heading"
        elif line.startswith("@@"):
            style = "text--hunk"
        elif line.startswith("+"):
            style = "text--added"
        elif line.startswith("-"):
            style = "text--removed"
        else:
            style = ""
        lines.append([Piece(line, style)])
    return lines
