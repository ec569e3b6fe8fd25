"""Whose pods are running where: which of them go when a workload stops.

Pods that were placed by topology count through their Workload. All others count on their node, whoever they belong
to, and have to be taken off it when their workload stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..model.mistake import Mistake
from ..model.workload import Workload
from .manifests import BoundPod, Manifests
from .nodes import name_some

GENERATIONS = 10
"""How far up owners are followed."""


@dataclass(slots=True)
class PodOwners:
    """`by_uid` has the keys of workloads by the uid of their job, `parents` the owners of jobs by the job's uid."""

    workloads: Mapping[str, Workload]
    by_uid: Mapping[str, str]
    parents: Mapping[str, tuple[str, ...]]
    others: dict[str, list[str]] = field(default_factory=dict)
    """Pods that count on their node, by the key of the workload that they stop with."""
    warnings: list[Mistake] = field(default_factory=list)

    def trace(self, found: Manifests) -> None:
        strays = []
        for bound in found.pods:
            key = self.workload_of(bound)
            holds = key is not None and self.workloads[key].reserved
            if not bound.by_topology:
                if key is not None and holds:
                    self.others.setdefault(key, []).append(bound.key)
            elif not holds:
                strays.append(f"Pod {bound.key}")
        if strays:
            text = f"pods placed by topology whose Workload holds no quota here: {len(strays)} ({name_some(strays)})"
            more = (
                "a workload that has gone takes its own along" if found.is_live else "give all Workloads to count them"
            )
            remedy = f"they are not counted on their nodes; {more}"
            self.warnings.append(Mistake(text, remedy))
        missing = {one.pod.node for one in found.pods} - found.nodes.keys()
        if missing and found.nodes:
            names = name_some(sorted(missing))
            if found.is_live:
                gone = Mistake(f"pods are bound to nodes that are gone: {names}", "Kubernetes deletes them in a while")
            else:
                gone = Mistake(f"pods run on nodes that were not given: {names}", "give all nodes")
            self.warnings.append(gone)

    def workload_of(self, bound: BoundPod) -> str | None:
        """By what the pod says itself, else by its owner, or the owner of that."""
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
