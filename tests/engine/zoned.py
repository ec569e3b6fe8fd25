"""Worlds of hosts with NUMA zones, for tests of where pods go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from closeknit.decide.world import World
from closeknit.engine.place import place
from closeknit.model.container import Container
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.numa import NodeZones, TopologyManager, TopologyPolicy, Zone, ZoneAmounts
from closeknit.model.numa_settings import NodeNuma, NumaMode, NumaSettings
from closeknit.model.request import Constraint, PodSet, Request
from closeknit.model.settings import Settings
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology

RACK = "rack"
GI = 1 << 30


def zones(
    node: str,
    free: Sequence[int],
    size: int = 4,
    policy: TopologyPolicy = "best-effort",
    near: Mapping[tuple[int, int], int] | None = None,
) -> NodeZones:
    """A report: the free CPUs of each zone, and distances where they are not 20."""

    def zone(at: int, cpus: int) -> Zone:
        costs = {other: 10 if other == at else (near or {}).get((at, other), 20) for other in range(len(free))}
        resources = {"cpu": ZoneAmounts(size * 1000, size * 1000, cpus * 1000), "memory": ZoneAmounts(*[64 * GI] * 3)}
        return Zone(at, resources, costs)

    return NodeZones(node, tuple(map(zone, range(len(free)), free)), TopologyManager(policy))


def world(
    hosts: Mapping[str, int],
    *reports: NodeZones,
    mode: NumaMode = "strict",
    nodes: tuple[NodeNuma, ...] = (NodeNuma(pins_memory=False),),
    gates: Gates | None = None,
) -> World:
    """Hosts with so many free CPUs, three to a rack in the order of their names."""
    made = World(gates or Gates.profile(), settings=Settings(numa=NumaSettings(mode, nodes)))
    made.put_topology(Topology("t", (RACK, HOSTNAME)))
    made.put_flavor(Flavor("all", topology="t"))
    for number, (name, cpus) in enumerate(hosts.items()):
        labels = {HOSTNAME: name, RACK: f"r{number // 3}"}
        made.put_node(Node(name, labels, {"cpu": cpus * 1000, "memory": 512 * GI, "pods": 99}))
    for report in reports:
        made.put_zones(report)
    return made


def shape(cpus: int, policy: TopologyPolicy | None = None, guaranteed: bool = True) -> Shape:
    asks = {"cpu": cpus * 1000, "memory": GI}
    container = Container.of(asks, asks if guaranteed else {})
    made = Shape.of(asks, containers=(container,))
    return made if policy is None else Shape(made.requests, containers=made.containers, numa_policy=policy)


def placed(made: World, pods: Shape, count: int = 1, constraint: Constraint | None = None) -> dict[str, int] | None:
    """How many pods each host gets; None if they do not fit."""
    snapshot = made.snapshot("all")
    assert snapshot is not None
    request = Request.of([PodSet("main", count, pods, constraint or Constraint(required=RACK))])
    result = place(snapshot, request, made.policy)
    if not result.fits:
        return None
    found = result.outcomes[0].assignment
    assert found is not None
    return {path[-1]: pods for path, pods in found.pods_by_domain.items()}
