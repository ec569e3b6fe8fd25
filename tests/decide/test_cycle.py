"""Within one cycle: what a turn takes shows to the turns after it, and each fate has its words."""

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
from closeknit.model.quota import Cohort
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from closeknit.queue.wake import RequeueReason

from .objects import GPU, ON_DEFAULT, cohort, limited, queue, running, scheduler, workload
from .play import Play

LOWER = Preemption("LowerPriority")
ANY = Preemption("LowerPriority", "Any")


def decided(
    queues: Iterable[ClusterQueue],
    *workloads: Workload,
    cohorts: Iterable[Cohort] = (),
    gates: dict[str, bool] | None = None,
) -> list[Decision]:
    built = scheduler(queues, cohorts, gates=Gates.profile("closeknit", gates or {}))
    for one in workloads:
        built.put(one, 0.0)
    return built.cycle(0.0)


def admitted(decisions: list[Decision]) -> list[str]:
    return [one.workload.name for one in decisions if isinstance(one, Admit)]


def ordered_out(decisions: list[Decision]) -> list[tuple[str, str]]:
    return [(one.by.name, one.victim.name) for one in decisions if isinstance(one, Preempt)]


def waits(decisions: list[Decision], name: str) -> Wait:
    (found,) = [one for one in decisions if isinstance(one, Wait) and one.workload.name == name]
    return found


class TestSharing:
    def test_an_entry_that_no_longer_fits_reports_that_and_retries_at_once(self) -> None:
        built = scheduler([queue("a", 0, "r"), queue("b", 0, "r")], [cohort("r", "", 4)])
        built.put(workload("x", "a", 3, priority=1), 0.0)
        built.put(workload("y", "b", 3), 0.0)
        late = waits(built.cycle(0.0), "y")
        assert (late.why, late.reason) == (RequeueReason.LOST_ITS_PLACE, "WaitingForQuota")
        assert late.message == "Workload no longer fits after processing another workload"
        assert built.is_ready

    def test_a_workload_that_holds_quota_already_is_dropped_from_its_line(self) -> None:
        built = scheduler([queue("a", 4)])
        one = workload("w", count=2)
        built.put(running(one), 0.0)
        built.pending.put(one, 0.0)
        assert built.cycle(0.0) == []
        assert not built.is_ready
        assert built.world.node_of("a").usage == {ON_DEFAULT: 2}

    def test_a_cycle_without_heads_decides_nothing(self) -> None:
        assert decided([queue("a")]) == []

    def test_every_queue_brings_one_workload_a_cycle(self) -> None:
        ones = [workload("a1", "a"), workload("a2", "a"), workload("b1", "b")]
        assert sorted(admitted(decided([queue("a"), queue("b")], *ones))) == ["a1", "b1"]


