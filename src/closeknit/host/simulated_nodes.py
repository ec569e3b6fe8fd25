"""What simulated kubelets and their agents know of a cluster, and what they would write for one node.

It is told every change, and computes with the parts of the embedded host's stand-ins. What a pod holds is on the pod,
so a process that starts again continues where the last one stopped: nothing here has to be saved. Only the order in
which pods were bound is remembered, where two bindings fall into one second and the pods were changed since.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..cluster.embedded.standins.children import condition, is_ended
from ..cluster.embedded.standins.machine_faults import machine
from ..cluster.embedded.standins.zone_admission import admissions, waits, zones_on
from ..cluster.embedded.standins.zone_exporter import accounted, reported, withdrawn
from ..cluster.kinds import NODE, NODE_TOPOLOGY, POD
from ..cluster.port import Change, Key, Raw, Update, Write
from ..dialects.own_marks import NUMA
from ..dialects.timestamps import stamp
from ..numa.simulated import SimulatedZones

log = logging.getLogger(__name__)


class Touched(NamedTuple):
    """A node for which there may be something to do; `stale`: its report has to be checked."""

    node: str
    stale: bool = False


class SimulatedNodes:
    """Nodes with all of these labels. `zones` has None for those that have none: their kubelets admit every pod."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = labels
        self.zones: dict[str, SimulatedZones | None] = {}
        self._nodes: dict[str, Raw] = {}
        self._pods: dict[str, dict[Key, Raw]] = {}
        self._bound: dict[str, int] = {}
        """The version at which each pod was first seen on a node."""
        self._reports: dict[str, Raw] = {}

    def find(self, key: Key) -> Raw | None:
        if key.kind is POD:
            return next((pods[key] for pods in self._pods.values() if key in pods), None)
        return (self._nodes if key.kind is NODE else self._reports).get(key.name)

    def see(self, change: Change) -> Touched | None:
        match change.kind:
            case kind if kind is NODE:
                return self._node(change)
            case kind if kind is NODE_TOPOLOGY:
                return self._report(change)
        return self._pod(change)

    def _node(self, change: Change) -> Touched | None:
        name, raw = change.key.name, change.object
        if change.type == "DELETED" or not self._is_simulated(raw):
            self._nodes.pop(name, None)
            self.zones.pop(name, None)
            return None
        zones, is_new = self._zones_on(raw), name not in self._nodes
        is_changed = is_new or zones != self.zones[name]
        self._nodes[name], self.zones[name] = raw, zones
        return Touched(name, True) if is_changed else None

    def _is_simulated(self, node: Raw) -> bool:
        labels = node["metadata"].get("labels") or {}
        return self.labels.items() <= labels.items() and not machine(node).is_silent

    def _zones_on(self, node: Raw) -> SimulatedZones | None:
        name = node["metadata"]["name"]
        try:
            return zones_on(node)
        except ValueError as error:
            if name not in self._nodes or self._nodes[name]["metadata"] != node["metadata"]:
                log.warning("node %s counts as without zones: annotation %s: %s", name, NUMA, error)
            return None

    def _report(self, change: Change) -> Touched | None:
        name = change.key.name
        if change.type != "DELETED":
            self._reports[name] = change.object
            return None
        self._reports.pop(name, None)
        return Touched(name, True) if name in self._nodes else None

    def _pod(self, change: Change) -> Touched | None:
        pod, key = change.object, change.key
        node, uid = pod["spec"].get("nodeName"), pod["metadata"].get("uid", "")
        if not node:
            return None
        pods = self._pods.setdefault(node, {})
        old = pods.pop(key, None)
        if change.type == "DELETED" or is_ended(pod):
            self._bound.pop(uid, None)
        else:
            pods[key] = pod
            self._bound.setdefault(uid, change.version)
        if not pods:
            del self._pods[node]
        return Touched(node, accounted(pods.get(key)) != accounted(old)) if node in self._nodes else None

    # What to write

    def admissions(self, name: str, now: float) -> Iterator[Write]:
        """The verdicts on the pods of a node that wait for one, in the order in which they were bound."""
        there = [*self._pods.get(name, {}).values()]
        waiting = sorted(filter(waits, there), key=self._order)
        zones = self.zones.get(name)
        if zones is not None and waiting:
            yield from admissions(zones, there, waiting, now)
        elif name in self._nodes:
            for pod in waiting:
                yield Update(POD, {**pod, "status": {**pod["status"], "startTime": stamp(now)}}, "status")

    def _order(self, pod: Raw) -> tuple[str, int]:
        scheduled = condition(pod, "PodScheduled") or {}
        meta = pod["metadata"]
        at = scheduled.get("lastTransitionTime") or meta["creationTimestamp"]
        return at, self._bound.get(meta["uid"], 0)

    def report(self, name: str) -> Iterator[Write]:
        """The report of a node, if it is not what it should be."""
        node, found = self._nodes.get(name), self._reports.get(name)
        if node is None:
            return
        zones = self.zones[name]
        if zones is None:
            yield from withdrawn(node, found)
        else:
            yield from reported(node, zones, self._pods.get(name, {}).values(), found)
