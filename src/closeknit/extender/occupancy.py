"""Which pods of a node its report accounts for, where rules follow the plug-in: the others are charged on top of it.

A report with a fingerprint names the set of pods that its agent saw: it is compared with the sets of pods that the node
had lately, the present one first. Without a match, a report accounts for the pods that were bound a minute before it
was written, since agents publish at least once a minute. That errs on the side of charging a pod twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.numa import NodeZones
from ..numa.fingerprint import fingerprint
from ..numa.placement_vector import ContainerName, PlacementError, decoded
from .applicant import Applicant

SETTLED = 60.0
"""Seconds between two reports at the latest."""
MOST_SETS = 32

Pods = tuple[Applicant, ...]


@dataclass(slots=True)
class Occupancy:
    """The pods of one node, in the order of their binding, and which of them its report accounts for."""

    pods: dict[str, Applicant] = field(default_factory=dict)
    report: NodeZones | None = None
    accounted: Pods = ()
    _sets: deque[Pods] = field(default_factory=lambda: deque([()], MOST_SETS))

    def add(self, applicant: Applicant) -> None:
        self.pods[applicant.uid] = applicant
        self._sets.append(tuple(self.pods.values()))

    def remove(self, uid: str) -> None:
        if self.pods.pop(uid, None) is not None:
            self._sets.append(tuple(self.pods.values()))

    @property
    def charged(self) -> list[Applicant]:
        """The pods to charge on top of the report."""
        known = {one.uid for one in self.accounted}
        return [one for uid, one in self.pods.items() if uid not in known]

    def take(self, report: NodeZones, written_at: float) -> None:
        found = self._matching(report) if report.fingerprint else None
        if found is None:
            found = tuple(one for one in self.pods.values() if one.bound_at + SETTLED <= written_at)
        self.report, self.accounted = report, found

    def drop(self) -> None:
        """The node has no report any more."""
        self.report, self.accounted = None, ()

    def _matching(self, report: NodeZones) -> Pods | None:
        """The latest set of pods that has the report's fingerprint."""
        only_exclusive = report.exclusive_only and not report.in_annotation
        names, seen = report.names, set[tuple[tuple[str, str], ...]]()
        for pods in reversed(self._sets):
            some = tuple(one.pod.key for one in pods if not only_exclusive or one.pod.needs.is_exclusive(names))
            if some not in seen and fingerprint(some) == report.fingerprint:
                return pods
            seen.add(some)
        return None

    def placement(self) -> Mapping[ContainerName, int]:
        """The zones of the containers that the report accounts for, as far as it tells; empty if it does not."""
        if self.report is None or self.report.placement is None:
            return {}
        names = self.report.names
        pinned = [name for one in self.accounted for name in one.pod.pinned(names)]
        try:
            return decoded(self.report.placement, pinned)
        except PlacementError:
            return {}
