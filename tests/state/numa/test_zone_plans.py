"""What the zones of a node have free, from its report, its pods and the plans for it."""

from __future__ import annotations

from closeknit.model.container import Container
from closeknit.model.numa import AmountsByZone, NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.model.numa_settings import NumaSettings
from closeknit.model.resources import CPU, MEMORY
from closeknit.numa.admissions import RefusedPod
from closeknit.numa.demand import PodDemand
from closeknit.numa.fingerprint import fingerprint
from closeknit.state.numa.zone_plans import KubeletPod, ZonePlans

NODE = "n1"


def demand(cpus: int, memory: int) -> PodDemand:
    amounts = {CPU: cpus * 1000, MEMORY: memory}
    return PodDemand.of([Container.of(amounts, amounts)])


def needs(cpus: int, memory: int, expected: AmountsByZone | None = None) -> KubeletPod:
    return KubeletPod(demand(cpus, memory), ("main",), expected=expected)


def report(cpus: int, *memory: int, pods: tuple[str, ...] = ()) -> NodeZones:
    """Zones of 4 CPUs and 100 of memory, with so much free."""
    zones = tuple(
        Zone(at, {CPU: ZoneAmounts(4000, 4000, cpus * 1000), MEMORY: ZoneAmounts(100, 100, free)})
        for at, free in enumerate(memory)
    )
    names = [("default", name) for name in pods]
    return NodeZones(NODE, zones, TopologyManager("restricted", "pod"), fingerprint=fingerprint(names))


def admits(plans: ZonePlans, asked: PodDemand) -> bool:
    return not isinstance(plans.admissions.admit(plans.on(NODE).now, asked, 1), RefusedPod)


def test_zones_that_serve_a_pod_together_serve_none_by_themselves() -> None:
    """After pod a has 100 and 50 of two zones, nothing that one zone would hold goes there, free as it is."""
    plans = ZonePlans(NumaSettings())
    plans.put_pod("default/a", NODE, needs(2, 150, {0: {CPU: 1000, MEMORY: 100}, 1: {CPU: 1000, MEMORY: 50}}), "w/main")
    plans.put_report(report(3, 0, 50, pods=("a",)), None)
    assert not admits(plans, demand(1, 10))
    plans.drop_pod("default/a")
    assert admits(plans, demand(1, 10))


def test_zones_that_serve_pods_by_themselves_serve_none_together() -> None:
    """More memory than a zone has would take both zones, but one of them serves pod a."""
    plans = ZonePlans(NumaSettings())
    plans.put_pod("default/a", NODE, needs(1, 10, {0: {CPU: 1000, MEMORY: 10}}), "w/main")
    plans.put_report(report(3, 90, 100, pods=("a",)), None)
    assert admits(plans, demand(1, 80))
    assert not admits(plans, demand(5, 150))
    plans.drop_pod("default/a")
    assert admits(plans, demand(5, 150))


def test_pods_give_back_no_more_than_their_zones_lack() -> None:
    """By the report, less is taken than pods a and b have: what one of them gives back is there to be taken again."""
    plans = ZonePlans(NumaSettings())
    for name in ("a", "b"):
        plans.put_pod(f"default/{name}", NODE, needs(2, 60, {0: {CPU: 2000, MEMORY: 60}}), f"{name}/main")
    plans.put_report(report(3, 50, 100, pods=("a", "b")), None)
    found = plans.on(NODE)
    for holder in ("a/main", "b/main"):
        number = found.now
        for sign in (-1, 1):
            for one in found.held[holder]:
                number = plans.admissions.charge(number, one, sign)
        assert number == found.now
    free = plans.admissions.free(found.room)
    assert free[0] == {CPU: 4000, MEMORY: 100}
