"""What a refusal names. A policy cannot name a field: it says it at the beginning of its message."""

from __future__ import annotations

import re
from typing import Any

DENIED = re.compile(r"denied request: (\S+): ")


def fields(status: dict[str, Any]) -> set[str]:
    named = [one["field"] for one in status["details"].get("causes", ()) if one.get("field")]
    return {plain(one) for one in (*named, *DENIED.findall(status["message"]))}


def told(status: dict[str, Any]) -> list[str]:
    """All that a refusal says."""
    return [status["message"], *(one["message"] for one in status["details"].get("causes", ()))]


def plain(field: Any) -> str:
    """Servers differ in how they write the key of a map: a.b, a[b]."""
    return str(field).replace("[", ".").replace("]", "")
