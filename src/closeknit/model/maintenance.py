"""A maintenance window: nodes that are reserved for work on them from one time to another.

The node filter treats a window like a taint that only one kind of pod tolerates: pods that are sure to end before the
window begins. So a window needs no column of its own: it is one more entry in a node's list of taints, and pods with
the same windows to tolerate share the cache of their shape. The taint exists only in memory, never on a Node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from .shape import MAINTENANCE, Taint
from .workload import Workload

EVICTED = "Maintenance"
"""The reason of an eviction for a window."""

LabelPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A node is covered if it has all labels of one of the `domains`. `times` shows begin and end for people."""

    name: str
    domains: tuple[LabelPairs, ...]
    begins: float
    ends: float
    drain: bool = False
    times: str = ""

    @property
    def taint(self) -> Taint:
        return Taint(self.name, self.times, MAINTENANCE)

    @property
    def begun(self) -> str:
        """The message of an eviction for it."""
        return f'Maintenance "{self.name}" of its nodes has begun, {self.times}'

    def covers(self, labels: Mapping[str, str]) -> bool:
        return any(all(labels.get(key) == value for key, value in domain) for domain in self.domains)

    def is_active(self, now: float) -> bool:
        return self.begins <= now < self.ends

    def admits(self, end: float, now: float) -> bool:
        """Whether pods that end by `end` may be placed on its nodes: it is over, or they end before it begins."""
        return self.ends <= now or end <= self.begins


def end_of(workload: Workload, now: float) -> float:
    """When a workload placed now has certainly ended; infinity without a time limit.

    The limit counts from the admission, which checks that are not ready delay by an unknown time.
    """
    status = workload.status
    if workload.max_seconds is None or any(check.state != "Ready" for check in status.checks):
        return inf
    start = status.conditions["Admitted"].since if workload.admitted else now
    return start + max(0, workload.max_seconds - status.executed)
