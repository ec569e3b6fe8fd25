"""What our configuration says about kubelets, and what it changes about the pods that nodes hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.model.container import Container, Needs
from closeknit.model.numa import NodeZones, TopologyManager, TopologyPolicy, Zone, ZoneAmounts
from closeknit.model.numa_settings import NodeNuma, NumaOption
from closeknit.model.shape import Shape
from closeknit.numa.demand import PodDemand
from closeknit.numa.layout import KubeletRules
from closeknit.numa.reported import unknown
from engine.zoned import GI, placed, world

GPU = "example.com/gpu"
SINGLE: TopologyPolicy = "single-numa-node"


def report(
    *free: tuple[int, int, int], policy: TopologyPolicy = SINGLE, options: tuple[tuple[str, str], ...] = ()
) -> NodeZones:
    """For each zone, four CPUs, 8Gi and two GPUs: how many of them are free. Zones 0 and 3 are near each other."""

    def zone(at: int, cpus: int, memory: int, gpus: int) -> Zone:
        amounts = {
            "cpu": ZoneAmounts(4000, 4000, cpus * 1000),
            "memory": ZoneAmounts(8 * GI, 8 * GI, memory * GI),
            GPU: ZoneAmounts(2, 2, gpus),
        }
        costs = {other: 10 if other == at else 12 if {at, other} == {0, 3} else 20 for other in range(len(free))}
        return Zone(at, amounts, costs)

    zones = tuple(zone(at, *one) for at, one in enumerate(free))
    return NodeZones("a", zones, TopologyManager(policy, options=options))


def pod(cpus: int, memory: int, gpus: int = 0) -> Shape:
    asks = {"cpu": cpus * 1000, "memory": memory * GI, **({GPU: gpus} if gpus else {})}
    return Shape.of(asks, containers=(Container.of(asks, asks),))


def holds(configured: NodeNuma, node: NodeZones, pods: Shape) -> bool:
    made = world({"a": 64}, nodes=(configured,))
    known = made.nodes["a"]
    made.put_node(replace(known, allocatable={**known.allocatable, GPU: 64}))
    made.put_zones(node)
    return placed(made, pods) is not None


@pytest.mark.parametrize(
    ("free", "asks", "configured"),
    [
        (((2, 8, 2), (2, 8, 2)), (3, 1, 0), NodeNuma(pins_cpus=False)),
        (((2, 8, 2), (2, 8, 2)), (3, 1, 0), NodeNuma(ignored=frozenset({"cpu"}))),
        (((4, 4, 2), (4, 4, 2)), (1, 6, 0), NodeNuma(pins_memory=False)),
        (((4, 4, 2), (4, 4, 2)), (1, 6, 0), NodeNuma(ignored=frozenset({"memory"}))),
        (((4, 8, 1), (4, 8, 1)), (1, 1, 2), NodeNuma(ignored=frozenset({GPU}))),
    ],
)
def test_what_a_kubelet_does_not_align_need_not_be_in_one_zone(
    free: tuple[tuple[int, int, int], ...], asks: tuple[int, int, int], configured: NodeNuma
) -> None:
    assert not holds(NodeNuma(), report(*free), pod(*asks))
    assert holds(configured, report(*free), pod(*asks))


def test_of_several_entries_the_first_that_selects_the_node_counts() -> None:
    made = world({"a": 64}, report((2, 8, 0), (2, 8, 0)), nodes=(NodeNuma(pins_cpus=False), NodeNuma()))
    assert placed(made, pod(3, 1)) == {"a": 1}


def _zones_of_first(configured: NodeNuma, node: NodeZones) -> list[int]:
    made = world({"a": 64}, node, nodes=(configured,))
    plans = made.zoning.plans
    assert plans is not None
    snapshot = made.snapshot("all")
    assert snapshot is not None
    assert snapshot.zones is not None
    number = int(snapshot.zones.states["now"][0])
    given = plans.admissions.fill(number, PodDemand.of_shape(pod(6, 10)), 1)[1]
    return [zone for zone, _ in given[0].zones]


def test_with_prefer_closest_the_nearest_zones_are_given() -> None:
    """Six CPUs take two zones of the four: by default those of the lowest ids."""
    node = report(*[(4, 8, 2)] * 4, policy="restricted")
    closest = NodeNuma(options=((NumaOption.CLOSEST, "true"),))
    assert _zones_of_first(NodeNuma(), node) == [0, 1]
    assert _zones_of_first(closest, node) == [0, 3]


def test_an_option_that_a_node_reports_outranks_the_configuration() -> None:
    closest = NodeNuma(options=((NumaOption.CLOSEST, "true"),))
    node = report(*[(4, 8, 2)] * 4, policy="restricted", options=((NumaOption.CLOSEST, "false"),))
    assert _zones_of_first(closest, node) == [0, 1]


def level_pod() -> Shape:
    """Three CPUs for the whole pod, and a container that says nothing."""
    asks = {"cpu": 3000, "memory": GI}
    level = Needs(tuple(sorted(asks.items())), tuple(sorted(asks.items())))
    return Shape.of(asks, containers=(Container.of({}, {}),), pod_level=level)


def test_pod_level_resources_are_aligned_only_where_the_managers_handle_them() -> None:
    managed = NodeNuma(options=((NumaOption.POD_LEVEL, "true"),))
    node = report((2, 8, 0), (2, 8, 0))
    by_pod = NodeZones(node.node, node.zones, TopologyManager(SINGLE, "pod"))
    assert holds(NodeNuma(), by_pod, level_pod())
    assert not holds(managed, by_pod, level_pod())
    assert holds(managed, NodeZones("a", report((3, 8, 0), (2, 8, 0)).zones, by_pod.manager), level_pod())


@pytest.mark.parametrize(
    ("option", "what"),
    [
        (NumaOption.FULL_CORES, "which CPUs share a core"),
        (NumaOption.BY_SOCKET, "which zones share a socket"),
        (NumaOption.DISTRIBUTE, "how CPUs of several zones are divided"),
    ],
)
def test_options_that_need_more_than_counts_are_named_as_unknown(option: str, what: str) -> None:
    rules = [KubeletRules.of(NodeNuma(options=((option, value),))) for value in ("true", "false")]
    node = report((4, 8, 2), (4, 8, 2))
    assert [unknown(node, one) for one in rules] == [[what], []]


def test_what_is_configured_is_not_unknown() -> None:
    node, taken = report(*[(4, 8, 2)] * 3), report((4, 7, 2), (4, 8, 2))
    assert unknown(node) == ["whether prefer-closest-numa-nodes is on"]
    assert unknown(node, KubeletRules.of(NodeNuma(options=((NumaOption.CLOSEST, "false"),)))) == []
    assert unknown(taken) == ["which zones share memory"]
    assert unknown(taken, KubeletRules.of(NodeNuma(pins_memory=False))) == []


def test_whether_pod_level_resources_are_managed_is_unknown_for_pods_that_have_some() -> None:
    node, demand = report((4, 8, 2), (4, 8, 2)), PodDemand.of_shape(level_pod())
    on, off = (KubeletRules.of(NodeNuma(options=((NumaOption.POD_LEVEL, one),))) for one in ("true", "false"))
    assert unknown(node, demand=demand) == ["whether PodLevelResourceManagers is on"]
    assert unknown(node, on, demand) == ["how containers share what the pod has"]
    assert unknown(node, off, demand) == []
    assert unknown(node, demand=PodDemand.of_shape(pod(1, 1))) == []
