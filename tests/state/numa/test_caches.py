"""The caches of NodeResourceTopologyMatch, sentence by sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.model.container import Container
from closeknit.model.numa import NodeZones, ReportedPlacement, TopologyManager, Zone, ZoneAmounts
from closeknit.model.numa_arguments import MatchArguments
from closeknit.numa.fingerprint import fingerprint
from closeknit.numa.placement_vector import ContainerName, encoded
from closeknit.numa.pod_needs import PodNeeds
from closeknit.state.numa.caches import DiscardReservedCache, PassthroughCache, ZonesView
from closeknit.state.numa.over_reserve import OverReserveCache, Resync, ResyncState
from closeknit.state.numa.zoned_pod import ZonedPod

SINGLE = TopologyManager("single-numa-node")
FRESH_NONE = ZonesView(None)
REJECTED = ZonesView(None, False)


def report(cpu: tuple[int, ...] = (4000, 4000), **more: Any) -> NodeZones:
    zones = tuple(Zone(at, {"cpu": ZoneAmounts(8000, 8000, one)}) for at, one in enumerate(cpu))
    return NodeZones("n1", zones, **{"manager": SINGLE, **more})


def pod(name: str = "a", cpu: int = 1000, scheduler: str = "numa", **more: Any) -> ZonedPod:
    needs = PodNeeds((Container.of({"cpu": cpu}),), more.pop("qos", "Guaranteed"))
    return ZonedPod("default", name, f"uid-{name}", needs, "n1", scheduler, names=("c",), **more)


def free(view: ZonesView) -> list[int]:
    assert view.zones is not None
    return [zone.resources["cpu"].available for zone in view.zones.zones]


def over(*reports: NodeZones, **arguments: Any) -> OverReserveCache:
    return OverReserveCache(MatchArguments(resync_period=5, **arguments), {"numa"}, reports)


def test_passthrough_shows_the_last_report_whatever_is_reserved() -> None:
    cache = PassthroughCache()
    assert cache.view("n1") == FRESH_NONE
    cache.put(report())
    cache.reserve("n1", pod())
    cache.refused("n1")
    cache.pod_changed(pod(scheduler="other"))
    assert free(cache.view("n1")) == [4000, 4000]
    cache.drop("n1")
    assert cache.view("n1") == FRESH_NONE


def test_discard_reserved_rejects_a_node_until_its_pod_is_bound_or_given_up() -> None:
    cache = DiscardReservedCache()
    cache.put(report())
    cache.reserve("n1", pod("a"))
    cache.reserve("n1", pod("b"))
    assert cache.view("n1") == REJECTED
    cache.bound("n1", pod("a"))
    assert cache.view("n1") == REJECTED
    cache.unreserve("n1", pod("b"))
    assert cache.view("n1").is_fresh
    assert cache.placement("n1") is None


def test_over_reserve_charges_a_pod_to_every_zone_down_to_0() -> None:
    cache = over(report((4000, 500)))
    cache.reserve("n1", pod("a", 1000, qos="Burstable"))
    assert free(cache.view("n1")) == [3000, 0]
    cache.unreserve("n1", pod("a"))
    assert free(cache.view("n1")) == [4000, 500]


def test_over_reserve_keeps_what_a_bound_pod_was_charged_and_ignores_unknown_nodes() -> None:
    cache = over(report())
    cache.reserve("n1", pod())
    cache.bound("n1", pod())
    cache.reserve("n2", pod())
    assert free(cache.view("n1")) == [3000, 3000]
    assert cache.view("n2") == FRESH_NONE


def test_a_rejection_makes_a_node_dirty_and_a_matching_report_cleans_it() -> None:
    cache = over(report())
    cache.reserve("n1", pod("a"))
    assert cache.resync({"n1": report((1000, 1000))}, [pod("a")]) == []
    cache.refused("n1")
    current = report((3000, 4000), fingerprint=fingerprint([("default", "a")]))
    assert cache.resync({"n1": current}, [pod("a")]) == [Resync("n1", ResyncState.ACCEPTED)]
    assert free(cache.view("n1")) == [3000, 4000]
    assert (cache.dirty, cache.generation) == ([], 1)


@pytest.mark.parametrize(
    ("current", "pods", "state"),
    [
        (None, [pod()], ResyncState.NO_REPORT),
        (report(fingerprint=fingerprint([])), [], ResyncState.NO_PODS),
        (report(), [pod()], ResyncState.NO_FINGERPRINT),
        (report(fingerprint=fingerprint([])), [pod()], ResyncState.OTHER_PODS),
    ],
)
def test_a_report_that_does_not_account_for_the_pods_leaves_the_node_dirty(
    current: NodeZones | None, pods: list[ZonedPod], state: ResyncState
) -> None:
    cache = over(report())
    cache.refused("n1")
    assert cache.resync({} if current is None else {"n1": current}, pods) == [Resync("n1", state)]
    assert cache.dirty == ["n1"]


@pytest.mark.parametrize(
    ("mode", "phase", "counts"),
    [("Dedicated", "Succeeded", True), ("Dedicated", "Pending", False), ("Shared", "Succeeded", False)],
)
def test_which_pods_are_known_depends_on_the_informer(mode: str, phase: str, counts: bool) -> None:
    cache = over(report(), informer_mode=mode)
    cache.refused("n1")
    names = ["a", "b"] if counts else ["a"]
    current = report(fingerprint=fingerprint([("default", name) for name in names]))
    assert cache.resync({"n1": current}, [pod("a"), pod("b", phase=phase)])[0].state is ResyncState.ACCEPTED


def test_only_exclusive_pods_enter_a_fingerprint_of_that_method() -> None:
    cache = over(report())
    cache.refused("n1")
    current = report(fingerprint=fingerprint([("default", "a")]), exclusive_only=True)
    pods = [pod("a", 2000), pod("b", 1500), pod("c", 1000, qos="Burstable")]
    assert cache.resync({"n1": current}, pods)[0].state is ResyncState.ACCEPTED


def test_a_foreign_pod_blocks_its_node_until_a_resync() -> None:
    cache = over(report())
    cache.pod_changed(pod("own"))
    assert cache.view("n1").is_fresh
    cache.pod_changed(pod("f", scheduler="default-scheduler"))
    assert cache.view("n1") == REJECTED
    cache.resync({"n1": report(fingerprint=fingerprint([("default", "f")]))}, [pod("f", scheduler="x")])
    assert cache.view("n1").is_fresh


@pytest.mark.parametrize(("mode", "cpu", "blocked"), [("None", 1000, False), ("OnlyExclusiveResources", 1500, False)])
def test_foreign_pods_may_be_ignored_altogether_or_unless_exclusive(mode: str, cpu: int, blocked: bool) -> None:
    cache = over(report(), foreign_pods=mode)
    cache.pod_changed(pod("f", cpu, scheduler="x"))
    assert cache.view("n1").is_fresh is not blocked
    cache.pod_changed(pod("g", 2000, scheduler="x"))
    assert cache.view("n1").is_fresh is (mode == "None")


def test_a_change_of_the_topology_manager_is_taken_without_a_fingerprint() -> None:
    cache = over(report())
    changed = report((1, 1), manager=replace(SINGLE, scope="pod"))
    cache.put(changed)
    assert free(cache.view("n1")) == [4000, 4000]
    assert cache.resync({"n1": changed}, []) == [Resync("n1", ResyncState.ACCEPTED)]
    assert cache.view("n1").zones == changed


def test_with_scope_only_resources_a_change_of_settings_waits() -> None:
    cache = over(report(), resync_scope="OnlyResources")
    cache.put(report(manager=replace(SINGLE, scope="pod")))
    assert cache.dirty == []


def test_a_report_of_a_new_node_counts_at_once_and_one_that_goes_is_forgotten() -> None:
    cache = over()
    cache.put(report())
    cache.reserve("n1", pod())
    cache.refused("n1")
    cache.drop("n1")
    cache.put(report())
    assert free(cache.view("n1")) == [4000, 4000]
    assert cache.dirty == []


def test_zones_of_containers_are_known_after_a_resync_of_a_report_that_fits() -> None:
    where = {ContainerName("default", "a", "c"): 1}
    cache = over(report(placement=encoded(where, 2)))
    assert cache.placement("n1") is None
    cache.refused("n1")
    marked = report(placement=encoded(where, 2), fingerprint=fingerprint([("default", "a")]))
    cache.resync({"n1": marked}, [pod("a")])
    assert cache.placement("n1") == where
    cache.refused("n1")
    cache.resync({"n1": replace(marked, placement=ReportedPlacement("?", {}))}, [pod("a")])
    assert cache.placement("n1") is None
