"""Cron schedules: minute, hour, day of the month, month, day of the week, or a name such as @daily.

If both days are restricted, either is enough. Times are in a time zone; a local time that daylight saving skips is left
out, one that occurs twice counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FARTHEST = 366 * 5
"""Days to look ahead: a day that does not occur within five years never does."""


class Schedule(NamedTuple):
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether a day of the month or a day of the week is enough."""

    def has_day(self, moment: datetime) -> bool:
        by_date, by_week = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return moment.month in self.months and (by_date or by_week if self.either_day else by_date and by_week)

    def after(self, seconds: float, of: tzinfo = UTC) -> float | None:
        """The next time after `seconds`; None if there is none."""
        for at in self._times(seconds, of, forward=True):
            if at > seconds:
                return at
        return None

    def until(self, seconds: float, of: tzinfo = UTC) -> float | None:
        """The last time up to `seconds`; None if there is none."""
        for at in self._times(seconds, of, forward=False):
            if at <= seconds:
                return at
        return None

    def _times(self, seconds: float, of: tzinfo, *, forward: bool) -> Iterator[float]:
        """The times from that day on, forwards or backwards."""
        day = datetime.fromtimestamp(seconds, of).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        step = timedelta(days=1 if forward else -1)
        hours, minutes = (sorted(part, reverse=not forward) for part in (self.hours, self.minutes))
        for _ in range(FARTHEST):
            if self.has_day(day):
                for hour in hours:
                    for minute in minutes:
                        at = _real(day.replace(hour=hour, minute=minute))
                        if at is not None:
                            yield at
            day = (day + step).replace(fold=0)


@lru_cache(maxsize=256)
def schedule(text: str) -> Schedule:
    """Parse a schedule; ValueError if it is invalid."""
    fields = MACROS.get(text.strip(), text).split()
    if len(fields) != 5:
        raise ValueError(f'"{text}" is not a schedule: write five fields, such as "0 2 * * 1-5", or @hourly')
    minutes, hours, days, months, weekdays = fields
    week = _values(weekdays, 0, 7, WEEKDAYS)
    return Schedule(
        _values(minutes, 0, 59),
        _values(hours, 0, 23),
        _values(days, 1, 31),
        _values(months, 1, 12, ("", *MONTHS)),
        frozenset(day % 7 for day in week),
        not _is_any(days) and not _is_any(weekdays),
    )


def zone(name: str | None) -> tzinfo:
    """A time zone by name; ValueError if it is unknown."""
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(f'"{name}" is not a time zone') from error


def _is_any(field: str) -> bool:
    return field.startswith(("*", "?"))


def _values(field: str, low: int, high: int, names: Sequence[str] = ()) -> frozenset[int]:
    """_values("1-5/2,9", 0, 23) == {1, 3, 5, 9}."""
    result: set[int] = set()
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        step = int(step_text) if slash else 1
        if span in ("*", "?"):
            first, last = low, high
        else:
            start, dash, end = span.partition("-")
            first = _value(start, names)
            last = _value(end, names) if dash else (high if slash else first)
        if step < 1 or not low <= first <= last <= high:
            raise ValueError(f'"{field}" is not within {low} to {high}')
        result.update(range(first, last + 1, step))
    return frozenset(result)


def _value(text: str, names: Sequence[str]) -> int:
    lower = text.lower()
    return names.index(lower) if lower and lower in names else int(text)


def _real(moment: datetime) -> float | None:
    """The local time as a timestamp; None if daylight saving skips it."""
    seconds = moment.timestamp()
    back = datetime.fromtimestamp(seconds, moment.tzinfo)
    return seconds if (back.hour, back.minute) == (moment.hour, moment.minute) else None