class TestPreempting:
    def test_the_preemptor_waits_and_the_victim_names_its_preemptor(self) -> None:
        ones = [running(workload("old", count=4)), workload("new", count=4, priority=1, job_uid="j")]
        order, wait = decided([queue("a", 4, "r", preemption=LOWER)], *ones)
        assert isinstance(order, Preempt)
        assert (order.victim.name, order.queue, order.by.name, order.by_queue) == ("old", "a", "new", "a")
        assert order.message == (
            "Preempted to accommodate a workload (UID: new, JobUID: j) due to prioritization in the ClusterQueue; "
            "preemptor path: /r/a; preemptee path: /r/a"
        )
        assert isinstance(wait, Wait)
        assert (wait.why, wait.reason) == (RequeueReason.PENDING_PREEMPTION, "WaitingForPreemptedWorkloads")
        assert wait.message == (
            "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor default, "
            "4 more needed. Pending the preemption of 1 workload(s)"
        )
        assert [one.name for one in wait.victims] == ["old"]

    def test_missing_ids_are_unknown(self) -> None:
        ones = [running(workload("old", count=4)), workload("new", count=4, priority=1, uid="")]
        order, _ = decided([queue("a", 4, preemption=LOWER)], *ones)
        assert isinstance(order, Preempt)
        assert "(UID: UNKNOWN, JobUID: UNKNOWN)" in order.message

    def test_a_victim_on_its_way_out_is_not_ordered_out_again(self) -> None:
        play = Play(scheduler([queue("a", 4, preemption=LOWER)]), victims_stop=False)
        play.put(running(workload("old", count=4)), workload("new", count=4, priority=1))
        assert ordered_out(play.cycle(1.0)) == [("new", "old")]
        (again,) = play.cycle(2.0)
        assert isinstance(again, Wait)
        assert again.message.endswith("Pending the preemption of 1 workload(s)")

    def test_once_the_victim_has_stopped_the_preemptor_is_admitted(self) -> None:
        play = Play(scheduler([queue("a", 4, preemption=LOWER)]))
        play.put(running(workload("old", count=4)), workload("new", count=4, priority=1))
        play.cycle(1.0)
        play.cycle(2.0)
        assert play.admitted == {"new"}

    def test_what_the_preemptor_will_get_is_kept_from_later_turns(self) -> None:
        """The victim gives back 4, the preemptor takes 3; the other asks for 2 of which 1 will be there."""
        members = [queue("a", 4, "r", preemption=LOWER), queue("b", 0, "r")]
        ones = [running(workload("old", count=4)), workload("new", count=3, priority=1), workload("other", "b", 2)]
        decisions = decided(members, *ones)
        assert admitted(decisions) == []
        assert ordered_out(decisions) == [("new", "old")]

    def test_without_candidates_it_waits_for_quota(self) -> None:
        ones = [running(workload("old", count=4, priority=1)), workload("new", count=4, priority=1)]
        wait = waits(decided([queue("a", 4, preemption=LOWER)], *ones), "new")
        assert (wait.why, wait.reason) == (RequeueReason.NO_CANDIDATES, "WaitingForQuota")

    def test_a_closed_gate_holds_a_preemption_back(self) -> None:
        gates = {"MultiKueueOrchestratedPreemption": True}
        members = [queue("a", 4, preemption=LOWER)]
        old = running(workload("old", count=4))
        new = workload("new", count=4, priority=1, preemption_gates=("g",))
        (wait,) = decided(members, old, new, gates=gates)
        assert isinstance(wait, Wait)
        assert (wait.why, wait.reason, wait.gated) == (RequeueReason.GATED, "AdmissionGated", True)
        assert wait.message == "Workload requires preemption, but it's gated"
        opened = replace(new, status=replace(new.status, open_gates=frozenset({"g"})))
        assert ordered_out(decided(members, old, opened, gates=gates)) == [("new", "old")]
        assert ordered_out(decided(members, old, new)) == [("new", "old")]


class TestReservation:
    """Who has no candidates keeps others from what it asks for, unless it can reclaim it later."""

    def decisions(self, policy: Preemption) -> list[Decision]:
        """`a` has 4 and uses 2 of them; its head asks for 4, the head of `b` would borrow the 2 that are left."""
        members = [queue("a", 4, "r", preemption=policy), queue("b", 0, "r")]
        old = running(workload("old", "a", 2, priority=9))
        return decided(members, old, workload("x", "a", 4, priority=5), workload("y", "b", 2))

    def test_what_it_asks_for_is_kept_from_later_turns(self) -> None:
        decisions = self.decisions(LOWER)
        assert admitted(decisions) == []
        assert waits(decisions, "x").why is RequeueReason.NO_CANDIDATES
        assert waits(decisions, "y").message == "Workload no longer fits after processing another workload"

    def test_a_queue_that_can_reclaim_later_reserves_nothing(self) -> None:
        assert admitted(self.decisions(ANY)) == ["y"]

    @pytest.mark.parametrize(("asked", "served"), [(3, ["y"]), (4, [])])
    def test_no_more_is_kept_than_its_borrowing_limit_lets_it_have(self, asked: int, served: list[str]) -> None:
        """6 of 8 are free; `a` has 4 and may borrow 1, so with the 2 in use it keeps 3 for its head, and 3 are left."""
        members = [queue("a", limited(4, 1), "r", preemption=LOWER), queue("b", 0, "r")]
        old = running(workload("old", "a", 2, priority=9))
        ones = [old, workload("x", "a", 4, priority=5), workload("y", "b", asked)]
        assert admitted(decided(members, *ones, cohorts=[cohort("r", "", 4)])) == served

    @pytest.mark.parametrize(("asked", "served"), [(2, ["y"]), (3, [])])
    def test_an_entry_that_does_not_borrow_reserves_only_what_is_left_of_nominal(
        self, asked: int, served: list[str]
    ) -> None:
        """6 of 8 gpus are free, but no cpu; `a` keeps its own 4 gpus for its head, so 2 are left."""
        both = {"default": {GPU: 4, "cpu": 1}}
        members = [queue("a", both, "r", preemption=LOWER), queue("b", 0, "r"), queue("c", both, "r")]
        olds = [running(workload("old", "c", 1, {GPU: 2, "cpu": 2}, priority=9))]
        ones = [*olds, workload("x", "a", 1, {GPU: 4, "cpu": 1}, priority=5), workload("y", "b", asked)]
        assert admitted(decided(members, *ones)) == served


