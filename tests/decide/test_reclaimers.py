"""An admission that borrows wakes the parked workloads of other queues that may now reclaim from its queue."""

from __future__ import annotations

import pytest

from closeknit.decide.decision import Decision, Preempt
from closeknit.model.cluster_queue import BorrowWithinCohort, ClusterQueue, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import Cohort
from closeknit.model.request import Constraint
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.queue.wake import WakeEvent

from .objects import GPU, cohort, queue, running, scheduler, workload
from .play import Play

RECLAIMS = Preemption(reclaim="LowerPriority")


def victims(decisions: list[Decision]) -> list[str]:
    return [one.victim.name for one in decisions if isinstance(one, Preempt)]


def shares(preemption: Preemption = RECLAIMS, gate: bool = True, mine: int = 0) -> Play:
    """Three queues share what they use and 2 more: `a` 4, `c` 2, `b` none or `mine`; `parked` of `b` wants 4."""
    gates = Gates.profile(changes={"WakeByReason": gate})
    queues = [queue("a", 0, "r"), queue("b", 0, "r", preemption=preemption), queue("c", 0, "r")]
    made = Play(scheduler(queues, [cohort("r", "", 8 + mine)], gates=gates, settings=Settings(FAIR)))
    made.put(running(workload("old", "a", 4)), running(workload("other", "c", 2)))
    made.put(*[running(workload("mine", "b", mine))][: bool(mine)], workload("parked", "b", 4, priority=5))
    assert victims(made.cycles(9)) == []
    return made


class TestFairSharing:
    def test_a_share_that_grows_wakes_a_workload_that_may_take_it_back(self) -> None:
        made = shares()
        made.put(workload("new", "a", 2, priority=9))
        assert victims(made.cycles(9)) == ["old"]
        assert made.admitted == {"other", "new", "parked"}

    def test_a_queue_with_a_larger_share_than_the_one_that_grew_stays_parked(self) -> None:
        made = shares(mine=4)
        made.put(workload("new", "c", 1))
        made.cycle()
        assert not made.scheduler.is_ready

    def test_a_queue_that_reclaims_nothing_stays_parked(self) -> None:
        made = shares(Preemption())
        made.put(workload("new", "a", 2, priority=9))
        made.cycle()
        assert not made.scheduler.is_ready

    def test_in_kueue_it_waits_for_another_event(self) -> None:
        made = shares(gate=False)
        made.put(workload("new", "a", 2, priority=9))
        assert victims(made.cycles(9)) == []
        made.scheduler.wake(WakeEvent.WORKLOAD_FINISHED, "c", 0.0)
        assert victims(made.cycles(9)) == ["old"]


def nodes(preemption: Preemption, nominal: int = 4, team: str = "r") -> Play:
    """`old` of `a` is on a host of 4, another host has 3 left; `parked` of `b` wants a host with 4."""
    by_host = Constraint(required=HOSTNAME)
    queues: list[ClusterQueue] = [
        queue("a", {"placed": 4}, "r"),
        queue("b", {"placed": nominal}, team, preemption=preemption),
        queue("c", {"placed": 9}, "r"),
    ]
    tree: list[Cohort] = [] if team == "r" else [cohort("r"), cohort(team, "r", {"placed": 4})]
    made = Play(scheduler(queues, tree, [Flavor("placed", topology="t")], [Topology("t", (HOSTNAME,))]))
    for name, gpus in (("h1", 4), ("h2", 3)):
        made.scheduler.world.put_node(Node(name, {HOSTNAME: name}, {GPU: gpus, "pods": 9}))
    made.put(running(workload("old", "a", 4), "placed", hosts={"h1": 4}))
    made.put(workload("parked", "b", 4, priority=5, constraint=by_host))
    assert victims(made.cycles(9)) == []
    made.put(workload("new", "a", 3, priority=1, constraint=by_host))
    return made


class TestClassical:
    @pytest.mark.parametrize(
        ("preemption", "nominal", "team"),
        [
            (Preemption(reclaim="Any"), 4, "r"),
            (Preemption(reclaim="Any"), 0, "team"),
            (Preemption(reclaim="LowerPriority", borrow=BorrowWithinCohort("LowerPriority")), 0, "r"),
        ],
        ids=["own quota", "quota of its cohort", "while borrowing"],
    )
    def test_a_queue_that_begins_to_borrow_may_lose_a_workload_again(
        self, preemption: Preemption, nominal: int, team: str
    ) -> None:
        made = nodes(preemption, nominal, team)
        assert victims(made.cycles(9)) == ["old"]
        assert made.admitted == {"new", "parked"}

    @pytest.mark.parametrize(
        ("preemption", "nominal"),
        [(Preemption(reclaim="Never"), 4), (Preemption(reclaim="Any"), 0)],
        ids=["may not", "has no quota of its own"],
    )
    def test_a_queue_that_cannot_reclaim_stays_parked(self, preemption: Preemption, nominal: int) -> None:
        made = nodes(preemption, nominal)
        made.cycle()
        assert not made.scheduler.is_ready
