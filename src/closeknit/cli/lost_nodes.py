"""Workloads affected by failing nodes: reads the cluster for `report.node_trouble`, which decides.

While all nodes are ready, only their names and states are read. Nodes, flavors and pods are read only if a node under
one of the given workloads fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from time import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..cluster import kinds
from ..cluster.kube.client import TABLE, path
from ..cluster.port import Change
from .columns import listed
from .drain import ENDED
from .owners import Owners
from .placements import Atlas, Raw, groups_of, holds

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..report.node_trouble import Trouble


class Hit(NamedTuple):
    """A workload, by its `key` NAMESPACE/NAME, and the failing node under it."""

    key: str
    trouble: Trouble


async def hits(client: Client, workloads: Sequence[Raw]) -> list[Hit]:
    """The workloads that run on a failing node."""
    running = [one for one in workloads if holds(one, "Admitted") and not holds(one, "Finished")]
    if not running:
        return []
    states = await _states(client)
    failing = {name for name, state in states.items() if "NotReady" in state}
    hosts = {path[-1] for one in running for group in groups_of(one, Atlas()) for path in group.pods}
    if not failing and hosts <= states.keys():
        return []
    return await _hits(client, running, failing)


async def hits_of(client: Client, nodes: Collection[str], pods: Sequence[Raw], is_to_come: bool = False) -> list[Hit]:
    """The workloads of `pods` on these nodes; with `is_to_come`, as if the nodes stopped responding now."""
    owners = Owners(client)
    await owners.learn(pods, "")
    names = {(pod["metadata"]["namespace"], owners.workload_of(pod)) for pod in pods}
    found = [
        one
        for one in await listed(client, kinds.WORKLOAD)
        if (one["metadata"]["namespace"], one["metadata"]["name"]) in names and not holds(one, "Finished")
    ]
    return [one for one in await _hits(client, found, nodes, is_to_come) if one.trouble.node in nodes]


async def _states(client: Client) -> dict[str, str]:
    """Node states by name as tables show them: Ready, NotReady, … Clusters are large, so only the table is read."""
    listing = await client.listing(path(kinds.NODE), TABLE, {"includeObject": "None"})
    at = next((number for number, one in enumerate(listing.columns) if one["name"] == "Status"), 1)
    rows = [msgspec.json.decode(item)["cells"] for item in listing.items]
    return {cells[0]: cells[at] for cells in rows}


async def _hits(
    client: Client, workloads: Sequence[Raw], failing: Collection[str], is_to_come: bool = False
) -> list[Hit]:
    from ..observe.cluster_cache import ClusterCache
    from ..report.node_trouble import NodeFailureRules, troubles
    from .rules import Given

    gates, settings, _ = await Given("", {}, None, False).on(client)
    nodes = await client.list(kinds.NODE)
    if is_to_come:
        nodes = [_silent(node) if node["metadata"]["name"] in failing else node for node in nodes]
    known = ClusterCache(gates, settings, time)
    flavors = await listed(client, kinds.RESOURCE_FLAVOR)
    for kind, objects in ((kinds.RESOURCE_FLAVOR, flavors), (kinds.NODE, nodes), (kinds.WORKLOAD, workloads)):
        for raw in objects:
            known.see(Change(0, "ADDED", kind, raw))
    rules = NodeFailureRules(gates, known.world.flavors, settings.not_ready_delay)
    pods_on = await _pods_on(client, failing)
    return [
        Hit(key, trouble)
        for key, one in known.workloads.items()
        for trouble in troubles(one, known.world.nodes.values(), rules, pods_on.get(key))
    ]


async def _pods_on(client: Client, nodes: Collection[str]) -> dict[str, dict[str, int]]:
    """By workload: how many of its pods are bound to each of these nodes."""
    found: list[Raw] = []
    for name in nodes:
        pods = await client.list(kinds.POD, fieldSelector=f"spec.nodeName={name}")
        found += [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ENDED]
    owners = Owners(client)
    await owners.learn(found, "")
    counts: dict[str, Counter[str]] = {}
    for pod in found:
        key = f"{pod['metadata']['namespace']}/{owners.workload_of(pod)}"
        counts.setdefault(key, Counter())[pod["spec"]["nodeName"]] += 1
    return {key: dict(count) for key, count in counts.items()}


def _silent(node: Raw) -> Raw:
    """The node as it will be after missed heartbeats, without a time, which is not known yet."""
    status = node.get("status") or {}
    others = [one for one in status.get("conditions") or () if one.get("type") != "Ready"]
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    spec = node.get("spec") or {}
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    taints = [*(spec.get("taints") or ()), taint]
    return {**node, "spec": {**spec, "taints": taints}, "status": {**status, "conditions": [*others, unknown]}}


def sentence(hit: Hit, now: float) -> str:
    """The trouble in one line, with its times relative to `now`."""
    from ..report.node_trouble import trouble_lines

    return "; ".join(line.strip() for line in trouble_lines([hit.trouble], now))
