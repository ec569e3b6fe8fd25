"""A plan for one workload: with fewer pods if need be, and victims only where they help."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Decision, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import BorrowWithinCohort, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload

from .objects import DEFAULT, GPU, part, queue, running, scheduler, workload
from .play import Play


def counts(built: Scheduler, one: Workload) -> dict[str, int] | None:
    """How many pods of each pod set are admitted; None if it waits."""
    built.put(one, 0.0)
    (decision,) = built.cycle(0.0)
    if isinstance(decision, Wait):
        return None
    assert isinstance(decision, Admit)
    return {given.name: given.count for given in decision.admission.pod_sets}


def victims(decisions: list[Decision]) -> list[str]:
    return [one.victim.name for one in decisions if isinstance(one, Preempt)]


class TestPartialAdmission:
    def test_a_workload_that_fits_gets_all_its_pods(self) -> None:
        assert counts(scheduler([queue("a", 10)]), workload("w", count=8, min_count=2)) == {"main": 8}

    @pytest.mark.parametrize("free", [2, 3, 5, 7])
    def test_else_as_many_as_fit(self, free: int) -> None:
        assert counts(scheduler([queue("a", free)]), workload("w", count=8, min_count=2)) == {"main": free}

    def test_but_no_fewer_than_will_do(self) -> None:
        assert counts(scheduler([queue("a", 3)]), workload("w", count=8, min_count=4)) is None

    def test_usage_is_that_of_the_pods_admitted(self) -> None:
        built = scheduler([queue("a", 7)])
        built.put(workload("w", count=4, requests=2, min_count=1), 0.0)
        (decision,) = built.cycle(0.0)
        assert isinstance(decision, Admit)
        assert decision.admission.pod_sets[0].usage == {GPU: 6}

    def test_the_other_pod_sets_stay_whole(self) -> None:
        one = workload("w", "a", 1, 1, part("leader", 1, 2), part("workers", 6, min_count=2))
        assert counts(scheduler([queue("a", 5)]), one) == {"leader": 1, "workers": 3}

    def test_not_without_the_gate(self) -> None:
        gates = Gates.profile("closeknit", {"PartialAdmission": False})
        assert counts(scheduler([queue("a", 5)], gates=gates), workload("w", count=8, min_count=2)) is None

    def test_places_bound_it_too(self) -> None:
        built = scheduler(
            [queue("a", {"placed": 99})],
            flavors=[Flavor("placed", topology="t")],
            topologies=[Topology("t", (HOSTNAME,))],
        )
        for name in ("h1", "h2"):
            built.world.put_node(Node(name, {HOSTNAME: name}, {GPU: 3, "pods": 9}))
        one = workload("w", count=8, min_count=2, constraint=Constraint(required=HOSTNAME))
        assert counts(built, one) == {"main": 3}

    def test_victims_for_all_pods_are_better_than_fewer_pods(self) -> None:
        built = scheduler([queue("a", 8, preemption=Preemption("LowerPriority"))])
        built.put(running(workload("old", count=4)), 0.0)
        built.put(workload("w", count=8, min_count=2, priority=1), 0.0)
        order, wait = built.cycle(0.0)
        assert isinstance(order, Preempt)
        assert isinstance(wait, Wait)

    def test_where_no_victim_is_allowed_fewer_pods_are_tried(self) -> None:
        built = scheduler([queue("a", 8, preemption=Preemption("LowerPriority"))])
        built.put(running(workload("old", count=4, priority=5)), 0.0)
        assert counts(built, workload("w", count=8, min_count=2)) == {"main": 4}

    def test_pods_that_are_done_are_not_asked_for(self) -> None:
        one = workload("w", count=8, min_count=2)
        one = replace(one, status=replace(one.status, reclaimable={"main": 3}))
        assert counts(scheduler([queue("a", 99)]), one) == {"main": 5}


class TestElasticSlices:
    """A slice that takes over from an older one may use what that one holds."""

    def built(self, free: int) -> Scheduler:
        built = scheduler([queue("a", free)])
        built.put(running(workload("old", count=4)), 0.0)
        return built

    def test_only_the_difference_is_needed(self) -> None:
        assert counts(self.built(4), workload("solo", count=6)) is None
        built = self.built(6)
        built.put(workload("new", count=6, replaces="default/old"), 0.0)
        admit, replaced = built.cycle(0.0)
        assert isinstance(admit, Admit)
        assert type(replaced).__name__ == "Replace"

    def test_what_the_older_one_holds_does_not_make_up_for_quota_that_is_not_there(self) -> None:
        assert counts(self.built(5), workload("new", count=6, replaces="default/old")) is None


class TestQuotaThatIsDue:
    """`red` has mem that `blue` borrows and may take it back; it has no gpu left, and `blue` uses only its own."""

    @staticmethod
    def borrowed_mem(preemption: Preemption, holdings: dict[str, dict[str, int]], gates: Gates | None = None) -> Play:
        """Workloads of `blue` with what they hold, and `mine` of `red` that wants one of each."""
        rule = Preemption(reclaim="Any", borrow=BorrowWithinCohort("LowerPriority"))
        red = queue("red", {DEFAULT: {GPU: 1, "mem": 4}}, "r", preemption=rule)
        blue = queue("blue", {DEFAULT: {GPU: 2, "mem": 0}}, "r", preemption=preemption)
        made = Play(scheduler([red, blue], gates=gates))
        made.put(running(workload("old", "red", priority=9)))
        made.put(*(running(workload(name, "blue", 1, held)) for name, held in holdings.items()))
        made.put(workload("mine", "red", 1, {GPU: 1, "mem": 1}, priority=5))
        return made

    def test_a_workload_that_holds_it_is_preempted_for_the_other_quota_that_it_frees(self) -> None:
        made = self.borrowed_mem(Preemption(), {"both": {GPU: 2, "mem": 4}})
        assert victims(made.cycles(9)) == ["both"]
        assert made.admitted == {"old", "mine"}

    def test_a_workload_that_holds_none_of_it_is_not(self) -> None:
        """Otherwise `gpus`, which is within its quota, preempts it in turn, and so on: Kueue never ends."""
        holdings, any_of_them = {"gpus": {GPU: 2}, "mems": {"mem": 4}}, Preemption(reclaim="Any")
        made = self.borrowed_mem(any_of_them, holdings)
        assert victims(made.cycles(20)) == []
        gates = Gates.profile(changes={"VerifyBeforeAdmit": False})
        made = self.borrowed_mem(any_of_them, holdings, gates)
        assert victims(made.cycles(20)).count("gpus") > 2
