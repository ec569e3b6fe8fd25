"""Why a workload is pending: every obstacle on the way to a queue and in it, with its remedy."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.decide.obstacles import Obstacle, Obstacles
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.what_if import Story, WhatIfOptions, play
from closeknit.model.cluster_queue import LocalQueue, Preemption, Selector
from closeknit.model.flavor import Flavor
from closeknit.model.limit_range import LimitRange
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.shape import Requirement, Taint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Condition, Status, Workload
from closeknit.queue.pending_queue import BYPASSED

from .objects import DEFAULT, GPU, part, queue, scheduler, workload
from .test_what_if import RACK, back_and_forth, checked, running

NOW = 1000.0


def stands(built: Scheduler, one: Workload, *others: Workload, left_out: tuple[str, ...] = (), **how: Any) -> Obstacle:
    """The obstacle of the first workload at the end."""
    tries = how.pop("tries", False)
    story = play(built, [one, *others], NOW, WhatIfOptions(**how))
    found = story.workloads[one.key]
    assert not found.admitted
    return Obstacles(built, story, NOW, left_out).of(found, tries)


# The workload itself


def test_it_is_switched_off() -> None:
    found = stands(scheduler([queue("a")]), workload("one", active=False))
    assert found[:2] == ("Deactivated", "The workload is deactivated")
    assert found.remedy == "set spec.active of Workload default/one to true"


def test_it_is_gated() -> None:
    found = stands(scheduler([queue("a")]), workload("one", gated_by="example.com/clerk"))
    assert found.reason == "AdmissionGated"
    assert "example.com/clerk" in found.message


def test_it_is_on_hold() -> None:
    status = Status({"QuotaReserved": Condition(False, "OnHold", "scaled to zero")})
    assert stands(scheduler([queue("a")]), workload("one", status=status))[:2] == ("OnHold", "scaled to zero")


def test_its_group_lacks_pods() -> None:
    status = Status({"WaitingForReplacementPods": Condition(True, "PodsFailed")})
    assert stands(scheduler([queue("a")]), workload("one", status=status)).reason == "WaitingForReplacementPods"


def test_it_waits_for_checks_while_it_holds_quota() -> None:
    found = stands(checked(), workload("one"), checks_ready=False)
    assert found.reason == "UnsatisfiedAdmissionChecks"
    assert found.message == "The workload has not all checks ready: paperwork (Pending)"


def test_its_pod_is_gone() -> None:
    built = scheduler([queue("a", 10, preemption=Preemption("LowerPriority"))])
    found = stands(built, running("low", 6, owned_by_pod=True), workload("high", count=8, priority=5))
    assert found.message.startswith("Evicted: Preempted to accommodate a workload")
    assert found.remedy == "it is not requeued automatically: check its job"


def test_its_time_has_not_come() -> None:
    found = stands(scheduler([queue("a")]), workload("one", status=Status(requeue_at=NOW + 60)))
    assert found.message == "Evicted, and not requeued yet"


# The way to its queue


def test_there_is_no_such_local_queue_but_one_with_nearly_its_name() -> None:
    found = stands(scheduler([queue("research")]), workload("one", "reserch"))
    assert found == (
        "Misconfigured",
        "LocalQueue reserch doesn't exist",
        "did you mean research? namespace default has: research; use one of them, or create LocalQueue reserch",
        "",
        "",
    )


def test_there_is_no_local_queue_at_all() -> None:
    found = stands(scheduler([]), workload("one", "a"))
    assert found.remedy == "create it: namespace default has no LocalQueue"


def test_a_queue_that_was_ignored_is_to_be_fixed() -> None:
    found = stands(scheduler([]), workload("one", "a"), left_out=("LocalQueue default/a",))
    assert found.remedy == "fix LocalQueue default/a: it was ignored because of its errors"
    built = scheduler([])
    built.put_local_queue(LocalQueue(DEFAULT, "a", "gone"))
    found = stands(built, workload("one", "a"), left_out=("ClusterQueue gone",))
    assert found.remedy == "fix ClusterQueue gone: it was ignored because of its errors"


def test_its_local_queue_is_stopped() -> None:
    built = scheduler([queue("a")])
    built.put_local_queue(LocalQueue(DEFAULT, "a", "a", "Hold"))
    found = stands(built, workload("one"))
    assert found.reason == "Suspended"
    assert found.remedy == "set spec.stopPolicy of LocalQueue default/a to None: `closeknit queue resume default/a`"


def test_its_cluster_queue_does_not_exist() -> None:
    built = scheduler([queue("batch")])
    built.put_local_queue(LocalQueue(DEFAULT, "a", "bach"))
    found = stands(built, workload("one"))
    assert found.message == "ClusterQueue bach doesn't exist"
    assert found.remedy == "did you mean batch? create it, or recreate LocalQueue a with another clusterQueue"


def test_its_cluster_queue_is_inactive_for_a_reason_that_is_said() -> None:
    found = stands(scheduler([queue("a", {"missing": 4})]), workload("one"))
    assert found.reason == "Suspended"
    assert found.message == (
        "ClusterQueue a is inactive: Can't admit new workloads: references missing ResourceFlavor(s): missing."
    )
    assert found.remedy == "create these ResourceFlavors"


# Its namespace


def test_no_namespace_may_use_the_queue() -> None:
    found = stands(scheduler([queue("a", selector=None)]), workload("one"))
    assert found.message == "workload namespace doesn't match ClusterQueue selector"
    assert "without one it serves no namespace" in found.remedy


def test_its_namespace_lacks_a_label() -> None:
    wants = Selector((Requirement("team", "In", ("a", "b")), Requirement("paid", "Exists")))
    found = stands(scheduler([queue("a", selector=wants)]), workload("one"))
    assert found.remedy == "label namespace default to match the selector of ClusterQueue a: team In a,b, paid Exists"


def test_its_namespace_does_not_exist() -> None:
    built = scheduler([queue("a")])
    built.world.namespaces.clear()
    assert stands(built, workload("one"))[1:3] == (
        "Could not obtain workload namespace default",
        "create namespace default",
    )


def test_its_pods_ask_for_more_than_a_limit_range_allows() -> None:
    built = scheduler([queue("a")])
    built.world.limit_ranges[DEFAULT] = (LimitRange("Container", max={GPU: 1}),)
    found = stands(built, workload("one", "a", 1, 2, part(requests=2)))
    assert found.message.endswith('["gpu"]: requests must not be above the limitRange max')
    assert found.remedy == "change the pods' requests, or the LimitRanges of namespace default"


# Quota


def test_it_asks_for_more_than_there_could_ever_be() -> None:
    alone = stands(scheduler([queue("a", 4)]), workload("one", count=5), tries=True)
    assert (alone.reason, alone.remedy) == (
        "ExceedsMaxQuota",
        "one of: (1) ask for 4 pods instead of 5; "
        "(2) raise the quota of ClusterQueue a for gpu in flavor default from 4 to 5",
    )


def test_others_hold_what_it_needs() -> None:
    found = stands(scheduler([queue("a", 4)]), workload("one", count=3), running("other", 2), tries=True)
    assert found.reason == "WaitingForQuota"
    assert found.remedy == (
        "one of: (1) wait until other workloads finish; (2) ask for 2 pods instead of 3; "
        "(3) raise the quota of ClusterQueue a for "
        "gpu in flavor default from 4 to 5"
    )


def test_a_higher_priority_is_offered_only_where_it_would_preempt() -> None:
    built = scheduler([queue("a", 4, preemption=Preemption("LowerPriority"))])
    found = stands(built, workload("one", count=4, requests=1), running("other", 4), tries=True)
    assert found.remedy.endswith("(3) give it a higher priority: it may then preempt default/other")
    never = stands(scheduler([queue("a", 4)]), workload("one", count=4), running("other", 4), tries=True)
    assert "priority" not in never.remedy


def test_untried_changes_are_not_offered() -> None:
    found = stands(scheduler([queue("a", 4)]), workload("one", count=5))
    assert found.remedy == "`closeknit explain one -n default` tries possible changes"


def test_it_would_preempt_the_same_again_and_again() -> None:
    built, preemptor, victim = back_and_forth()
    found = stands(built, preemptor, victim)
    assert found.reason == "WaitingForPreemptedWorkloads"
    assert found.message == "Workload default/victim would be preempted over and over"


# Flavors


@pytest.mark.parametrize(
    ("flavor", "asked", "remedy"),
    [
        (Flavor(DEFAULT), part(requests={"tpu": 1}), "request only what ClusterQueue a has (gpu), or add the resource"),
        (Flavor(DEFAULT), part(requests={"gpus": 1}), "did you mean gpu? request only what ClusterQueue a has"),
        (Flavor(DEFAULT), part(constraint=Constraint(required=RACK)), "set spec.topologyName of the flavor"),
        (Flavor(DEFAULT, taints=(Taint("k", "v", "NoSchedule"),)), part(), "tolerate the taint"),
        (Flavor(DEFAULT, {"disk": "ssd"}), part(selector={"disk": "hdd"}), "change the node selector"),
        (
            Flavor(DEFAULT, {"pool": "gpu"}, topology="dc"),
            part(constraint=Constraint(required="example.com/row")),
            f"use a level of the flavor's Topology: {RACK}, {HOSTNAME}",
        ),
    ],
    ids=["resource", "misspelt", "no-topology", "taint", "affinity", "level"],
)
def test_no_flavor_suits_its_pods(flavor: Flavor, asked: Any, remedy: str) -> None:
    built = scheduler([queue("a", 9)], (), [flavor], [Topology("dc", (RACK, HOSTNAME))])
    found = stands(built, workload("one", "a", 1, 1, asked))
    assert found.reason == "NoMatchingFlavor"
    assert remedy in found.remedy


def test_its_pods_find_no_place_and_the_engine_tries_what_would_help() -> None:
    flavor = Flavor(DEFAULT, {"pool": "gpu"}, topology="dc")
    built = scheduler([queue("a", 20)], (), [flavor], [Topology("dc", (RACK, HOSTNAME))])
    for name in ("n1", "n2"):
        built.world.put_node(Node(name, {HOSTNAME: name, RACK: f"r-{name}", "pool": "gpu"}, {GPU: 4, "pods": 10}))
    big = workload("big", count=6, constraint=Constraint(required=RACK))
    found = stands(built, big, tries=True)
    assert found.reason == "TopologyPlacementFailed"
    assert found.remedy == (
        f'one of: (1) relax to preferred "{RACK}"; (2) ask for 4 pods instead of 6; (3) add 1 node like n1 in r-n1'
    )


def test_a_workload_ahead_of_it_in_a_best_effort_queue_is_named() -> None:
    built = scheduler([queue("a", 4)])
    first, second = workload("first", created=1.0), workload("second", count=2, created=2.0)
    for one in (first, second):
        built.put(one, NOW)
    found = Obstacles(built, Story(), NOW).of(second)
    assert (
        found.message
        == "ClusterQueue a is BestEffortFIFO, and default/first is ahead of it and is retried over and over"
    )
    assert found.remedy == "check default/first"


# Its position in the queue


def test_it_is_behind_another_workload() -> None:
    built = scheduler([queue("a", 4, strategy="StrictFIFO")])
    found = stands(built, workload("small", created=2.0), workload("big", count=9, created=1.0))
    assert found[:2] == ("PendingEvaluation", "ClusterQueue a is StrictFIFO, and default/big is ahead of it")


def test_what_failed_for_one_holds_for_all_that_are_like_it() -> None:
    built = scheduler([queue("a", 4)])
    others = [workload(f"like-{number}", count=3, created=float(number)) for number in range(3)]
    found = stands(built, others[2], running("other", 2), *others[:2])
    assert (found.reason, found.message, found.like) == ("WaitingForQuota", BYPASSED, "default/like-0")
    assert found.cause.endswith("1 more needed")
    assert found.remedy
