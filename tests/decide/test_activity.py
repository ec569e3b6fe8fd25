"""Inactive queues: why, the remedy, and that all other queues keep working."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.activity import MULTIKUEUE, PROVISIONING, active_condition, inactive_local_queue
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import AdmissionCheck, CheckRule, ClusterQueue, LocalQueue
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.topology import Topology
from closeknit.model.workload import Condition
from closeknit.queue.wake import WakeEvent
from closeknit.quota.tree import MOST_LEVELS

from .objects import DEFAULT, cohort, queue, running, scheduler, workload
from .play import Play

FLAVORS = (Flavor(DEFAULT), Flavor("placed", topology="halls"), Flavor("halled", topology="hall"))
CHECKS = (
    AdmissionCheck("ready", "example.com/x", True),
    AdmissionCheck("idle", "example.com/x", False),
    AdmissionCheck("unsaid", "example.com/x"),
    AdmissionCheck("multi", MULTIKUEUE, True),
    AdmissionCheck("multi-2", MULTIKUEUE, True),
    AdmissionCheck("provision", PROVISIONING, True),
)


def checked(*names: str, flavors: tuple[str, ...] = ()) -> ClusterQueue:
    return queue("a", checks=tuple(CheckRule(name, flavors) for name in names))


def uncovered() -> ClusterQueue:
    group = ResourceGroup(("gpu", "cpu"), (FlavorQuotas(DEFAULT, {"gpu": Quota(10)}),))
    return replace(queue("a"), groups=(group,))


BROKEN: list[tuple[str, str, ClusterQueue]] = [
    ("Terminating", "clusterQueue is terminating", queue("a", terminating=True)),
    ("Stopped", "is stopped", queue("a", stop="Hold")),
    ("Stopped", "is stopped", queue("a", stop="HoldAndDrain")),
    ("FlavorNotFound", "references missing ResourceFlavor(s): x,y", queue("a", {DEFAULT: 1, "x": 1, "y": 1})),
    ("AdmissionCheckNotFound", "references missing AdmissionCheck(s): gone", checked("ready", "gone")),
    ("AdmissionCheckInactive", "references inactive AdmissionCheck(s): idle", checked("ready", "idle")),
    (
        "MultipleMultiKueueAdmissionChecks",
        "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: multi,multi-2",
        checked("multi-2", "multi"),
    ),
    (
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        "Cannot specify MultiKueue AdmissionCheck per flavor, found: multi",
        checked("multi", flavors=(DEFAULT,)),
    ),
    (
        "MultiKueueWithProvisioningRequest",
        "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: multi, provision",
        checked("multi", "provision"),
    ),
    ("TopologyNotFound", 'there is no Topology "halls" for TAS flavor "placed"', queue("a", {"placed": 10})),
    (
        "NotSupportedWithTopologyAwareScheduling",
        "TAS flavor(s) halled cannot be used with MultiKueue AdmissionCheck(s): multi",
        replace(queue("a", {"halled": 10}), checks=(CheckRule("multi", ()),)),
    ),
    ("CohortCycle", "cohorts form a cycle", queue("a", 10, "m")),
    ("CohortTooDeep", f"Cohort c{MOST_LEVELS + 1} has more than", queue("a", 10, f"c{MOST_LEVELS + 1}")),
    ("Misconfigured", "spec.fairSharing.weight is -1", queue("a", weight=-1.0)),
    ("Misconfigured", "no quota for cpu", uncovered()),
]
IDS = [f"{reason} {number}" for number, (reason, _, _) in enumerate(BROKEN)]
each_way = pytest.mark.parametrize(("reason", "text", "broken"), BROKEN, ids=IDS)


def cluster(broken: ClusterQueue) -> Scheduler:
    """`a` is broken, `b` is not; cohorts m and n are each other's parent, and each c is below the one before it."""
    chain = [cohort(f"c{level}", f"c{level - 1}") for level in range(2, MOST_LEVELS + 2)]
    built = scheduler([broken, queue("b")], [cohort("m", "n"), cohort("n", "m"), *chain], FLAVORS)
    built.world.put_topology(Topology("hall", ("example.com/hall",)))
    for check in CHECKS:
        built.world.put_check(check)
    return built


@each_way
def test_a_queue_that_admits_nothing_says_why_and_what_to_do(reason: str, text: str, broken: ClusterQueue) -> None:
    found = cluster(broken).world.inactive("a")
    assert found is not None
    assert found.reason == reason
    assert text in found.message
    assert found.message.startswith("Can't admit new workloads")
    assert found.remedy


@each_way
def test_all_other_queues_keep_being_scheduled(reason: str, text: str, broken: ClusterQueue) -> None:
    play = Play(cluster(broken))
    play.put(workload("in-a", "a"), workload("in-b", "b"))
    play.cycles(5)
    assert play.admitted == {"in-b"}


