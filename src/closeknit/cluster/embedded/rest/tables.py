"""What `kubectl get` prints."""

from __future__ import annotations

from typing import Any

from ...kinds import Kind
from ...port import Raw


def columns(kind: Kind) -> list[Raw]:
    return [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]


def cells(kind: Kind, raw: Raw, now: float) -> list[Any]:
    return [raw["metadata"].get("name", "")]
