"""Decisions as lines of plain text, for those who have no terminal."""

from __future__ import annotations

from datetime import datetime

from .picture import Told


def clock(at: float) -> str:
    """The time of day here."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def line_of(told: Told) -> str:
    return f"{clock(told.at)}  {told.outcome:<9}  {told.job}  {told.text}  ({told.cost} µs)"
