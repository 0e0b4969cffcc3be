"""The stored JSON of an event: laid out and folding, or byte for byte as it stands in the log. Run it in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palimpsest_core import escaped
from palimpsest_tui.reading.json_lines import JsonDocument, NotLaidOut, lay_out, stored_notice
from palimpsest_tui.reading.lines import Document, FixedBlock, LongBlock
from palimpsest_tui.widgets import numbers

if TYPE_CHECKING:
    from palimpsest_core import CancelToken
    from palimpsest_tui.reading.lines import Line


def raw_document(
    stored: bytes, head: Sequence[Line], width: int, *, pretty: bool, wrapped: bool, cancel: CancelToken
) -> Document:
    """`stored` is the line of the log without its line end; empty for an event that is not in the file."""
    lines = [*head, []]
    if not stored:
        lines.append(stored_notice("This event was made in memory; the file does not hold it."))
        return Document([FixedBlock(lines)])
    text = stored.decode("utf-8", "replace")
    shown = escaped(text)
    notice = f"stored line, {numbers.plural(len(stored), 'byte')}"
    if shown != text:
        notice += ", control and direction characters as escapes"
    try:
        stored.decode("utf-8")
    except UnicodeDecodeError as error:
        notice += f", not UTF-8 at byte {error.start}"
    if pretty:
        try:
            rows = lay_out(shown)
        except NotLaidOut as error:
            notice += f". {error} Shown as stored."
        else:
            lines.append(stored_notice(notice + ", laid out (v: as stored)"))
            return JsonDocument(lines, rows, text)
    else:
        notice += ", as stored (v: laid out)"
    lines.append(stored_notice(notice))
    body = LongBlock(shown, width, wrapped=wrapped, tick=cancel.raise_if_set)
    return Document([FixedBlock(lines), body], copy_text=text)
