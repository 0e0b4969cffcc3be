"""Rows of text in columns: harmless, measured in terminal cells, cut only where a terminal would break them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from palimpsest_core.base.printable import printable_line


def cell(text: str) -> str:
    """Foreign text as a cell of a row: one line, nothing a terminal would obey."""
    return printable_line(text)


def width_of(text: str) -> int:
    """How many terminal cells a harmless text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where it was cut."""
    if width_of(text) <= width:
        return text
    if text.isascii():
        return text[: max(width - 1, 0)] + "…"
    from rich.cells import set_cell_size

    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def pad(text: str, width: int, right: bool = False) -> str:
    """`text` filled up with spaces to `width` cells."""
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


def terminal_width() -> int | None:
    """The columns of the terminal on stdout, or None where the output goes elsewhere: then nothing is cut."""
    from palimpsest_tui.cli.output import is_terminal

    return shutil.get_terminal_size().columns if is_terminal() else None


def table(rows: Sequence[Sequence[str]], *, right: Iterable[int] = (), head: Sequence[str] = ()) -> Iterator[str]:
    """Rows as aligned lines; the last column takes the room that is left.

    `rows` hold harmless cells. `right` names columns that are set right. Without rows there is no head either.
    """
    if not rows:
        return
    shown = [head, *rows] if head else list(rows)
    columns = max(len(row) for row in shown)
    widths = [max((width_of(row[i]) for row in shown if i < len(row)), default=0) for i in range(columns)]
    most, to_right = terminal_width(), set(right)
    for row in shown:
        cells = [pad(row[i], widths[i], i in to_right) for i in range(len(row) - 1)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        yield cut(line, most) if most else line


def clock(milliseconds: float | None) -> str:
    """Epoch milliseconds as local date and time; a dash where unknown or beyond the calendar."""
    if milliseconds is None:
        return "-"
    try:
        return datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "-"


def size(count: float) -> str:
    """Bytes for people: `812 B`, `4.1 kB`, `17 MB`."""
    if count < 1000:
        return f"{int(count)} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 1000 or unit == "TB":
            return f"{count:.1f} {unit}" if count < 10 else f"{count:.0f} {unit}"
    return ""


def plural(count: int, one: str, many: str = "") -> str:
    """`1 session`, `2 sessions`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


BADGES = {"current": "C", "shadowed": "S", "log-only": "L", "withheld": "W"}
"""The letter of a surface, the same as in the app."""
