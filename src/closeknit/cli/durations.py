"""Durations in options: 90s, 10m, 1h30m, 2d, or a plain number of seconds."""

from __future__ import annotations

import re

import click

_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """Parse the duration of an option; a click callback."""
    if text is None:
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    if not text or _PART.sub("", text):
        raise click.BadParameter(f'"{text}" is not a duration: write one such as 90s, 10m or 1h30m')
    return float(sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text)))