class TestOverlap:
    """Two preemptors of different queues that would have the same victim."""

    def setting(self, gates: dict[str, bool] | None = None, asked: int = 2) -> list[Decision]:
        members = [
            queue("a", 2, "r", preemption=ANY),
            queue("b", 2, "r", preemption=ANY),
            queue("c", 0, "r"),
        ]
        victim = running(workload("victim", "c", 4))
        ones = [workload("x", "a", 2, priority=2), workload("y", "b", asked, priority=1)]
        return decided(members, victim, *ones, gates=gates)

    def test_an_entry_that_fits_once_other_victims_are_gone_waits_for_that(self) -> None:
        decisions = self.setting()
        assert ordered_out(decisions) == [("x", "victim")]
        wait = waits(decisions, "y")
        assert (wait.why, wait.reason) == (RequeueReason.PENDING_PREEMPTION, "WaitingForPreemptedWorkloads")
        assert wait.message == (
            "Workload has overlapping preemption targets with another workload, "
            "but will fit after these preemptions complete"
        )

    def test_without_the_gate_it_is_skipped(self) -> None:
        decisions = self.setting({"RecomputeAssignmentUponPreemptionTargetsOverlap": False})
        wait = waits(decisions, "y")
        assert (wait.why, wait.reason) == (RequeueReason.LOST_ITS_PLACE, "WaitingForQuota")
        assert wait.message == "Workload has overlapping preemption targets with another workload"

    def test_both_are_admitted_once_the_victim_has_stopped(self) -> None:
        members = [queue(name, 2, "r", preemption=ANY) for name in "ab"]
        play = Play(scheduler([*members, queue("c", 0, "r")]))
        play.put(running(workload("victim", "c", 4)))
        play.put(workload("x", "a", 2, priority=2), workload("y", "b", 2, priority=1))
        play.cycle(1.0)
        play.cycle(2.0)
        assert play.admitted == {"x", "y"}

    def test_where_its_victims_are_taken_already_it_looks_for_others(self) -> None:
        """Each needs one of two victims; both would choose the younger one first."""
        members = [queue("a", 2, "r", preemption=ANY), queue("b", 2, "r", preemption=ANY), queue("c", 0, "r")]
        victims = [running(workload(f"v{at}", "c", 2), at=float(at)) for at in (1, 2)]
        ones = [workload("x", "a", 2, priority=2), workload("y", "b", 2, priority=1)]
        assert ordered_out(decided(members, *victims, *ones)) == [("x", "v2"), ("y", "v1")]


class TestVictimsStillThere:
    """`x` orders out a victim that gives back more than it needs; `y` and `z` fit alone, together only without it."""

    def built(self, on: bool) -> Scheduler:
        members = [queue("a", 4, "r", preemption=LOWER), queue("b", 0, "r"), queue("c", 0, "r")]
        gates = Gates.profile("closeknit", {"VerifyBeforeAdmit": on})
        built = scheduler(members, [cohort("r", "", 2)], gates=gates)
        built.put(running(workload("victim", "a", 4)), 0.0)
        built.put(workload("x", "a", 3, priority=3), 0.0)
        built.put(workload("y", "b", 2, priority=2), 0.0)
        built.put(workload("z", "c", 1, priority=1), 0.0)
        return built

    def test_no_workload_is_admitted_on_quota_that_a_victim_still_holds(self) -> None:
        built = self.built(on=True)
        decisions = built.cycle(0.0)
        assert ordered_out(decisions) == [("x", "victim")]
        assert admitted(decisions) == ["y"]
        assert waits(decisions, "z").why is RequeueReason.PENDING_PREEMPTION
        assert built.world.tree.cohorts["r"].usage == {ON_DEFAULT: 6}

    def test_in_kueues_profile_the_cohort_holds_more_than_it_has_until_the_victim_stops(self) -> None:
        built = self.built(on=False)
        assert admitted(built.cycle(0.0)) == ["y", "z"]
        assert built.world.tree.cohorts["r"].usage == {ON_DEFAULT: 7}


