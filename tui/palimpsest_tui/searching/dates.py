"""Days and spans as people type them into `since:` and `until:`. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_SPAN = re.compile(r"^(\d{1,5})([mhdwy])$")
_SPANS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_FORMATS = (
    ("%Y-%m-%dT%H:%M:%S", timedelta(seconds=1)),
    ("%Y-%m-%dT%H:%M", timedelta(minutes=1)),
    ("%Y-%m-%d", timedelta(days=1)),
    ("%Y-%m", timedelta(days=31)),
    ("%Y", timedelta(days=365)),
)


def bounds(value: str, now_ms: int) -> tuple[int, int] | None:
    """The first and the last millisecond of what `value` names, in local time; None when it names no time.

    `7d` (also m, h, w, y) names the moment that long ago; `today`, `yesterday`, a year, a month, a day or a minute name
    a span.
    """
    word = value.strip().lower()
    now = datetime.fromtimestamp(now_ms / 1000)
    span = _SPAN.match(word)
    if span is not None:
        moment = now_ms - int(span.group(1)) * _SPANS[span.group(2)] * 1000
        return moment, moment
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in ("today", "yesterday"):
        start = midnight if word == "today" else midnight - timedelta(days=1)
        return _ms(start), _ms(start + timedelta(days=1)) - 1
    for pattern, length in _FORMATS:
        try:
            start = datetime.strptime(value.strip(), pattern)
        except ValueError:
            continue
        end = start + length
        if pattern == "%Y-%m":
            end = end.replace(day=1)
        elif pattern == "%Y":
            end = start.replace(year=start.year + 1) if start.year < 9999 else end
        try:
            return _ms(start), _ms(end) - 1
        except (OverflowError, ValueError, OSError):
            return None
    return None


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
