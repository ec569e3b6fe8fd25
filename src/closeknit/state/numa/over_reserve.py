"""OverReserve: a snapshot of reports, less what was placed since, from every zone that could have taken it.

    snapshot ──reserve()──▶ snapshot − assumed pods ──refused(), a foreign pod──▶ dirty ──resync()──▶ new snapshot
                                                                                   │ ▲
                                                                                   └─┘ the fingerprint is another

A pod is charged to all zones that list what it asks for, since the kubelet chooses; so a node looks fuller than it is.
A rejected pod makes the node a candidate for a resync, which takes the agent's latest report if its fingerprint is that
of the pods known here, and forgets the assumed pods. A pod that another scheduler placed, a foreign pod, blocks its
node until then.

Upstream lists reports once, at its start. Here nodes may be added and dropped later; `put` of a known node is only a
change to look at, as there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from ...model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from ...model.numa_arguments import MatchArguments
from ...numa.fingerprint import check, covers_exclusive_only
from ...numa.placement_vector import ContainerName, PlacementError, decoded
from .caches import PassthroughCache, ZonesView
from .zoned_pod import ZonedPod


class ResyncState(Enum):
    ACCEPTED = "accepted"
    NO_REPORT = "the node has no report"
    NO_PODS = "no pods are known on the node"
    NO_FINGERPRINT = "the report has no fingerprint"
    OTHER_PODS = "the report is about other pods"


class Resync(NamedTuple):
    node: str
    state: ResyncState


class OverReserveCache(PassthroughCache):
    """`profiles` are the names of the schedulers that use the plug-in; pods of any other are foreign."""

    def __init__(self, arguments: MatchArguments, profiles: Collection[str], reports: Iterable[NodeZones] = ()) -> None:
        super().__init__()
        self.arguments, self.profiles = arguments, frozenset(profiles)
        self.generation = 0
        self._assumed: dict[str, dict[tuple[str, str], dict[str, int]]] = {}
        self._known: dict[str, tuple[ZonedPod, ...]] = {}
        self._refused: Counter[str] = Counter()
        self._foreign: Counter[str] = Counter()
        self._changed: set[str] = set()
        for report in reports:
            self._reports[report.node] = report

    def put(self, report: NodeZones) -> None:
        """A report came. Of a known node, only a change of its Topology Manager counts before the next resync."""
        before = self._reports.setdefault(report.node, report)
        if self.arguments.resync_scope == "All" and _settings(before.manager) != _settings(report.manager):
            self._changed.add(report.node)

    def drop(self, node: str) -> None:
        super().drop(node)
        self._clear(node)

    def view(self, node: str) -> ZonesView:
        zones = self._reports.get(node)
        if zones is None:
            return ZonesView(None)
        if self._foreign[node]:
            return ZonesView(None, False)
        return ZonesView(charged(zones, self._assumed.get(node, {}).values()))

    def placement(self, node: str) -> Mapping[ContainerName, int] | None:
        """The zones of containers as of the last resync; None without a report that can be decoded."""
        zones = self._reports.get(node)
        if zones is None or zones.placement is None or zones.manager.policy != "single-numa-node":
            return None
        pinned = [name for pod in self._known.get(node, ()) for name in pod.pinned(zones.names)]
        try:
            return decoded(zones.placement, pinned)
        except PlacementError:
            return None

    def reserve(self, node: str, pod: ZonedPod) -> None:
        if node in self._reports:
            self._assumed.setdefault(node, {})[pod.key] = pod.needs.effective

    def unreserve(self, node: str, pod: ZonedPod) -> None:
        self._assumed.get(node, {}).pop(pod.key, None)

    def refused(self, node: str) -> None:
        if node in self._reports:
            self._refused[node] += 1

    def pod_changed(self, pod: ZonedPod) -> None:
        """Mark the node of a foreign pod. With OnlyExclusiveResources, one that has nothing of its own is no matter."""
        mode, zones = self.arguments.foreign_pods, self._reports.get(pod.node)
        if zones is None or mode == "None" or pod.scheduler in self.profiles:
            return
        if mode == "All" or pod.needs.is_exclusive(zones.names):
            self._foreign[pod.node] += 1

    @property
    def dirty(self) -> list[str]:
        """The nodes that the next resync looks at."""
        return sorted({*+self._refused, *+self._foreign, *self._changed})

    def resync(self, reports: Mapping[str, NodeZones], pods: Iterable[ZonedPod]) -> list[Resync]:
        """Take the current reports of dirty nodes that account for the pods that are known; the others stay dirty."""
        by_node: dict[str, list[ZonedPod]] = {}
        for pod in pods:
            if self._is_relevant(pod):
                by_node.setdefault(pod.node, []).append(pod)
        results = []
        for node in self.dirty:
            report, known = reports.get(node), tuple(by_node.get(node, ()))
            state = self._judged(report, known, node in self._changed)
            if report is not None and state is ResyncState.ACCEPTED:
                self._flush(report, known)
            results.append(Resync(node, state))
        return results

    def _is_relevant(self, pod: ZonedPod) -> bool:
        if self.arguments.informer_mode == "Shared":
            return bool(pod.node) and pod.phase == "Running"
        return bool(pod.node) and pod.phase != "Pending"

    def _judged(self, report: NodeZones | None, known: Collection[ZonedPod], settings_changed: bool) -> ResyncState:
        if report is None:
            return ResyncState.NO_REPORT
        if settings_changed:
            return ResyncState.ACCEPTED
        if not known:
            return ResyncState.NO_PODS
        if not report.fingerprint:
            return ResyncState.NO_FINGERPRINT
        exclusive_only = covers_exclusive_only(report, self.arguments.resync_method)
        entering = [pod.key for pod in known if not exclusive_only or pod.needs.is_exclusive(report.names)]
        return ResyncState.OTHER_PODS if check(report.fingerprint, entering) else ResyncState.ACCEPTED

    def _flush(self, report: NodeZones, known: tuple[ZonedPod, ...]) -> None:
        self._clear(report.node)
        self._reports[report.node], self._known[report.node] = report, known
        self.generation += 1

    def _clear(self, node: str) -> None:
        for held in (self._assumed, self._known, self._refused, self._foreign):
            held.pop(node, None)
        self._changed.discard(node)


def charged(zones: NodeZones, requests: Iterable[Mapping[str, int]]) -> NodeZones:
    """The zones less these requests, each taken from every zone that lists the resource, down to 0."""
    total: Counter[str] = Counter()
    for one in requests:
        total.update(one)
    return replace(zones, zones=tuple(_charged(zone, total) for zone in zones.zones)) if total else zones


def _charged(zone: Zone, requests: Mapping[str, int]) -> Zone:
    left = {
        name: ZoneAmounts(one.capacity, one.allocatable, max(0, one.available - requests.get(name, 0)))
        for name, one in zone.resources.items()
    }
    return replace(zone, resources=left)


def _settings(manager: TopologyManager) -> tuple[str, str, int]:
    return manager.policy, manager.scope, manager.max_zones
