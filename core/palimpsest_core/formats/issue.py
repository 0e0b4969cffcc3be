"""The first defect among the rows of a log: where the readable prefix ends."""

from __future__ import annotations

import msgspec

NO_HEADER = "no-header"
"""The cause when every line is withheld, since nothing tells how to read them."""


class Issue(msgspec.Struct):
    """Why rows are withheld from `line` on.

    `cause`: "bad-json", "too-deep", "blank-line", "not-object", "null", "bad-type" (in its place), "bad-row" (no
    sequence number), "bad-packed", "seq-gap", "seq-overlap", "row-limit", "no-header" (the log has no usable one) or
    "damage" (the bytes are at fault); the last two have findings of their own. `expected` is the sequence number that
    stood next, `found` the one claimed (-1 unknown). `last` is the highest one claimed from there on. `turn_end`: this
    row or a later one calls itself a turn end, so committed work lies behind the defect. `null`: one of the rows is
    null, which the harness itself stumbles over. `whole`: the defect lies in a complete frame. `note`: what a closer
    look told (see `formats.overlap`). `span`: how many numbers the row claims from `found` on (a packed one: several).
    """

    cause: str
    line: int
    offset: int
    expected: int
    found: int
    last: int = -1
    rows: int = 0
    turn_end: bool = False
    whole: bool = False
    null: bool = False
    note: str = ""
    span: int = 1

    def copy(self) -> Issue:
        """An independent copy."""
        return msgspec.structs.replace(self)
