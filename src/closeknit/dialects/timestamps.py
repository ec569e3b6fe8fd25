"""Conversion between Kubernetes' RFC 3339 timestamps and seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)
def parse(text: str) -> float:
    """parse("1970-01-01T00:01:00Z") == 60.0; ValueError without a UTC offset, since the time is then ambiguous."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f'"{text}" has no offset from UTC: write a time such as 2026-01-31T12:00:00Z')
    return moment.timestamp()


@lru_cache(maxsize=1024)
def show(seconds: float) -> str:
    """In UTC, with a fraction only if there is one: show(60.25) == "1970-01-01T00:01:00.25Z"."""
    moment = datetime.fromtimestamp(seconds, UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return text + (f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else "") + "Z"


def stamp(seconds: float) -> str:
    """The timestamp of an object, in whole seconds: stamp(60.25) == "1970-01-01T00:01:00Z"."""
    return show(int(seconds))
