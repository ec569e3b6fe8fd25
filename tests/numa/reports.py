"""Random reports of nodes and random pods, small enough that few pods fill a node."""

from __future__ import annotations

from random import Random

from closeknit.model.container import Container, Kind, Needs
from closeknit.model.numa import NodeZones, TopologyManager, TopologyPolicy, TopologyScope, Zone, ZoneAmounts
from closeknit.numa.demand import PodDemand

GI = 1 << 30
NAMES = ("cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu", "rdma/hca")
ALIGNING: tuple[TopologyPolicy, ...] = ("best-effort", "restricted", "single-numa-node")
SCOPES: tuple[TopologyScope, ...] = ("container", "pod")


def random_kind(draw: Random, zones: int = 0) -> NodeZones:
    """A node in which nothing is taken."""
    ids = sorted(draw.sample(range(10), zones or draw.choice((1, 2, 2, 3, 4, 4, 6, 8))))
    cpus, memory = draw.choice((2, 4, 8)), draw.choice((2, 4, 8))
    whole = {"cpu": (cpus * 1000, cpus * 1000), "memory": (memory * GI, memory * GI)}
    for name in NAMES[2:]:
        if draw.random() < 0.5:
            whole[name] = (count, count) if (count := draw.randint(0, 3) * (GI if "page" in name else 1)) else (0, 0)
    found = []
    for at in ids:
        resources = {name: ZoneAmounts(*sizes, sizes[1]) for name, sizes in whole.items() if draw.random() < 0.95}
        if draw.random() < 0.2 and "cpu" in resources:
            resources["cpu"] = ZoneAmounts(cpus * 1000, cpus * 1000 - 1000, cpus * 1000 - 1000)
        costs = {other: 10 if other == at else draw.choice((11, 12, 21)) for other in ids}
        found.append(Zone(at, resources, costs))
    options = (("prefer-closest-numa-nodes", "true"),) if draw.random() < 0.4 else ()
    manager = TopologyManager(draw.choice(ALIGNING), draw.choice(SCOPES), 8, options)
    return NodeZones("n", tuple(found), manager)


def partly_taken(draw: Random, node: NodeZones) -> NodeZones:
    """The same node with a random part of every zone taken."""

    def left(name: str, one: ZoneAmounts) -> ZoneAmounts:
        unit = 1000 if name == "cpu" else GI if name in NAMES[1:3] else 1
        free = one.allocatable if draw.random() < 0.3 else draw.randint(0, one.allocatable // unit) * unit
        return one._replace(available=free)

    zones = tuple(
        Zone(zone.id, {name: left(name, one) for name, one in zone.resources.items()}, zone.costs)
        for zone in node.zones
    )
    return NodeZones(node.node, zones, node.manager)


def random_demand(draw: Random, own_policy: bool = False) -> PodDemand:
    kinds: list[Kind] = ["app"] * draw.choice((1, 1, 2, 3))
    kinds = [*(draw.choice(("init", "sidecar")) for _ in range(draw.choice((0, 0, 1, 2)))), *kinds]
    guaranteed, wide = draw.random() < 0.9, draw.choice((1, 1, 1, 3))
    containers = tuple(_container(draw, kind, guaranteed, wide) for kind in kinds)
    level = Needs(containers[0].requests, containers[0].limits) if draw.random() < 0.05 else None
    policy = draw.choice(("single-numa-node", "restricted")) if own_policy and draw.random() < 0.5 else None
    return PodDemand.of(containers, level, managed=draw.random() < 0.5, policy=policy)  # type: ignore[arg-type]


def _container(draw: Random, kind: Kind, guaranteed: bool, wide: int) -> Container:
    amounts = {"cpu": draw.randint(1, 3 * wide) * 1000, "memory": draw.randint(1, 3 * wide) * GI // 2}
    if draw.random() < 0.1:
        amounts["cpu"] += 500
    for name in NAMES[2:]:
        if draw.random() < 0.25:
            amounts[name] = draw.randint(0, wide) * (GI if "page" in name else 1)
    limits = amounts if guaranteed else {name: size for name, size in amounts.items() if "/" in name}
    return Container.of(amounts, limits, kind)
