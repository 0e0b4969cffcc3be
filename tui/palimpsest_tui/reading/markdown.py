"""Small Markdown as lines. Pure; what it does not know it shows as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from palimpsest_core import printable, printable_line
from palimpsest_tui.reading.code import code_lines, lexer_named
from palimpsest_tui.reading.lines import Piece, plain, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from palimpsest_tui.reading.lines import Line

MARKDOWN_MAX_CHARS = 40_000
"""Longer text is shown plain: 40 kB take about 40 ms, and a person reads it as text anyway."""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # the first text to be read waits for it, not the first list

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def markdown_lines(text: str, width: int) -> list[Line]:
    """Printable Markdown rendered in at most `width` cells."""
    return _Renderer(width).render(_parser().parse(text))


class _Renderer:
    """Walks the tokens once; lists and quotes put a prefix before every line inside them."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[Line] = []
        self._prefix: list[Piece] = []
        self._bullet: Line | None = None
        self._lists: list[int | None] = []

    def render(self, tokens: Sequence[Token]) -> list[Line]:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            kind = token.type
            if kind == "heading_open":
                self._gap()
                mark = Piece(token.markup + " " if token.markup.startswith("#") else "# ", "text--heading")
                for number, line in enumerate(_split(_inline(tokens[at + 1], "text--heading"))):
                    self._paragraph(line if number else [mark, *line])
                at += 2
            elif kind == "paragraph_open":
                if not token.hidden:
                    self._gap()
                for line in _split(_inline(tokens[at + 1], "")):
                    self._paragraph(line)
                at += 2
            elif kind in ("fence", "code_block"):
                self._gap()
                self._code(token)
            elif kind == "table_open":
                self._gap()
                at = self._table(tokens, at)
            elif kind == "hr":
                self._gap()
                self._put(plain("─" * min(24, self._room()), "line--dim"))
            elif kind == "html_block":
                for text in token.content.rstrip("\n").split("\n"):
                    self._paragraph(plain(text))
            else:
                self._nest(token)
            at += 1
        return self._lines

    def _nest(self, token: Token) -> None:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            if not self._lists:
                self._gap()
            start = token.attrGet("start")
            self._lists.append(int(start) if start is not None else 1 if kind == "ordered_list_open" else None)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif kind == "list_item_open":
            number = self._lists[-1]
            bullet = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1
            self._bullet = [*self._prefix, Piece(bullet, "text--bullet")]
            self._push(Piece(" " * len(bullet)))
        elif kind == "blockquote_open":
            self._gap()
            self._push(Piece("│ ", "text--quote"))
        elif kind in ("list_item_close", "blockquote_close"):
            if self._bullet is not None:
                self._put([])
            self._prefix.pop()

    def _push(self, piece: Piece) -> None:
        self._prefix.append(piece)

    def _room(self) -> int:
        return max(12, self._width - sum(cell_len(piece.text) for piece in self._prefix))

    def _gap(self) -> None:
        if self._lines and self._bullet is None and self._lines[-1]:
            self._lines.append([])

    def _put(self, line: Line) -> None:
        lead = self._prefix if self._bullet is None else self._bullet
        self._bullet = None
        self._lines.append([*lead, *line])

    def _paragraph(self, line: Line) -> None:
        for part in wrap(line, self._room()):
            self._put(part)

    def _code(self, token: Token) -> None:
        language = token.info.split()[0] if token.info.split() else ""
        lexer = lexer_named(language) if language else None
        for line in code_lines(token.content.rstrip("\n"), lexer):
            for part in wrap(line, self._room() - 2):
                self._put([Piece("  "), *part])

    def _table(self, tokens: Sequence[Token], at: int) -> int:
        rows: list[list[Line]] = []
        heads = 0
        while tokens[at].type != "table_close":
            token = tokens[at]
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append([Piece(p.text.replace("\n", " "), p.style) for p in _inline(token, "")])
            elif token.type == "thead_close":
                heads = len(rows)
            at += 1
        columns = max((len(row) for row in rows), default=0)
        widths = [max((_cells(row[c]) for row in rows if c < len(row)), default=0) for c in range(columns)]
        room = self._room() - 3 * max(0, columns - 1)
        while sum(widths) > room and max(widths) > 6:
            widths[widths.index(max(widths))] -= 1
        for number, row in enumerate(rows):
            self._table_row(row, widths, "text--heading" if number < heads else "")
            if number == heads - 1:
                self._put(plain("─┼─".join("─" * width for width in widths), "line--dim"))
        return at

    def _table_row(self, row: Sequence[Line], widths: Sequence[int], style: str) -> None:
        cells = [wrap(row[c] if c < len(row) else [], width) for c, width in enumerate(widths)]
        for level in range(max(len(cell) for cell in cells)):
            line: Line = []
            for c, cell in enumerate(cells):
                part = cell[level] if level < len(cell) else []
                if c:
                    line.append(Piece(" │ ", "line--dim"))
                line.extend(Piece(piece.text, piece.style or style) for piece in part)
                line.append(Piece(" " * max(0, widths[c] - _cells(part))))
            self._put(line)


def _cells(line: Line) -> int:
    return sum(cell_len(piece.text) for piece in line)


def _split(line: Line) -> list[Line]:
    """A line at its hard and soft breaks: logs are read, not set, so every break of the writer stays."""
    lines: list[Line] = [[]]
    for piece in line:
        for number, part in enumerate(piece.text.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append(Piece(part, piece.style))
    return lines


def _inline(token: Token, base: str) -> Line:
    """The pieces of inline tokens; made printable again, since an entity (`&#27;`) is a character from here on."""
    line: Line = []
    stack: list[str] = [base]
    address = ""
    for child in token.children or ():
        kind = child.type
        if kind == "text":
            line.append(Piece(printable(child.content), stack[-1]))
        elif kind in ("softbreak", "hardbreak"):
            line.append(Piece("\n"))
        elif kind == "code_inline":
            line.append(Piece(printable(child.content), "text--code"))
        elif kind == "strong_open":
            stack.append("text--strong")
        elif kind == "em_open":
            stack.append("text--em")
        elif kind == "s_open":
            stack.append("line--dim")
        elif kind == "link_open":
            stack.append("text--link")
            address = printable_line(str(child.attrGet("href") or ""))
        elif kind == "link_close":
            stack.pop()
            if address and line and address != line[-1].text:
                line.append(Piece(f" <{address}>", "line--dim"))
        elif kind in ("strong_close", "em_close", "s_close"):
            stack.pop()
        elif kind == "image":
            shown = printable_line(f"[image: {child.content}] <{child.attrGet('src') or ''}>")
            line.append(Piece(shown, "text--link"))
        else:
            line.append(Piece(printable(child.content), stack[-1]))
    return line
