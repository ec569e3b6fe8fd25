"""What a preemption frees is kept for the workload that preempted, ahead of all that would go before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Decision, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import ClusterQueue, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.queue.wake import RequeueReason, WakeEvent
from closeknit.state.placed import PlacedPod

from .objects import GPU, queue, running, scheduler, workload
from .play import Play

ON_ONE_HOST = Constraint(required=HOSTNAME)
PREEMPTS = Preemption("LowerPriority")
HIGH = workload("high", "red", 4, priority=9, constraint=ON_ONE_HOST)
WAITS_FOR_VICTIMS = RequeueReason.PENDING_PREEMPTION


def built(queues: Iterable[ClusterQueue], fair: bool = False, on: bool = True) -> Scheduler:
    gates, settings = Gates.profile(changes={"KeepFreedRoom": on}), Settings(FAIR if fair else ())
    flavor, topology = Flavor("placed", topology="t"), Topology("t", (HOSTNAME,))
    made = scheduler(queues, (), (flavor,), (topology,), gates, settings)
    made.world.put_node(Node("h1", {HOSTNAME: "h1"}, {GPU: 4, "pods": 9}))
    return made


def one_host(fair: bool = False, on: bool = True, cohort: str = "r") -> Play:
    """`low` has half of a host; `high`, of the same queue, wants all of it and borrows, `own` of blue does not."""
    blue = queue("blue", {"placed": 8}, cohort, preemption=Preemption(reclaim="Any"))
    lender = queue("lender", {"placed": 8}, "r")
    made = Play(built([queue("red", {"placed": 2}, "r", preemption=PREEMPTS), blue, lender], fair, on))
    made.put(running(workload("low", "red", 2), "placed", hosts={"h1": 2}))
    for number in range(2):
        pod = PlacedPod("default/low", "main", "h1", {GPU: 1}, False)
        made.scheduler.world.put_placed_pod(f"default/low-{number}", pod)
    made.put(HIGH, workload("own", "blue", 4, constraint=ON_ONE_HOST))
    return made


def end_pods(made: Play) -> None:
    for number in range(2):
        made.scheduler.world.drop_placed_pod(f"default/low-{number}")
    made.scheduler.wake_queues(WakeEvent.OTHER_POD_GONE, (), 4.0)


def preempted(decisions: list[Decision]) -> list[str]:
    return [one.victim.name for one in decisions if isinstance(one, Preempt)]


def waiting_for_victims(decisions: list[Decision]) -> list[str]:
    return [one.workload.name for one in decisions if isinstance(one, Wait) and one.why is WAITS_FOR_VICTIMS]


def admitted(decisions: list[Decision]) -> list[str]:
    return [one.workload.name for one in decisions if isinstance(one, Admit)]


@pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])
@pytest.mark.parametrize("cohort", ["r", "", "other"])
def test_room_that_drains_is_not_promised_to_a_workload_that_would_go_first(fair: bool, cohort: str) -> None:
    made = one_host(fair, cohort=cohort)
    assert preempted(made.cycle()) == ["low"]
    assert waiting_for_victims(made.cycle()) == ["high"]
    end_pods(made)
    assert admitted(made.cycle()) == ["high"]


@pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])
def test_without_the_gate_the_workload_that_goes_first_gets_it(fair: bool) -> None:
    made = one_host(fair, on=False)
    assert preempted(made.cycle()) == ["low"]
    assert waiting_for_victims(made.cycle()) == ["own"]


def test_a_victim_is_preempted_once_and_not_admitted_and_preempted_in_turn() -> None:
    """`low` fits beside its own pods, which are on their way out, as often as it is preempted."""
    made = one_host()
    found = made.cycles(20)
    assert (preempted(found), admitted(found)) == (["low"], [])


def test_the_claim_ends_when_the_preemptor_is_admitted() -> None:
    made = one_host()
    made.cycle()
    assert list(made.scheduler.claims) == ["default/high"]
    end_pods(made)
    assert admitted(made.cycle()) == ["high"]
    assert not made.scheduler.claims


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "too large now"])
def test_the_claim_ends_when_the_preemptor_cannot_be_admitted(gone: bool) -> None:
    made = one_host()
    made.cycle()
    made.scheduler.pending.drop("default/low")
    if gone:
        made.scheduler.drop("default/high")
    else:
        made.put(workload("high", "red", 5, priority=9, constraint=ON_ONE_HOST, generation=2))
    assert waiting_for_victims(made.cycle()) == ["own"]
    assert not made.scheduler.claims


def test_of_two_preemptors_the_first_to_preempt_keeps_its_room() -> None:
    """`second` borrows nothing and is of higher priority, but `low` was preempted for `high` before it came."""
    made = one_host()
    made.scheduler.drop("default/own")
    made.scheduler.put_cluster_queue(queue("blue", {"placed": 8}, "r", preemption=PREEMPTS))
    made.scheduler.world.put_node(Node("h2", {HOSTNAME: "h2"}, {GPU: 4, "pods": 9}))
    made.put(running(workload("old", "blue", 4), "placed", hosts={"h2": 4}))
    made.victims_stop = False
    assert preempted(made.cycle()) == ["low"]
    made.put(workload("second", "blue", 4, priority=99, constraint=ON_ONE_HOST))
    assert preempted(made.cycle()) == ["old"]
    assert list(made.scheduler.claims) == ["default/high", "default/second"]
    made.finish("default/low")
    end_pods(made)
    assert admitted(made.cycle()) == ["high"]


def test_a_workload_that_lost_a_node_goes_first_all_the_same() -> None:
    """Both want what is left on h1: `high`, for which `low` was preempted, and the pod that `hit` lost with h2."""
    made = one_host()
    made.scheduler.world.put_node(Node("h2", {HOSTNAME: "h2"}, {GPU: 1, "pods": 9}))
    hit = running(workload("hit", "blue", 1), "placed", hosts={"h2": 1})
    made.put(hit)
    assert preempted(made.cycle()) == ["low"]
    made.scheduler.world.drop_node("h2")
    made.put(replace(hit, status=replace(hit.status, unhealthy=("h2",))))
    end_pods(made)
    assert admitted(made.cycle(9.0)) == ["hit"]
