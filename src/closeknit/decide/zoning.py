"""The NUMA zones of the world: reports and bound pods on their way to the mirror.

Nothing is kept of zones before the first report, so a cluster without reports pays nothing. Then every bound pod is
shown to the zones once, and from there on each change. The time of a change is the world's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.numa.filter_admissions import FilterAdmissions
from ..model.numa import NodeZones
from ..model.numa_settings import NumaSettings
from ..numa.admissions import Admissions
from ..numa.demand import PodDemand
from ..state.mirror import OtherPod, Usage
from ..state.numa.zone_plans import ZonePlans, holder_of
from ..state.placed import PlacedPod

if TYPE_CHECKING:
    from .world import World


class Zoning:
    """`settings` are None where zones do not count. `reports` are what nodes report, whether they exist or not."""

    def __init__(self, world: World, settings: NumaSettings | None) -> None:
        self.world, self.settings = world, settings
        self.reports: dict[str, NodeZones] = {}

    @property
    def plans(self) -> ZonePlans | None:
        """What is known of zones; None before the first report."""
        plans = self.world.mirror.zones
        if plans is not None:
            plans.now = self.world.clock()
        return plans

    def put_report(self, zones: NodeZones) -> None:
        self.reports[zones.node] = zones
        if self.settings is None:
            return
        plans = self.plans or self._begin(self.settings)
        plans.put_report(zones, self.world.nodes.get(zones.node))
        self.world.mirror.rezone((zones.node,))

    def _begin(self, settings: NumaSettings) -> ZonePlans:
        """The first report has come: the pods that are bound already count, too."""
        plans = ZonePlans(settings, FilterAdmissions() if settings.mode == "compat" else Admissions())
        plans.now = self.world.clock()
        for pods in (self.world.other_pods, self.world.placed.pods):
            for key, pod in pods.items():
                _put(plans, key, pod)
        self.world.mirror.put_zones(plans)
        return plans

    def drop_report(self, node: str) -> None:
        self.reports.pop(node, None)
        plans = self.plans
        if plans is None:
            return
        plans.drop_report(node)
        self.world.mirror.rezone((node,))
        if not self.reports:
            self.world.mirror.put_zones(None)

    def refresh(self, node: str) -> None:
        """A node has other labels, so that other rules may apply to its kubelet."""
        plans = self.plans
        if plans is not None and node in self.reports:
            self.put_report(self.reports[node])

    def put_pod(self, key: str, pod: OtherPod | PlacedPod) -> None:
        plans = self.plans
        if plans is not None:
            before = plans.node_of(key)
            _put(plans, key, pod)
            self.world.mirror.rezone({before, pod.node} - {""})

    def drop_pod(self, key: str) -> None:
        """A pod was deleted."""
        plans = self.plans
        if plans is not None:
            before = plans.node_of(key)
            plans.drop_pod(key)
            self.world.mirror.rezone({before} - {""})

    def end_pod(self, key: str) -> None:
        """A pod has ended, and is still there."""
        plans = self.plans
        if plans is not None:
            plans.end_pod(key)
            self.world.mirror.rezone({plans.node_of(key)} - {""})

    def admits(self, place: Usage) -> bool:
        """Whether the kubelets admit all pods of a place that counts on its nodes, after what was there before."""
        mirror = self.world.mirror
        zones = None if mirror.zones is None else mirror.columns.zones
        if zones is None:
            return True
        parts = (part for part in mirror.trial(place) if part.owner is None)
        return all(zones.has_all(at, counts, place.holder) for at, counts, _ in parts)

    def due(self) -> float | None:
        """When a reading of a report changes by time alone."""
        plans = self.plans
        if plans is None:
            return None
        times = (plans.accounts.due(plans.now), plans.pauses.due)
        return min((time for time in times if time is not None), default=None)

    def settle(self) -> bool:
        """Count again where time alone may have changed something; whether there is such a node."""
        plans = self.plans
        nodes = () if plans is None else (*plans.accounts.unmatched, *plans.pauses.ended(plans.now))
        self.world.mirror.rezone(nodes)
        return bool(nodes)

    def refused(self, node: str, demand: PodDemand) -> float:
        """A kubelet refused a pod that was promised a place; the seconds for which no such pod is sent there."""
        plans = self.plans
        if plans is None:
            return 0.0
        seconds = plans.pauses.begin(node, demand, plans.now)
        self.world.mirror.rezone((node,))
        return seconds


def _put(plans: ZonePlans, key: str, pod: OtherPod | PlacedPod) -> None:
    if pod.needs is not None:
        holder = holder_of(pod.workload, pod.pod_set) if isinstance(pod, PlacedPod) else ""
        plans.put_pod(key, pod.node, pod.needs, holder)
