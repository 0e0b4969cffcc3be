"""The only writer to stdout: text made harmless, JSON in one envelope, bytes as they are. UTF-8 whatever the locale."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

JSON_FORMAT = 1
"""Version of the JSON envelope; it grows when a key changes its meaning or goes, not when one is added."""
_FIRST_LINES = 50


class ReaderGone(Exception):
    """Whoever read our output has closed it (`| head`): the rest is not wanted, and that is no error."""


class _Written:
    """Whether anything went to stdout in this run: an error as JSON may only stand there alone."""

    anything = False


def begin() -> None:
    """A command line begins: nothing is written yet."""
    _Written.anything = False


@contextmanager
def _binary_stdout() -> Iterator[BinaryIO]:
    _Written.anything = True
    try:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error


def write_bytes(data: bytes) -> None:
    """Write bytes as they are: text that this module has encoded."""
    with _binary_stdout() as out:
        out.write(data)


def write_stored(line: bytes) -> None:
    """Write a stored line byte for byte; on a terminal with escapes for what a terminal would obey."""
    if is_terminal():
        from palimpsest_core.base.printable import escaped

        line = escaped(line.decode("utf-8", "backslashreplace")).encode("utf-8")
    write_bytes(line)


def write_text(text: str) -> None:
    """Write text that may hold anything, made harmless for a terminal, with a line end."""
    from palimpsest_core.base.printable import printable

    write_bytes(printable(text).encode("utf-8", "replace") + b"\n")


def write_lines(lines: Iterable[str]) -> None:
    """Write lines that are harmless already (a `columns.Line` is), a screenful at once, the rest in large pieces."""
    with _binary_stdout() as out:
        piece: list[str] = []
        room = _FIRST_LINES
        for line in lines:
            piece.append(line)
            if len(piece) == room:
                out.write(("\n".join(piece) + "\n").encode("utf-8", "replace"))
                out.flush()
                piece.clear()
                room = 1000
        if piece:
            out.write(("\n".join(piece) + "\n").encode("utf-8", "replace"))


def write_json(command: str, content: dict[str, Any]) -> None:
    """Write one JSON object: `format`, `command`, then the content.

    ASCII only, so that every locale and every terminal takes it; numbers that JSON does not have become null.
    """
    write_bytes(json_text({"format": JSON_FORMAT, "command": command, **content}).encode("ascii") + b"\n")


def write_json_error(command: str, status: int, message: str) -> None:
    """Write the envelope of a failure: `error` with the exit status and the sentence. Not behind other output."""
    if not _Written.anything:
        write_json(command, {"error": {"status": status, "message": message}})


def write_json_rows(command: str, content: dict[str, Any], key: str, rows: Iterable[Any]) -> None:
    """The same envelope with a long list under `key`, written row by row so that memory does not grow with it."""
    head = json_text({"format": JSON_FORMAT, "command": command, **content}).removesuffix("}").rstrip("\n")
    with _binary_stdout() as out:
        out.write(f"{head},\n  {json_text(key)}: [".encode("ascii"))
        mark = "\n    "
        for row in rows:
            out.write((mark + json_text(row, indent=None)).encode("ascii"))
            mark = ",\n    "
        out.write(b"\n  ]\n}\n")


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """`value` as ASCII JSON; infinities and NaN (a log may hold 1e400) become null, as in JavaScript.

    A value nested too deep for the library, such as a lineage of ten thousand sessions, comes on one line.
    """
    import json  # the app is started through here too, and writes none

    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)
    except (ValueError, RecursionError):
        from palimpsest_core.batch import results_text

        return results_text(value)


def say(message: str) -> None:
    """Tell the person something, on stderr: one line, made harmless."""
    from palimpsest_core.base.printable import printable_line

    _to_stderr(printable_line(message) + "\n")


def say_progress(message: str) -> None:
    """Show how far work is, in place; only where stderr is a terminal. An empty message clears the line."""
    if not sys.stderr.isatty():
        return
    from palimpsest_core.base.printable import printable_line

    _to_stderr("\r\x1b[K" + printable_line(message))


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.flush()
        sys.stderr.buffer.write(text.encode("utf-8", "replace"))
        sys.stderr.buffer.flush()
    except (OSError, ValueError):
        # Nobody can be told that nobody can be told.
        return


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def abandon_stdout() -> None:
    """The reader of our output has gone: point stdout at nothing, so that closing it says nothing either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
    finally:
        os.close(nowhere)
