"""The order in which people expect names: numbers in them count as numbers."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d+)", re.ASCII)


def natural(name: str) -> tuple[tuple[str | int, ...], str]:
    """A sort key: sorted(["job-10", "job-2"], key=natural) == ["job-2", "job-10"]."""
    parts = _NUMBER.split(name)
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), name
