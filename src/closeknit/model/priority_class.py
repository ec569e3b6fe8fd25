"""A priority by name, so that many workloads can be moved up or down by changing one object."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PriorityClass:
    name: str
    value: int
    description: str = ""
