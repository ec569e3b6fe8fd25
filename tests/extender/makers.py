"""Nodes, reports and pods for the extender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from closeknit.extender.applicant import Applicant
from closeknit.extender.zones import Zones
from closeknit.model.container import Container, Kind
from closeknit.model.numa import SINGLE, NodeZones, TopologyManager, TopologyPolicy, TopologyScope, Zone, ZoneAmounts
from closeknit.model.shape import Shape
from closeknit.numa.pod_needs import PodNeeds
from closeknit.state.numa.zoned_pod import ZonedPod

GIB = 2**30
NAMES = ("cpu", "memory", "nvidia.com/gpu")
WHOLE = {"cpu": 8_000, "memory": 64 * GIB, "nvidia.com/gpu": 4}
"""What a zone has."""


def report(
    name: str,
    *available: Mapping[str, int],
    policy: TopologyPolicy = SINGLE,
    scope: TopologyScope = "container",
    whole: Mapping[str, int] = WHOLE,
    fingerprint: str = "",
) -> NodeZones:
    """A node whose zones have this available; what is not given is free as a whole."""
    zones = tuple(
        Zone(
            at,
            {key: ZoneAmounts(size, size, own.get(key, size)) for key, size in whole.items()},
            {other: 10 if other == at else 20 for other in range(len(available))},
        )
        for at, own in enumerate(available)
    )
    return NodeZones(name, zones, TopologyManager(policy, scope), fingerprint)


def asks(cpus: int = 0, memory: int = 1, gpus: int = 0) -> dict[str, int]:
    """CPUs, GiB of memory, GPUs."""
    wanted = {"cpu": cpus * 1000, "memory": memory * GIB, "nvidia.com/gpu": gpus}
    return {name: value for name, value in wanted.items() if value}


def applicant(
    name: str, *containers: Mapping[str, int], kinds: Sequence[Kind] = (), node: str = "", bound_at: float = 0.0
) -> Applicant:
    """A Guaranteed pod."""
    some = tuple(Container.of(one, one, kinds[at] if at < len(kinds) else "app") for at, one in enumerate(containers))
    shape = Shape.of({}, containers=some)
    names = tuple(f"c{at}" for at in range(len(some)))
    pod = ZonedPod("default", name, name, PodNeeds.of(shape), node, names=names)
    return Applicant.of(shape, pod, bound_at=bound_at)


def known(zones: Zones, *reports: NodeZones) -> Zones:
    """The zones with these nodes and their reports."""
    for one in reports:
        zones.put_node(one.node, NAMES, {})
        zones.put_report(one)
    return zones
