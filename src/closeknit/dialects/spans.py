"""Durations in configurations, as Go writes them: 1h30m, 500ms."""

from __future__ import annotations

import re

from .field import Field, shown

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(span: Field) -> float:
    """The duration in seconds; reports a mistake and returns 0 if it is not one."""
    text = span.value if isinstance(span.value, str) else ""
    if not text or _SPAN.sub("", text):
        span.wrong(f"is {shown(span.value)}", "use a duration such as 90s, 5m or 1h30m")
        return 0.0
    return sum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(text))


def optional_seconds(span: Field) -> float | None:
    """The duration in seconds; None if the field is absent."""
    return seconds(span) if span.given else None
