"""Finds the workload of each running pod, to know which pods stop with a workload.

The cache counts what pods use. Here a pod is only traced to the workload that it stops with, by its own annotations or
by its owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.mistake import Mistake
from ..model.workload import Workload
from .manifests import BoundPod, Manifests
from .nodes import name_some

GENERATIONS = 10
"""How many levels of owners are followed."""


@dataclass(slots=True)
class PodOwners:
    """`by_uid` has the keys of workloads by the uid of their job."""

    workloads: Mapping[str, Workload]
    by_uid: Mapping[str, str]
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The owners of jobs by the job's uid."""
    stops_with: dict[str, list[str]] = field(default_factory=dict)
    """Pods by the key of the workload that they stop with."""
    warnings: list[Mistake] = field(default_factory=list)

    def trace(self, found: Manifests, counts_draining: bool) -> None:
        """`counts_draining`: pods whose workload holds no assignment still count on their nodes."""
        self.parents |= {str(one.raw["metadata"].get("uid")): _owners(one.raw["metadata"]) for one in found.jobs}
        strays = []
        for bound in found.pods:
            key = self.workload_of(bound)
            if key is not None and self.workloads[key].reserved:
                self.stops_with.setdefault(key, []).append(bound.key)
            elif bound.by_topology and (bound.workload or not counts_draining):
                strays.append(f"Pod {bound.key}")
        if strays:
            text = f"pods placed by topology without a Workload that holds quota: {len(strays)} ({name_some(strays)})"
            remedy = "they use capacity on their nodes until they end"
            if not counts_draining:
                remedy = "their capacity counts as free, as in Kueue: the gate CountDrainingPods is off"
            if not found.is_live:
                remedy += "; give all Workloads, if some are missing"
            self.warnings.append(Mistake(text, remedy))
        missing = {one.node for one in found.pods} - found.nodes.keys()
        if missing and found.nodes:
            names = name_some(sorted(missing))
            if found.is_live:
                gone = Mistake(f"pods are bound to nodes that are gone: {names}", "Kubernetes deletes them in a while")
            else:
                gone = Mistake(f"pods run on nodes that were not given: {names}", "give all nodes")
            self.warnings.append(gone)

    def workload_of(self, bound: BoundPod) -> str | None:
        """The pod's workload by its own annotation, else by its chain of owners."""
        key = f"{bound.namespace}/{bound.workload}"
        if key in self.workloads:
            return key
        uids: Iterable[str] = bound.owners
        for _ in range(GENERATIONS):
            found = next((self.by_uid[uid] for uid in uids if uid in self.by_uid), None)
            if found is not None:
                return found if found in self.workloads else None
            uids = [parent for uid in uids for parent in self.parents.get(uid, ())]
            if not uids:
                break
        return None


def _owners(meta: Mapping[str, Any]) -> tuple[str, ...]:
    owners = meta.get("ownerReferences") or ()
    return tuple(str(one["uid"]) for one in owners if isinstance(one, dict) and one.get("uid"))
