"""A named priority, so that changing one object reorders many workloads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PriorityClass:
    name: str
    value: int
    description: str = ""
