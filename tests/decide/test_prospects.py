"""What it would take to admit a workload: quota and room are tried together, and what is impossible is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.obstacles import Obstacles, in_one_line
from closeknit.decide.prospects import Prospects
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.trial import Gap
from closeknit.decide.what_if import WhatIfOptions, play
from closeknit.model.cluster_queue import Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.node import Node
from closeknit.model.quota import FlavorResource, Quota
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload

from .objects import DEFAULT, GPU, Quotas, queue, scheduler, workload
from .objects import running as admitted
from .test_what_if import RACK, running

NOW = 1000.0
IN_A_RACK = Constraint(required=RACK)


def racks(quotas: Quotas | int, hosts: int = 2, cohort: str = "", *queues: object) -> Scheduler:
    """Two racks of `hosts` hosts with 4 gpus each, behind a queue with that much quota."""
    flavor = Flavor(DEFAULT, {"pool": "gpu"}, topology="dc")
    others = [one for one in queues if one is not None]
    built = scheduler([queue("a", quotas, cohort), *others], (), [flavor], [Topology("dc", (RACK, HOSTNAME))])  # type: ignore[list-item]
    for number in range(2 * hosts):
        labels = {HOSTNAME: f"n{number}", RACK: f"r{number // hosts}", "pool": "gpu"}
        built.world.put_node(Node(f"n{number}", labels, {GPU: 4, "pods": 10}))
    return built


def found(built: Scheduler, one: Workload, *others: Workload) -> Prospects:
    story = play(built, [one, *others], NOW, WhatIfOptions())
    assert not story.workloads[one.key].admitted
    said = Obstacles(built, story, NOW).prospects(story.workloads[one.key])
    assert said is not None
    return said


def texts(said: Prospects) -> list[str]:
    return [str(remedy) for remedy in said.remedies]


def test_a_change_that_quota_forbids_is_offered_only_with_more_quota() -> None:
    said = found(racks(8), workload("big", count=12, constraint=IN_A_RACK))
    more = "raise the quota of ClusterQueue a for gpu in flavor default from 8 to 12"
    assert texts(said) == [
        f'relax to preferred "{RACK}", and {more}',
        "ask for 8 pods instead of 12",
        f"add 1 node like n0 in r0, and {more}",
    ]


def test_with_quota_enough_the_same_changes_do_alone() -> None:
    said = found(racks(16), workload("big", count=12, constraint=IN_A_RACK))
    assert texts(said) == [
        f'relax to preferred "{RACK}"',
        "ask for 8 pods instead of 12",
        "add 1 node like n0 in r0",
    ]
    assert said.gaps == ()


def test_fewer_pods_are_as_many_as_quota_and_room_allow_together() -> None:
    assert "ask for 5 pods instead of 12" in texts(found(racks(5), workload("big", count=12, constraint=IN_A_RACK)))


def test_quota_that_others_hold_comes_back_and_is_waited_for() -> None:
    holds = running("other", 6)
    said = found(racks(16), workload("big", count=12, constraint=IN_A_RACK), holds)
    wait = "wait until quota for 2 more gpu in flavor default is free"
    assert f'relax to preferred "{RACK}", and {wait}' in texts(said)
    assert [(gap.need, gap.left, gap.most) for gap in said.gaps] == [(12, 10, 16)]


def test_more_than_a_queue_can_ever_have_is_reported_as_such() -> None:
    limited: Quotas = {DEFAULT: Quota(4, borrowing=2)}
    built = racks(limited, 4, "r", queue("b", 20, "r"))
    said = found(built, workload("big", count=8, constraint=IN_A_RACK))
    assert said.never == (
        "it requests 8 gpu in flavor default, but ClusterQueue a never has more than 6, borrowing included",
    )
    assert texts(said) == [
        "ask for 6 pods instead of 8",
        "raise the quota of ClusterQueue a for gpu in flavor default from 4 to 6",
    ]


def test_more_than_the_largest_domain_holds_is_reported_with_how_it_was_counted() -> None:
    said = found(racks(40), workload("big", count=9, constraint=IN_A_RACK))
    (never,) = said.never
    assert never.startswith("its pods would not fit even if all usable nodes were empty")
    assert "only 8 out of 9 pod(s)" in never
    assert said.numbers == "the message counts pods as if no other workload ran"
    assert [level.when_empty for level in said.rooms[0].levels] == [8, 4]


def test_a_pod_larger_than_any_node_never_fits_unless_it_is_made_smaller() -> None:
    said = found(racks(40), workload("huge", count=1, requests=5, constraint=IN_A_RACK))
    assert said.never
    assert texts(said) == ["request 4 gpu per pod, which is all that a node has"]


def test_only_the_labels_that_no_node_has_are_asked_for() -> None:
    built = racks(40)
    built.world.put_flavor(Flavor(DEFAULT, {"pool": "tpu"}, topology="dc"))
    said = found(built, workload("one", count=1, constraint=IN_A_RACK))
    assert said.never == ("flavor default has no nodes: no node has the labels pool=tpu",)
    assert said.first == ("label the nodes of flavor default: kubectl label node NODE pool=tpu",)


def test_a_flavor_without_nodes_is_reported_and_nothing_is_offered() -> None:
    said = found(racks(40, 0), workload("one", count=1, constraint=IN_A_RACK))
    assert said.never == (
        "flavor default has no nodes: no node has the labels pool=gpu and the levels of its Topology: "
        f"{RACK}, {HOSTNAME}",
    )
    assert said.remedies == ()


def test_what_was_tried_leaves_no_trace() -> None:
    built, big = racks(8), workload("big", count=12, constraint=IN_A_RACK)
    obstacles = Obstacles(built, play(built, [big], NOW, WhatIfOptions()), NOW)
    first, again = obstacles.prospects(big), obstacles.prospects(big)
    assert first is not None
    assert again is not None
    assert texts(again) == texts(first)
    assert built.world.cluster_queues["a"].groups == queue("a", 8).groups


def test_a_workload_that_takes_fewer_pods_is_judged_by_the_least() -> None:
    holds = running("other", 6)
    said = found(racks(9), workload("part", count=20, min_count=5), holds)
    assert said.never == ()
    assert said.least == "it accepts fewer pods; checked with its minimum: 5 of 20 pods of main"
    assert [(gap.need, gap.left) for gap in said.gaps] == [(5, 3)]
    assert texts(said)[:2] == [
        "ask for 3 pods instead of 5",
        "raise the quota of ClusterQueue a for gpu in flavor default from 9 to 11",
    ]


def test_a_minimum_of_pods_that_is_never_admitted_is_reported_as_such() -> None:
    said = found(racks(4), workload("part", count=20, min_count=5))
    assert said.never == ("it requests 5 gpu in flavor default, but ClusterQueue a never has more than 4",)


def test_nodes_to_be_labelled_come_before_all_changes() -> None:
    said = found(racks(40, 0), workload("one", count=1, constraint=IN_A_RACK))
    assert said.first == (f"label the nodes of flavor default: kubectl label node NODE pool=gpu {RACK}=…",)
    assert in_one_line(said) == said.first[0]


@pytest.mark.parametrize(
    ("rule", "priority", "told"),
    [
        (Preemption(), 5, "it may not preempt any workload: ClusterQueue a has withinClusterQueue: Never"),
        (
            Preemption("LowerPriority"),
            0,
            "no workload that it may preempt holds what it needs: ClusterQueue a has withinClusterQueue: "
            "LowerPriority, and its priority is 0",
        ),
        (Preemption("LowerPriority"), 5, "it may preempt default/other, but that does not free enough"),
    ],
    ids=["forbidden", "nobody", "too-little"],
)
def test_why_nothing_is_preempted_is_reported(rule: Preemption, priority: int, told: str) -> None:
    built = racks(9)
    built.put_cluster_queue(queue("a", 9, preemption=rule))
    low, high = running("other", 2), running("more", 4)
    high = replace(high, priority=9)
    said = found(built, workload("late", count=8, priority=priority, created=5.0), low, high)
    assert said.preemption == told


def test_cores_are_shown_in_one_unit() -> None:
    gap = Gap(FlavorResource("f", "cpu"), 28_800, 0, 9_000, 9_000)
    assert (gap.amount(gap.nominal), gap.amount(gap.need)) == ("9", "28.8")


def test_a_gate_that_would_free_one_domain_is_named() -> None:
    """The youngest two of b lie in two racks; with them gone b borrows nothing, and keeps the rest."""
    built = racks({DEFAULT: 4}, 1, "lab", queue("b", 4, "lab"))
    built.put_cluster_queue(queue("a", 4, "lab", preemption=Preemption("Never", "Any")))
    held = [
        admitted(workload(f"w{at}", "b", 2, constraint=IN_A_RACK), at=float(at), hosts={f"n{at % 2}": 2})
        for at in range(4)
    ]
    said = found(built, workload("urgent", count=4, constraint=IN_A_RACK, created=9.0), *held)
    assert texts(said)[-1] == "turn on the gate VictimsByDomain: it may then preempt default/w3, default/w1"
    some = "default/w3, default/w2, default/w1 and 1 other"
    assert said.preemption == f"it may preempt {some}, but that does not free enough"
    assert "VictimsByDomain" not in built.world.gates
