"""Times as people type them: `2026-01-31`, `2026-01-31T12:00`, `3d`, `2h`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    _Type = click.ParamType[int]
else:
    # Older releases of click know no parameters here.
    _Type = click.ParamType

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Moment(_Type):
    """A time option: an ISO date or time (local unless it names an offset), or an age such as `3d` (m, h, d, w).

    The value is epoch milliseconds. A date alone means its first moment, with `end` its last.
    """

    name = "time"

    def __init__(self, end: bool = False) -> None:
        self.end = end

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value).strip()
        age = re.fullmatch(r"([0-9]{1,6})([mhdw])", text)
        try:
            if age is not None:
                then = datetime.now().astimezone() - timedelta(**{_UNITS[age[2]]: int(age[1])})
            else:
                then = datetime.fromisoformat(text).astimezone()
                if self.end and re.fullmatch(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}", text):
                    then += timedelta(days=1, milliseconds=-1)
            return int(then.timestamp() * 1000)
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is no time: write 2026-01-31, 2026-01-31T12:00 or an age such as 3d", param, ctx)
