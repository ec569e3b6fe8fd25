"""Events as users see them on their objects."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Event(NamedTuple):
    key: str
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
