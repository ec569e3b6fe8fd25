"""A node as placement sees it: its labels, its taints, and what it can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .shape import Taint


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unschedulable: bool = False

    @property
    def usable(self) -> bool:
        """Only ready, schedulable nodes take part in placement."""
        return self.ready and not self.unschedulable

    @property
    def cordoned(self) -> bool:
        """Ready, but held back by `spec.unschedulable`: uncordoning would make it usable."""
        return self.ready and self.unschedulable
