"""What evicting pods frees in their zones."""

from __future__ import annotations

from closeknit.model.container import Container, QoS
from closeknit.model.numa import NodeZones, Zone, ZoneAmounts
from closeknit.numa.placement_vector import ContainerName
from closeknit.numa.pod_needs import PodNeeds
from closeknit.state.numa.eviction import EvictionRefusal, evicted
from closeknit.state.numa.zoned_pod import ZonedPod

GPU = "x/gpu"
MAIN, SIDE = ContainerName("ns", "v", "main"), ContainerName("ns", "v", "side")


def zones(*free: tuple[int, int]) -> NodeZones:
    made = (
        Zone(at, {"cpu": ZoneAmounts(8000, 8000, cpu), GPU: ZoneAmounts(2, 2, gpu)})
        for at, (cpu, gpu) in enumerate(free)
    )
    return NodeZones("n", tuple(made))


def victim(cpu: int = 4000, gpu: int = 1, qos: QoS = "Guaranteed") -> ZonedPod:
    side = Container.of({"cpu": 1000}, kind="sidecar")
    main = Container.of({"cpu": cpu, GPU: gpu} if gpu else {"cpu": cpu})
    return ZonedPod("ns", "v", "uid", PodNeeds((side, main), qos), "n", names=("side", "main"))


def test_an_app_container_gives_back_what_it_had_of_its_own_in_its_zone() -> None:
    assert evicted(zones((2000, 1), (0, 0)), [victim()], {MAIN: 1, SIDE: 0}) == zones((2000, 1), (4000, 1))


def test_cpu_that_was_shared_is_not_given_back_but_a_device_is() -> None:
    assert evicted(zones((2000, 1)), [victim(qos="Burstable")], {MAIN: 0}) == zones((2000, 2))
    assert evicted(zones((2000, 1)), [victim(cpu=1500)], {MAIN: 0}) == zones((2000, 2))


def test_without_victims_or_known_zones_the_report_stays_as_it_is() -> None:
    before = zones((2000, 1))
    assert evicted(before, [], {MAIN: 0}) is before
    assert evicted(before, [victim()], None) is before
    assert evicted(before, [victim()], {}) is before


def test_victims_that_free_nothing_refuse_the_simulation() -> None:
    elsewhere = {ContainerName("ns", "other", "c"): 0}
    for one, where in ((victim(), elsewhere), (victim(gpu=0, qos="Burstable"), {MAIN: 0}), (victim(), {SIDE: 0})):
        found = evicted(zones((2000, 1)), [one], where)
        assert found is EvictionRefusal.NOTHING_TO_ADD
    assert EvictionRefusal.NOTHING_TO_ADD.reason == (
        "eviction simulation in NRT is not possible:no resources to add, cannot process eviction simulation"
    )


def test_a_zone_never_gets_more_than_is_allocatable() -> None:
    assert evicted(zones((6000, 1)), [victim()], {MAIN: 0}) is EvictionRefusal.ABOVE_ALLOCATABLE
    assert evicted(zones((0, 0)), [victim()], {MAIN: 5}) is EvictionRefusal.ABOVE_ALLOCATABLE
