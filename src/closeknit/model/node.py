"""A node as placement sees it: its labels, its taints, and what it can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .shape import Taint
from .workload import LONG_AGO


@dataclass(frozen=True, slots=True)
class Node:
    """`ready_since` is when `ready` last changed; None for a node that has never reported a Ready condition."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unschedulable: bool = False
    ready_since: float | None = field(default=LONG_AGO, compare=False)

    @property
    def usable(self) -> bool:
        """Only ready, schedulable nodes take part in placement."""
        return self.ready and not self.unschedulable

    @property
    def cordoned(self) -> bool:
        """Ready, but held back by `spec.unschedulable`: uncordoning would make it usable."""
        return self.ready and self.unschedulable