@each_way
def test_once_it_is_fixed_its_workloads_are_admitted(reason: str, text: str, broken: ClusterQueue) -> None:
    built = cluster(broken)
    play = Play(built)
    play.put(workload("in-a", "a"), workload("in-b", "b"))
    play.cycles(5)
    built.put_cluster_queue(queue("a"))
    built.wake(WakeEvent.QUEUE_CHANGED, "a", 0.0)
    play.cycles(5)
    assert play.admitted == {"in-a", "in-b"}


FIXED: list[tuple[ClusterQueue, Callable[[Scheduler], Any]]] = [
    (queue("a", {"x": 10}), lambda built: built.world.put_flavor(Flavor("x"))),
    (checked("gone"), lambda built: built.world.put_check(AdmissionCheck("gone", "example.com/x", True))),
    (checked("idle"), lambda built: built.world.put_check(AdmissionCheck("idle", "example.com/x", True))),
    (queue("a", {"placed": 10}), lambda built: built.world.put_topology(Topology("halls", ("rack",)))),
    (queue("a", 10, "m"), lambda built: built.world.put_cohort(cohort("n", "root"))),
]


@pytest.mark.parametrize(("broken", "fix"), FIXED, ids=["flavor", "missing check", "idle check", "topology", "cohort"])
def test_the_missing_object_makes_it_active(broken: ClusterQueue, fix: Callable[[Scheduler], Any]) -> None:
    built = cluster(broken)
    assert not built.world.is_active("a")
    fix(built)
    assert built.world.is_active("a")


def test_a_queue_that_is_not_there_is_not_active() -> None:
    found = cluster(queue("a")).world.inactive("nowhere")
    assert found is not None
    assert (found.reason, found.remedy != "") == ("NotFound", True)


@pytest.mark.parametrize("names", [("ready",), ("unsaid",), ("multi",), ("provision",)])
def test_checks_that_are_there_and_not_inactive_are_no_obstacle(names: tuple[str, ...]) -> None:
    assert cluster(checked(*names)).world.is_active("a")


def test_the_first_reason_wins_and_all_are_reported() -> None:
    found = cluster(queue("a", {"x": 1}, checks=(CheckRule("gone"),), stop="Hold")).world.inactive("a")
    assert found is not None
    assert found.reason == "Stopped"
    assert found.message == (
        "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): x, "
        "references missing AdmissionCheck(s): gone."
    )


def test_the_condition_says_what_to_do_unless_the_profile_is_kueues() -> None:
    found = cluster(queue("a", stop="Hold")).world.inactive("a")
    ours, kueues = (active_condition(found, "", 7.0, Gates.profile(name)) for name in ("closeknit", "kueue"))
    remedy = "set spec.stopPolicy of ClusterQueue a to None"
    assert ours == Condition(False, "Stopped", f"Can't admit new workloads: is stopped: {remedy}", 7.0)
    assert kueues == Condition(False, "Stopped", "Can't admit new workloads: is stopped.", 7.0)


def test_a_reason_that_kueue_does_not_know_is_unknown_in_its_profile() -> None:
    found = cluster(queue("a", 10, "m")).world.inactive("a")
    said = active_condition(found, "", 7.0, Gates.profile("kueue"))
    assert (said.reason, said.message) == ("Unknown", "Can't admit new workloads.")


def test_the_condition_of_a_local_queue_is_kueues_in_its_profile() -> None:
    world = cluster(queue("a", stop="Hold")).world
    said = [
        active_condition(inactive_local_queue(world, one), "", 7.0, Gates.profile("kueue"))
        for one in (LocalQueue("ns", "lq", "a"), LocalQueue("ns", "lq", "gone"), LocalQueue("ns", "lq", "b", "Hold"))
    ]
    assert [(one.reason, one.message) for one in said] == [
        ("ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"),
        ("ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"),
        ("Stopped", "LocalQueue is stopped"),
    ]


def test_a_stopped_queue_still_lends_its_quota() -> None:
    play = Play(scheduler([queue("a", 10, "r", stop="Hold"), queue("b", 0, "r")]))
    play.put(workload("w", "b", count=7))
    play.cycles(3)
    assert play.admitted == {"w"}


def test_what_a_stopped_queue_holds_still_counts() -> None:
    play = Play(scheduler([queue("a", 10, "r", stop="Hold"), queue("b", 0, "r")]))
    play.put(running(workload("old", "a", count=7)), workload("w", "b", count=4))
    play.cycles(3)
    assert play.admitted == {"old"}


def test_a_head_taken_before_its_queue_stopped_reports_that() -> None:
    built = scheduler([queue("a")])
    built.put(workload("w"), 0.0)
    built.put_cluster_queue(queue("a", stop="Hold"))
    assert not built.is_ready
    assert built.cycle(0.0) == []
