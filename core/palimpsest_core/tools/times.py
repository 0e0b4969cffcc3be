"""ISO 8601 instants at their full precision, and the milliseconds that they let through."""

from __future__ import annotations

import re
from typing import NamedTuple

from palimpsest_core.tools.errors import invalid_filter

_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
)
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Instant(NamedTuple):
    """A moment: whole milliseconds since the epoch, and the decimal digits below them, no trailing zeros.

    Instants compare by time: digits of a fraction compare like text.
    """

    milliseconds: int
    finer: str = ""


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, carried on backwards to the year 0."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def parse_instant(text: str, name: str) -> Instant:
    """`YYYY-MM-DDTHH:MM[:SS[.fraction]]` and `Z` or `±HH:MM`, checked as a real date; else `INVALID_FILTER`."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise invalid_filter(f"{name} must be an ISO 8601 time with Z or an offset, such as 2026-01-31T12:00:00Z.")
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    second, fraction, sign = int(match[6] or 0), match[7] or "", match[8]
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    offset_hour, offset_minute = int(match[9] or 0), int(match[10] or 0)
    real = 1 <= month <= 12 and 1 <= day <= _MONTHS[month - 1] + leap and hour < 24 and minute < 60 and second < 60
    if not real or offset_hour > 23 or offset_minute > 59:
        raise invalid_filter(f"{name} is no date and time of the calendar.")
    minutes = _days(year, month, day) * 1440 + hour * 60 + minute
    minutes -= (offset_hour * 60 + offset_minute) * (-1 if sign == "-" else 1)
    milliseconds = (minutes * 60 + second) * 1000 + int(fraction[:3].ljust(3, "0"))
    return Instant(milliseconds, fraction[3:].rstrip("0"))


def first_inside(instant: Instant) -> int:
    """The first whole millisecond that is not before `instant`."""
    return instant.milliseconds + (1 if instant.finer else 0)


def iso(milliseconds: float) -> str:
    """An event's time as ISO 8601 in UTC; a time beyond the calendar as its number of milliseconds."""
    whole = int(milliseconds) if abs(milliseconds) < 8_640_000_000_000_001 else None
    if whole is None:
        return f"{milliseconds} ms since 1970"
    days, rest = divmod(whole, 86_400_000)
    year, month, day = _date(days)
    seconds, millis = divmod(rest, 1000)
    year_text = f"{year:04d}" if 0 <= year <= 9999 else f"{'-' if year < 0 else '+'}{abs(year):06d}"
    return (
        f"{year_text}-{month:02d}-{day:02d}"
        f"T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{millis:03d}Z"
    )


def _date(days: int) -> tuple[int, int, int]:
    """The inverse of `_days`."""
    era, of_era = divmod(days + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return era * 400 + year_of_era + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
