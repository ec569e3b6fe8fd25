"""A story in sentences, and as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.obstacles import Obstacles
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.what_if import WhatIfOptions, play
from closeknit.model.cluster_queue import Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.name import Name
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint
from closeknit.model.workload import Workload
from closeknit.report.what_if import MOST_STEPS, MOST_WAITING, WhatIfAnswer, narrative, where
from decide.objects import GPU, part, queue, scheduler, workload
from decide.test_what_if import NOW, RACK, back_and_forth, checked, on, racks, running

BY_PRIORITY = Preemption(within_queue="LowerPriority")


def answer(built: Scheduler, asked: list[Workload], *others: Workload, **options: Any) -> WhatIfAnswer:
    story = play(built, [*others, *asked], NOW, WhatIfOptions(**options))
    keys = [one.key for one in asked]

    def name_of(key: str) -> Name:
        return Name("Job", *key.split("/"))

    return WhatIfAnswer(built.world, story, Obstacles(built, story, NOW), keys, ["j.yaml"] * len(keys), name_of, "then")


def lines(*args: Any, wide: bool = False, **options: Any) -> list[str]:
    return list(narrative(answer(*args, **options), wide))


def test_preemptions_are_listed_in_order_with_preemptor_and_cause() -> None:
    built = scheduler([queue("a", 10, preemption=BY_PRIORITY)])
    shown = lines(built, [workload("high", count=8, priority=5)], running("low", 6))
    assert shown.pop(5).strip().endswith("insufficient unused quota for gpu in flavor default, 4 more needed")
    assert shown == [
        "what happens:",
        "  1  Job default/low in a is preempted by Job default/high: prioritization in the ClusterQueue",
        "  2  Job default/high is admitted to a: 8 pods of default",
        "pending:",
        "  Job default/low in LocalQueue default/a: WaitingForQuota",
        "Job default/high is admitted; 1 workload is preempted; others: 0 run, 1 wait",
    ]


def test_nothing_may_happen() -> None:
    built = scheduler([queue("a", 4)])
    shown = lines(built, [workload("big", count=9)])
    assert shown[0] == "nothing happens"
    assert shown[-1] == "Job default/big waits"


def test_a_job_that_runs_already_is_said_to() -> None:
    shown = lines(scheduler([queue("a", 4)]), [running("old", 2)])
    assert "Job default/old is admitted already, to a: 2 pods of default" in shown


@pytest.mark.parametrize(
    ("sizes", "last"),
    [
        ((1, 1), "all 2 given jobs are admitted"),
        ((9, 9), "all 2 given jobs wait"),
        ((1, 9), "1 of 2 given jobs is admitted"),
    ],
)
def test_the_last_line_counts(sizes: tuple[int, int], last: str) -> None:
    asked = [workload(f"w{number}", count=size, created=float(number)) for number, size in enumerate(sizes)]
    assert lines(scheduler([queue("a", 4)]), asked)[-1].startswith(last)


def test_places_in_short() -> None:
    def place(*workloads: Workload) -> list[str]:
        built = racks()
        story = play(built, workloads, NOW)
        return [where(built.world, one) for one in story.workloads.values()]

    near = Constraint(required=RACK)
    assert place(workload("one", count=3, constraint=near)) == ["3 pods of default on 1 host: r-n1/n1"]
    assert place(workload("all", count=8, constraint=Constraint(unconstrained=True))) == [
        "8 pods of default on 2 hosts, spread over several top-level domains"
    ]


def test_several_pod_sets_and_flavors_are_distinguished() -> None:
    groups = (
        ResourceGroup(("cpu",), (FlavorQuotas("small", {"cpu": Quota(9)}),)),
        ResourceGroup((GPU,), (FlavorQuotas("big", {GPU: Quota(9)}),)),
    )
    built = scheduler([queue("a")], flavors=[Flavor("small"), Flavor("big")])
    built.put_cluster_queue(replace(built.world.cluster_queues["a"], groups=groups))
    parts = part("driver", 1, {"cpu": 1}), part("workers", 2, {"cpu": 1, GPU: 1})
    story = play(built, [workload("two", "a", 1, 1, *parts)], NOW)
    assert where(built.world, story.workloads["default/two"]) == (
        "driver 1 pod of small; workers 2 pods of small (cpu), big (gpu)"
    )


def test_fewer_pods_than_asked_for_are_said_so() -> None:
    shown = lines(scheduler([queue("a", 4)]), [workload("some", count=6, min_count=2)])
    assert shown[1] == "  1  Job default/some is admitted to a: 4 of 6 pods of default"


def test_wide_lists_hosts() -> None:
    shown = lines(racks(), [workload("one", count=3, constraint=Constraint(required=RACK))], wide=True)
    assert shown[2] == "       n1  3 pods"


def test_checks_evictions_and_cuts_have_sentences_of_their_own() -> None:
    held = lines(checked(), [workload("one")], checks_ready=False)
    assert held[1] == "  1  Job default/one gets quota in a and waits for its checks: paperwork"
    stopped = lines(scheduler([queue("a", 4, stop="HoldAndDrain")]), [workload("new")], running("old", 2))
    assert stopped[1] == "  1  Job default/old in a is evicted: The ClusterQueue is stopped"
    assert "inactive ClusterQueues:" in stopped
    built, preemptor, victim = back_and_forth()
    cut = lines(built, [preemptor], victim)
    assert cut[4] == (
        "  4  Job default/preemptor would preempt Job default/victim again; "
        "the preemptions would repeat, so this job is not simulated further"
    )


def test_pods_of_a_failed_node_move() -> None:
    built = racks()
    built.world.drop_node("n1")
    one = on(running("one", 3), {"n1": 3})
    shown = lines(built, [replace(one, status=replace(one.status, unhealthy=("n1",)))])
    assert shown[1] == "  1  Job default/one moves off a failed node: 3 pods of default on 1 host: r-n2/n2"


def test_other_workloads_with_the_same_obstacle_are_grouped() -> None:
    built = scheduler([queue("a", 4)])
    alike = [workload(f"like-{number}", count=3, created=float(number)) for number in range(5)]
    shown = lines(built, [workload("mine", count=9, created=9.0)], running("old", 2), *alike)
    assert (
        "  Job default/like-0, Job default/like-1, Job default/like-2 and 2 more in LocalQueue default/a: "
        + ("WaitingForQuota")
        in shown
    )
    assert sum("Job default/like-" in line for line in shown) == 1
    again = scheduler([queue("a", 4)])
    wide = lines(again, [workload("mine", count=9, created=9.0)], running("old", 2), *alike, wide=True)
    assert sum("in LocalQueue default/a" in line for line in wide) == 6
    assert sum(line.startswith("    Bypassed") and "Job default/like-0: " in line for line in wide) == 4


def test_many_steps_and_pending_workloads_are_cut_short_but_not_the_given_jobs() -> None:
    built = scheduler([queue("a", MOST_STEPS + 5)] + [queue(f"q{number}", 1) for number in range(MOST_WAITING + 3)])
    fits = [workload(f"fits-{number:02}", created=float(number)) for number in range(MOST_STEPS + 4)]
    waits = [workload(f"waits-{number}", f"q{number}", count=number + 2) for number in range(MOST_WAITING + 3)]
    shown = lines(built, [workload("mine", created=99.0)], *fits, *waits)
    assert any("Job default/mine is admitted" in line for line in shown)
    assert "  … and 4 more steps; -o wide shows them all" in shown
    assert "  … and 3 more; -o wide shows them all" in shown


def test_a_terminating_queue_is_reported_in_whole_sentences() -> None:
    shown = lines(scheduler([queue("a", 4, terminating=True)]), [workload("one")])
    said = "  a: Terminating: Can't admit new workloads; clusterQueue is terminating. Would help: create it again"
    assert said in shown
