"""Times, sizes and counts as short words for narrow columns. Pure."""

from __future__ import annotations

import time as clock

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def now_ms() -> int:
    """This moment in epoch milliseconds."""
    return int(clock.time() * 1000)


def _local(time_ms: int) -> clock.struct_time | None:
    try:
        return clock.localtime(time_ms / 1000)
    except (OverflowError, ValueError, OSError):
        return None  # a logged time may be any number


def clock_time(time_ms: int) -> str:
    """`12:01` in local time, five cells; `--:--` for a time no calendar knows."""
    at = _local(time_ms)
    return "--:--" if at is None else f"{at.tm_hour:02}:{at.tm_min:02}"


def day(time_ms: int) -> str:
    """`Nov28`, five cells."""
    at = _local(time_ms)
    return "-----" if at is None else f"{_MONTHS[at.tm_mon - 1]}{at.tm_mday:>2}"


def full_time(time_ms: int) -> str:
    """`2026-11-28 12:01:07`."""
    at = _local(time_ms)
    return f"at {time_ms}" if at is None else clock.strftime("%Y-%m-%d %H:%M:%S", at)


def age(time_ms: int | None, now_ms: int) -> str:
    """How long ago in at most six cells: `now`, `5m`, `2h`, `yest`, `Nov 28`, `2024`; empty when unknown."""
    if time_ms is None:
        return ""
    at, now = _local(time_ms), _local(now_ms)
    if at is None or now is None:
        return "?"
    seconds = (now_ms - time_ms) // 1000
    if -60 <= seconds < 60:
        return "now"
    if seconds < -60:
        return f"{_MONTHS[at.tm_mon - 1]} {at.tm_mday}" if at.tm_year == now.tm_year else str(at.tm_year)
    if seconds < 3600:
        return f"{seconds // 60}m"
    if (at.tm_year, at.tm_yday) == (now.tm_year, now.tm_yday):
        return f"{seconds // 3600}h"
    if seconds < 48 * 3600 and (now.tm_yday - at.tm_yday) % 366 in (1, 2) and seconds < 24 * 3600 + _day_seconds(now):
        return "yest"
    if at.tm_year == now.tm_year:
        return f"{_MONTHS[at.tm_mon - 1]} {at.tm_mday}"
    return str(at.tm_year)


def _day_seconds(now: clock.struct_time) -> int:
    return now.tm_hour * 3600 + now.tm_min * 60 + now.tm_sec


def count(number: int | None) -> str:
    """A count in at most four cells: `88`, `1.3k`, `41k`, `1.2M`; empty when unknown."""
    if number is None:
        return ""
    if number < 1000:
        return str(number)
    for unit, size in (("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000)):
        if number < size * 9.95:
            return f"{number / size:.1f}{unit}"
        if number < size * 1000:
            return f"{number // size}{unit}"
    return "huge"


def exact(number: int) -> str:
    """A count with a comma at each thousand."""
    return f"{number:,}"


def size(number: int) -> str:
    """Bytes in at most six cells: `412 B`, `4.1 KB`, `7.2 MB`."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("KB", "MB", "GB", "TB"):
        value /= 1000
        if value < 9.95:
            return f"{value:.1f} {unit}"
        if value < 999.5 or unit == "TB":
            return f"{value:.0f} {unit}"
    return "huge"


def duration(seconds: float) -> str:
    """A time span: `41 s`, `3 min`, `2 h 05`."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    if whole < 90 * 60:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 event`, `2 events`."""
    return f"{exact(number)} {one if number == 1 else many or one + 's'}"
