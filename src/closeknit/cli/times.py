"""Times in options: 2026-11-18T22:00:00Z, 22:00 for the next time it is that late here, +2h from now, or now."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import click

from ..dialects.timestamps import parse
from ..model.mistake import refuse
from .durations import seconds

_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
REMEDY = "write a time such as 2026-01-31T22:00:00Z, 22:00, +2h or now"


def time_of(text: str, option: str, now: float, after: float | None = None) -> float:
    """The time in seconds since 1970; an hour of the day is the next one after `after`, or after now."""
    if text == "now":
        return now
    if text.startswith("+"):
        return now + _duration(text, option)
    hour = _HOUR.fullmatch(text)
    if hour:
        return _next(int(hour[1]), int(hour[2]), now if after is None else after)
    try:
        return parse(text)
    except ValueError:
        raise refuse(f'"{text}" is not a time', REMEDY, what=option) from None


def _duration(text: str, option: str) -> float:
    try:
        return seconds(click.Context(click.Command("time")), click.Option([option]), text[1:]) or 0.0
    except click.BadParameter:
        raise refuse(f'"{text}" is not a time', REMEDY, what=option) from None


def _next(hour: int, minute: int, after: float) -> float:
    """The next such time of the local clock."""
    start = datetime.fromtimestamp(after).astimezone()
    found = start.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (found if found > start else found + timedelta(days=1)).timestamp()
