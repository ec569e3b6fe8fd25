"""A node with the workloads assigned to it, as the node failure reconciler sees it."""

from __future__ import annotations

from collections.abc import Iterator

from ..lifecycle.node_failure import Affected, NodeView
from ..model.node import Node
from ..model.pod import Pod
from ..model.shape import HARD_EFFECTS
from ..model.topology import HOSTNAME
from .cluster_cache import ClusterCache
from .membership import Kinship, kinship


def node_view(cache: ClusterCache, name: str, host: str) -> NodeView:
    """`host` is the node's name in assignments; the node may be gone."""
    pods: dict[str, list[Pod]] = {}
    for pod in cache.pods.at(name, host):
        workload = cache.raw_workload(f"{pod.namespace}/{pod.workload}")
        if workload is not None and kinship(cache, pod, workload) is not Kinship.STRANGER:
            pods.setdefault(f"{pod.namespace}/{pod.workload}", []).append(pod)
    names = sorted(cache.at_host.get(host, set()) | pods.keys())
    affected = [Affected(cache.workloads[one], pods.get(one, [])) for one in names if one in cache.workloads]
    node, delay = cache.world.nodes.get(name), cache.settings.not_ready_delay
    return NodeView(name, node, affected, cache.gates, cache.world.flavors, host, delay)


def is_well(node: Node | None) -> bool:
    """Whether the node exists, is ready, and has no taint that keeps pods off."""
    return node is not None and node.ready and not any(taint.effect in HARD_EFFECTS for taint in node.taints)


def unwell(cache: ClusterCache) -> Iterator[NodeView]:
    """Every node with a workload assigned to it that is gone or unhealthy."""
    names = {node.labels.get(HOSTNAME, name): name for name, node in cache.world.nodes.items()}
    for host in sorted(cache.at_host):
        name = names.get(host, host)
        if not is_well(cache.world.nodes.get(name)):
            yield node_view(cache, name, host)
