"""In which order pods of different shapes start on hosts with NUMA zones.

What a kubelet gives a pod decides what the next one finds. The plan for a host is an order of pods, so a pod waits
until its kubelet has admitted those before it; pods of equal demand may change places. A pod that does not exist yet is
waited for only for a while after its workload was admitted: one that has finished for good never comes.

A pod for which no zones are left waits as long: what was promised before a host reported its zones, or before another
pod took them, would be refused. Nor does a pod start while its host is paused for pods like it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..lifecycle.ungate import StartTurn, Turns
from ..model.pod import Pod
from ..model.topology import HOSTNAME
from ..model.workload import Workload
from ..numa.demand import PodDemand
from ..state.numa.zone_plans import Planned, ZonePlans, holder_of
from .cluster_cache import ClusterCache

PATIENCE = 60.0
"""Seconds for which pods that do not exist yet are waited for."""


def turns_of(cache: ClusterCache, workload: Workload) -> dict[str, Turns]:
    """For each pod set of an admitted workload the hosts whose zones are known; in mode compat none are promised."""
    plans, admission = cache.world.zoning.plans, workload.status.admission
    if plans is None or admission is None or plans.settings.mode == "compat":
        return {}
    found: dict[str, Turns] = {}
    for given in admission.pod_sets:
        pod_set = workload.pod_set(given.name)
        if given.topology is None or pod_set is None or not given.topology.by_host:
            continue
        holder, demand = holder_of(workload.key, given.name), plans.demand_of(pod_set.shape)
        nodes = {path[-1]: cache.world.mirror.node_at(path[-1]) for path in given.topology.values}
        found[given.name] = {
            host: _turn(cache, plans, holder, demand, node, host) for host, node in nodes.items() if node in plans.nodes
        }
    return found


def _turn(cache: ClusterCache, plans: ZonePlans, holder: str, demand: PodDemand, node: str, host: str) -> StartTurn:
    sent = sum(not pod.node for pod in _sent(cache, holder, host))
    zones = tuple(one.by_zone for one in plans.expected(node, holder)[sent:])
    for one in plans.planned((HOSTNAME, host)):
        if one.holder == holder:
            if demand in plans.pauses.on(node, cache.now()):
                return StartTurn(False, zones)
            return StartTurn(True, zones, cache.now() < one.since + PATIENCE)
        if one.demand != demand and one.demand.holds_zones and _is_awaited(cache, one, host):
            return StartTurn(False, zones)
    return StartTurn(True, zones)


def _is_awaited(cache: ClusterCache, one: Planned, host: str) -> bool:
    """Whether pods that were planned earlier have yet to be admitted by the kubelet."""
    sent = list(_sent(cache, one.holder, host))
    if any(not pod.accepted for pod in sent):
        return True
    return len(sent) < one.pods and cache.now() < one.since + PATIENCE


def _sent(cache: ClusterCache, holder: str, host: str) -> Iterable[Pod]:
    """The pods of a holder that may start on a host, or run there."""
    workload, _, pod_set = holder.rpartition("/")
    for pod in cache.pods_of(workload):
        if pod.pod_set == pod_set and not pod.gated and not pod.ended and pod.selector.get(HOSTNAME) == host:
            yield pod
