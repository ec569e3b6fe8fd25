"""Ages in the format of kubectl: exact if short, coarse if long."""

from __future__ import annotations

from ....dialects import timestamps

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def age(text: object, now: float) -> str:
    """age("2026-01-01T00:00:00Z", …) == "3m12s"; without a time it is unknown."""
    moment = seconds(text)
    return UNKNOWN if moment is None else shown(now - moment)


def seconds(text: object) -> float | None:
    """A timestamp in seconds since 1970; None if there is none."""
    try:
        return timestamps.parse(text) if isinstance(text, str) and text else None
    except (ValueError, OverflowError):
        return None


def shown(span: float) -> str:
    """shown(119) == "119s", shown(125) == "2m5s", shown(11_000) == "3h3m", shown(200_000) == "2d7h"."""
    whole = int(span)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _pair(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _pair(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _pair(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _pair(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _pair(whole: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    rest = whole % unit // smaller
    return f"{whole // unit}{name}{rest}{smaller_name}" if rest else f"{whole // unit}{name}"