class TestPlaces:
    HERE = Constraint(required=HOSTNAME)

    def built(self, hosts: dict[str, int], pods: int = 9, gates: dict[str, bool] | None = None) -> Scheduler:
        """Queues a and b over the same hosts, with quota to spare."""
        built = scheduler(
            [queue("a", {"placed": 99}), queue("b", {"placed": 99})],
            flavors=[Flavor("placed", topology="t")],
            topologies=[Topology("t", (HOSTNAME,))],
            gates=Gates.profile("closeknit", gates or {}),
        )
        for name, gpus in hosts.items():
            built.world.put_node(Node(name, {HOSTNAME: name}, {GPU: gpus, "pods": pods}))
        return built

    def test_two_that_want_one_host_are_placed_side_by_side(self) -> None:
        built = self.built({"h1": 4, "h2": 4})
        for name in "ab":
            built.put(workload(f"in-{name}", name, 3, constraint=self.HERE), 0.0)
        decisions = built.cycle(0.0)
        places = [one.admission.pod_sets[0].topology for one in decisions if isinstance(one, Admit)]
        assert sorted(path for each in places if each is not None for path in each.values) == [("h1",), ("h2",)]

    def test_without_the_gate_the_second_has_lost_its_place(self) -> None:
        built = self.built({"h1": 4, "h2": 4}, gates={"TASRecomputeAssignmentWithinSchedulingCycle": False})
        for name in "ab":
            built.put(workload(f"in-{name}", name, 3, constraint=self.HERE), 0.0)
        decisions = built.cycle(0.0)
        assert len(admitted(decisions)) == 1
        (late,) = [one for one in decisions if isinstance(one, Wait)]
        assert late.message == "Workload no longer fits after processing another workload"

    def test_places_among_a_nodes_pods_are_counted(self) -> None:
        built = self.built({"h1": 9}, pods=3)
        for name in "ab":
            built.put(workload(f"in-{name}", name, 2, constraint=self.HERE), 0.0)
        assert len(admitted(built.cycle(0.0))) == 1

    def test_what_does_not_fit_even_an_empty_cluster_says_so(self) -> None:
        built = self.built({"h1": 4})
        built.put(workload("w", "a", 5, constraint=self.HERE), 0.0)
        wait = waits(built.cycle(0.0), "w")
        assert (wait.why, wait.reason) == (RequeueReason.NO_FIT, "TopologyPlacementFailed")
        assert wait.message == (
            'couldn\'t assign flavors to pod set main: topology "t" allows to fit only 4 out of 5 pod(s)'
        )

    def test_what_fits_once_others_are_gone_waits_for_quota(self) -> None:
        built = self.built({"h1": 4})
        built.put(running(workload("old", "b", 2), "placed", hosts={"h1": 2}), 0.0)
        built.put(workload("w", "a", 4, constraint=self.HERE), 0.0)
        wait = waits(built.cycle(0.0), "w")
        assert (wait.why, wait.reason) == (RequeueReason.NO_CANDIDATES, "WaitingForQuota")

    def test_fragments_alone_are_reason_enough_to_preempt(self) -> None:
        built = self.built({"h1": 4, "h2": 4})
        built.put_cluster_queue(queue("a", {"placed": 99}, preemption=LOWER))
        built.put(running(workload("low", "a", 1), "placed", hosts={"h1": 1}), 0.0)
        built.put(running(workload("lower", "a", 1, priority=-1), "placed", hosts={"h2": 1}), 0.0)
        built.put(workload("w", "a", 4, priority=1, constraint=self.HERE), 0.0)
        assert ordered_out(built.cycle(0.0)) == [("w", "lower")]


@pytest.mark.parametrize("count", [1, 3])
def test_assumed_at_once_what_is_admitted_counts_in_the_next_cycle(count: int) -> None:
    built = scheduler([queue("a", 4)])
    for at in range(4):
        built.put(workload(f"w{at}", count=count, created=float(at)), 0.0)
    served = [name for _ in range(4) for name in admitted(built.cycle(0.0))]
    assert served == [f"w{at}" for at in range(4 // count)]
