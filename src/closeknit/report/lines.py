"""Decisions and times as plain text, for output that is not a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from .picture import DecisionLine


def clock(at: float) -> str:
    """The local time of day."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def date(at: float) -> str:
    """A time in the format of the cluster's objects."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: float) -> str:
    """span(95) == "95 s", span(260) == "4 min 20 s"."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 7200 else f"{whole // 3600} h {whole % 3600 // 60} min"


def line_of(told: DecisionLine) -> str:
    return f"{clock(told.at)}  {told.outcome:<9}  {told.job}  {told.text}  ({told.cost} µs)"
