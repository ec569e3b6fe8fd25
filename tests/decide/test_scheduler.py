"""The scheduler as its host sees it: workloads go in as the cluster shows them, decisions may fail to be written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide import cycle
from closeknit.decide.activity import PROVISIONING
from closeknit.decide.decision import Admit, Evict, Retry, Wait
from closeknit.decide.entry import Entry
from closeknit.decide.scheduler import Scheduler, needs_second_pass
from closeknit.decide.status import carried_out
from closeknit.model.cluster_queue import AdmissionCheck, CheckRule, LocalQueue, Strategy
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Check, Workload
from closeknit.queue.pending_workload import PendingWorkload
from closeknit.queue.wake import WakeEvent
from closeknit.state.ledger import Holding

from .objects import DEFAULT, GPU, ON_DEFAULT, queue, running, scheduler, workload
from .play import Play

HERE = Constraint(required=HOSTNAME)


def told(one: Workload, kind: str, holds: bool, reason: str = "x") -> Workload:
    return replace(one, status=one.status.condition(kind, holds, reason, "", 1.0))


def held(built: Scheduler, name: str = "a") -> int:
    return built.world.node_of(name).usage.get(ON_DEFAULT, 0)


def in_line(built: Scheduler) -> set[str]:
    return {one.workload.name for line in built.pending.queues.values() for one in line.ready()}


class TestWhereAWorkloadStands:
    @pytest.mark.parametrize(
        "one",
        [
            workload("w", active=False),
            workload("w", gated_by="example.com/gate"),
            told(workload("w"), "Finished", True),
            told(workload("w"), "QuotaReserved", False, "OnHold"),
            told(workload("w"), "WaitingForReplacementPods", True),
        ],
        ids=["inactive", "gated", "finished", "on hold", "lacks pods"],
    )
    def test_an_inadmissible_workload_is_not_queued(self, one: Workload) -> None:
        built = scheduler([queue("a")])
        built.put(workload("w"), 0.0)
        built.put(one, 0.0)
        assert in_line(built) == set()

    @pytest.mark.parametrize(
        "one",
        [
            workload("w"),
            told(workload("w"), "QuotaReserved", False, "PendingEvaluation"),
            told(workload("w"), "WaitingForReplacementPods", False),
            told(workload("w"), "Evicted", True, "Preempted"),
        ],
        ids=["new", "looked at", "has its pods", "evicted"],
    )
    def test_any_other_workload_is(self, one: Workload) -> None:
        built = scheduler([queue("a")])
        built.put(one, 0.0)
        assert in_line(built) == {"w"}

    def test_a_gate_counts_only_where_gates_do(self) -> None:
        built = scheduler([queue("a")], gates=Gates.profile("closeknit", {"AdmissionGatedBy": False}))
        built.put(workload("w", gated_by="example.com/gate"), 0.0)
        assert in_line(built) == {"w"}

    def test_a_workload_with_quota_counts_and_is_not_queued(self) -> None:
        built = scheduler([queue("a")])
        built.put(workload("w", count=3), 0.0)
        built.put(running(workload("w", count=3)), 0.0)
        assert (in_line(built), held(built)) == (set(), 3)

    def test_seen_again_it_counts_once(self) -> None:
        built = scheduler([queue("a")])
        for _ in range(3):
            built.put(running(workload("w", count=3)), 0.0)
        assert held(built) == 3

    def test_an_eviction_in_progress_frees_nothing(self) -> None:
        built = scheduler([queue("a")])
        built.put(told(running(workload("w", count=3)), "Evicted", True), 0.0)
        assert held(built) == 3

    def test_a_workload_that_released_its_quota_is_queued_again(self) -> None:
        built = scheduler([queue("a")])
        built.put(running(workload("w", count=3)), 0.0)
        built.put(workload("w", count=3), 0.0)
        assert (in_line(built), held(built)) == ({"w"}, 0)

    @pytest.mark.parametrize("ends", ["finish", "drop"])
    def test_an_ended_workload_holds_nothing_and_waits_for_nothing(self, ends: str) -> None:
        built = scheduler([queue("a")])
        built.put(running(workload("w", count=3)), 0.0)
        built.put(workload("v"), 0.0)
        for one in (running(workload("w", count=3)), workload("v")):
            if ends == "finish":
                built.put(told(one, "Finished", True), 0.0)
            else:
                built.drop(one.key)
        assert (in_line(built), held(built)) == (set(), 0)

    def test_pods_that_are_done_give_back_their_quota(self) -> None:
        built = scheduler([queue("a")])
        one = running(workload("w", count=4, requests=2))
        built.put(one, 0.0)
        built.put(replace(one, status=replace(one.status, reclaimable={"main": 3})), 0.0)
        assert held(built) == 2


class TestWaking:
    def test_a_workload_that_ends_wakes_its_whole_tree_and_no_other(self) -> None:
        play = Play(scheduler([queue("a", 2, "r"), queue("b", 0, "r"), queue("c", 2)]))
        play.put(running(workload("old", "a", 2)), running(workload("other", "c", 2)))
        play.put(workload("wb", "b", 2), workload("wc", "c", 2))
        play.cycles(5)
        assert not play.scheduler.is_ready
        play.finish("default/old")
        assert in_line(play.scheduler) == {"wb"}
        play.cycles(5)
        assert play.admitted == {"other", "wb"}

    def test_freed_room_wakes_workloads_that_wait_for_it_in_another_tree(self) -> None:
        built = scheduler(
            [queue("a", {"placed": 9}), queue("b", {"placed": 9})],
            flavors=[Flavor("placed", topology="t")],
            topologies=[Topology("t", (HOSTNAME,))],
        )
        built.world.put_node(Node("h1", {HOSTNAME: "h1"}, {GPU: 4, "pods": 9}))
        play = Play(built)
        play.put(running(workload("old", "a", 4), "placed", hosts={"h1": 4}), workload("w", "b", 4, constraint=HERE))
        play.cycles(5)
        play.finish("default/old")
        play.cycles(5)
        assert play.admitted == {"w"}

    def test_a_workload_with_enough_quota_now_is_woken_before_the_others(self) -> None:
        play = Play(scheduler([queue("a", 4, "c"), queue("b", 4, "c")]))
        play.put(running(workload("old", "a", 6)), running(workload("last", "b", 2)))
        play.put(workload("small", "b", 5), workload("large", "b", 7), workload("fewer", "a", 8, min_count=3))
        play.cycles(9)
        assert not play.scheduler.is_ready
        play.known.pop("default/old")
        play.scheduler.drop("default/old")
        assert play.scheduler.wake_likely("a", 0.0) == 2
        assert in_line(play.scheduler) == {"small", "fewer"}
        assert play.scheduler.wake(WakeEvent.WORKLOAD_FINISHED, "a", 0.0) == 1

    def test_a_workload_woken_for_quota_that_another_took_is_parked_again_without_evaluation(self) -> None:
        queues = [queue(name, 2, "c") for name in ("a", "b", "c")]
        play = Play(scheduler(queues))
        play.put(running(workload("old", "a", 6)))
        play.put(*(workload(f"{name}{at}", name, 6) for name in ("a", "b", "c") for at in range(2)))
        play.cycles(9)
        play.known.pop("default/old")
        play.scheduler.drop("default/old")
        assert play.scheduler.wake_likely("a", 0.0) == 6
        first = play.cycle()
        assert len(play.admitted) == 1
        assert len(first) == 3
        assert play.cycles(9) == []
        assert not play.scheduler.is_ready
        assert play.scheduler.wake(WakeEvent.WORKLOAD_FINISHED, "a", 0.0) == 5

    def test_a_namespace_that_matches_now_wakes_workloads_that_waited_for_that(self) -> None:
        built = scheduler([queue("a", selector=None)])
        built.put(workload("w"), 0.0)
        built.cycle(0.0)
        assert not built.is_ready
        assert built.wake(WakeEvent.NAMESPACE_CHANGED, "a", 0.0) == 0
        built.put_cluster_queue(queue("a"))
        assert built.wake(WakeEvent.NAMESPACE_CHANGED, "a", 0.0) == 1

    def test_a_queue_in_no_cohort_wakes_alone(self) -> None:
        built = scheduler([queue("a"), queue("b")])
        assert built.world.tree_of("a") == ["a"]
        assert built.world.tree_of("nowhere") == ["nowhere"]


class TestRoomThatIsKept:
    """On h1, with 4 gpus, `old` has 2. `wide` needs all 4 and may not preempt: it reserves them until the cycle ends.

    `pair` would have the 2 that are left; behind it in the queue is `tiny`, for which there is h2 as well.
    """

    def cycled(self, strategy: Strategy = "BestEffortFIFO", profile: str = "closeknit", **gates: bool) -> Play:
        built = scheduler(
            [queue("a", {"placed": 99}), queue("b", {"placed": 99}, strategy=strategy)],
            flavors=[Flavor("placed", topology="t")],
            topologies=[Topology("t", (HOSTNAME,))],
            gates=Gates.profile(profile, gates),
        )
        for name, gpus in (("h1", 4), ("h2", 1)):
            built.world.put_node(Node(name, {HOSTNAME: name}, {GPU: gpus, "pods": 9}))
        play = Play(built)
        play.put(running(workload("old", "a", 2), "placed", hosts={"h1": 2}))
        play.put(workload("wide", "b", 4, constraint=HERE, priority=1))
        play.put(workload("pair", "a", 2, constraint=HERE), workload("tiny", "a", constraint=HERE, created=1.0))
        play.cycle()
        return play

    @pytest.mark.parametrize("by_reason", [True, False], ids=["by-reason", "everybody"])
    def test_a_workload_that_found_room_reserved_is_next_once_the_reserving_one_is_parked(
        self, by_reason: bool
    ) -> None:
        play = self.cycled(WakeByReason=by_reason)
        assert play.admitted == {"old"}
        assert in_line(play.scheduler) == {"pair", "tiny"}
        play.cycle()
        assert play.admitted == {"old", "pair"}

    def test_in_kueue_it_is_parked_too(self) -> None:
        play = self.cycled(profile="kueue")
        play.cycles(9)
        assert play.admitted == {"old", "tiny"}
        assert not play.scheduler.is_ready

    def test_a_strict_queue_keeps_its_reservation_but_does_not_block_other_queues(self) -> None:
        play = self.cycled("StrictFIFO")
        assert in_line(play.scheduler) == {"wide", "tiny"}
        play.cycles(3)
        assert play.admitted == {"old", "tiny"}
        assert in_line(play.scheduler) == {"wide"}

    def test_when_the_reservation_ends_workloads_parked_for_it_are_ready(self) -> None:
        play = self.cycled("StrictFIFO")
        play.cycles(3)
        play.scheduler.drop("default/wide")
        play.cycles(9)
        assert play.admitted == {"old", "tiny", "pair"}
        assert not play.scheduler.is_ready

    def test_nor_does_it_when_another_stands_before_it(self) -> None:
        play = self.cycled("StrictFIFO")
        play.cycles(3)
        play.put(workload("huge", "b", 1, 99, constraint=HERE, priority=9))
        play.cycles(3)
        assert play.admitted == {"old", "tiny", "pair"}

    def test_a_workload_that_lost_to_an_admitted_one_is_parked(self) -> None:
        play = self.cycled()
        play.put(workload("other", "b", 2, constraint=HERE, priority=2))
        play.cycle()
        assert play.admitted == {"old", "other"}
        assert in_line(play.scheduler) == {"tiny"}


class TestWrites:
    def test_a_write_that_failed_never_happened(self) -> None:
        built = scheduler([queue("a", 4)])
        built.put(workload("w", count=4), 0.0)
        (decision,) = built.cycle(0.0)
        assert isinstance(decision, Admit)
        assert held(built) == 4
        built.failed(decision.workload, 1.0)
        assert (in_line(built), held(built)) == ({"w"}, 0)
        (again,) = built.cycle(1.0)
        assert isinstance(again, Admit)

    def test_a_workload_that_became_inadmissible_is_not_requeued(self) -> None:
        built = scheduler([queue("a", 4)])
        built.put(workload("w", count=4), 0.0)
        built.cycle(0.0)
        built.failed(workload("w", count=4, active=False), 1.0)
        assert (in_line(built), held(built)) == (set(), 0)

    def test_what_was_seen_does_not_fail_any_more(self) -> None:
        built = scheduler([queue("a", 4)])
        built.put(running(workload("w", count=4)), 0.0)
        built.failed(running(workload("w", count=4)), 1.0)
        assert held(built) == 4

    def test_an_assumption_that_was_never_seen_expires(self) -> None:
        built = scheduler([queue("a", 4)])
        built.put(workload("w", count=2), 0.0)
        built.cycle(10.0)
        assert built.expire(10.0) == []
        assert built.expire(10.1) == ["default/w"]
        assert held(built) == 0

    def test_one_that_was_seen_does_not(self) -> None:
        play = Play(scheduler([queue("a", 4)]))
        play.put(workload("w", count=2))
        play.cycle(10.0)
        assert play.scheduler.expire(99.0) == []
        assert held(play.scheduler) == 2


def provisioned(*hosts: str, pods: int = 9, queues: str = "a", **options: Any) -> Scheduler:
    """Queues with nodes that are yet to be provisioned: quota first, places when the check is ready."""
    built = scheduler(
        [queue(name, {"placed": 9}, checks=(CheckRule("nodes"),)) for name in queues],
        flavors=[Flavor("placed", topology="t")],
        topologies=[Topology("t", (HOSTNAME,))],
        **options,
    )
    built.world.put_check(AdmissionCheck("nodes", PROVISIONING, True))
    for name in hosts:
        built.world.put_node(Node(name, {HOSTNAME: name}, {GPU: 9, "pods": pods}))
    return built


def ready(one: Workload) -> Workload:
    return replace(one, status=replace(one.status, checks=(Check("nodes", "Ready"),)))


def reserved(built: Scheduler, *workloads: Workload, at: float = 0.0) -> Play:
    """These have their quota, and at a time their checks are ready."""
    play = Play(built)
    play.put(*workloads)
    play.cycles(len(workloads))
    play.put(*(ready(one) for one in play.known.values()), at=at)
    return play


class TestSecondPass:
    def test_first_comes_quota_without_places(self) -> None:
        play = Play(provisioned())
        play.put(workload("w", count=2, constraint=HERE))
        play.cycle()
        (given,) = play.known["default/w"].status.admission.pod_sets  # type: ignore[union-attr]
        assert (given.topology, given.delayed) == (None, "Pending")
        assert not play.known["default/w"].admitted

    def test_when_the_check_is_ready_places_follow_after_a_second(self) -> None:
        built = provisioned("h1")
        play = reserved(built, workload("w", count=2, constraint=HERE), at=10.0)
        assert built.next_timer == 11.0
        assert play.cycle(10.9) == []
        play.cycle(11.0)
        one = play.known["default/w"]
        (given,) = one.status.admission.pod_sets  # type: ignore[union-attr]
        assert given.delayed == "Ready"
        assert given.topology is not None
        assert dict(given.topology.domains) == {("h1",): 2}
        assert one.admitted
        assert built.next_timer is None

    def test_quota_is_not_taken_a_second_time(self) -> None:
        built = provisioned("h1")
        play = reserved(built, workload("w", count=2, constraint=HERE))
        play.cycle(9.0)
        assert built.world.node_of("a").usage == {("placed", GPU): 2}

    def test_without_room_it_is_tried_again_ever_later(self) -> None:
        built = provisioned()
        reserved(built, workload("w", constraint=HERE), at=0.0)
        tries: list[float] = []
        now = 0.0
        while len(tries) < 8:
            at = built.next_timer
            assert at is not None
            (decision,) = built.cycle(at)
            assert isinstance(decision, Retry)
            tries.append(at - now)
            now = at
        assert tries == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]

    def test_it_goes_before_all_others_in_its_cycle(self) -> None:
        built = provisioned("h1")
        play = reserved(built, workload("w", count=2, constraint=HERE))
        built.put_cluster_queue(queue("b", {"placed": 9}))
        built.put_local_queue(LocalQueue(DEFAULT, "b", "b"))
        play.put(workload("v", "b", 9, constraint=HERE, priority=9), at=1.0)
        served = [one.workload.name for one in play.cycle(9.0) if isinstance(one, Admit)]
        assert served == ["w"]

    def test_a_workload_that_ends_meanwhile_is_not_evaluated(self) -> None:
        built = provisioned("h1")
        play = reserved(built, workload("w", constraint=HERE))
        play.finish("default/w")
        assert built.cycle(9.0) == []
        assert built.next_timer is None

    def test_workloads_that_need_one(self) -> None:
        built = provisioned("h1")
        play = Play(built)
        play.put(workload("w", constraint=HERE))
        play.cycle()
        waiting = play.known["default/w"]
        assert not needs_second_pass(waiting)
        assert needs_second_pass(ready(waiting))
        assert not needs_second_pass(told(ready(waiting), "Evicted", True))
        assert not needs_second_pass(told(ready(waiting), "Finished", True))
        assert not needs_second_pass(workload("w"))

    def test_a_workload_without_checks_is_placed_too_except_in_the_kueue_profile(self) -> None:
        for profile, hosts in (("closeknit", {("h1",): 1}), ("kueue", {})):
            built = provisioned("h1", gates=Gates.profile(profile))
            play = Play(built)
            play.put(workload("w", constraint=HERE))
            play.cycle(9.0)
            unchecked = play.known["default/w"]
            assert (unchecked.status.checks, built.next_timer) == ((), None)
            built.put_cluster_queue(replace(built.world.cluster_queues["a"], checks=()))
            play.put(unchecked, at=10.0)
            play.cycle(11.0)
            (given,) = play.known["default/w"].status.admission.pod_sets  # type: ignore[union-attr]
            assert dict(given.topology.domains if given.topology else {}) == hosts
            assert play.known["default/w"].admitted is (profile == "closeknit")

    def test_two_at_once_are_placed_one_after_the_other(self) -> None:
        built = provisioned("h1", "h2", queues="ab")
        play = reserved(built, workload("w", "a", 6, constraint=HERE), workload("v", "b", 6, constraint=HERE))
        play.cycle(9.0)
        hosts = set()
        for one in play.known.values():
            (given,) = one.status.admission.pod_sets  # type: ignore[union-attr]
            assert given.topology is not None
            hosts.add(given.topology.values)
        assert hosts == {(("h1",),), (("h2",),)}

    def test_two_at_once_do_not_get_more_places_than_a_node_has(self) -> None:
        built = provisioned("h1", pods=1, queues="ab")
        play = reserved(built, workload("w", "a", constraint=HERE), workload("v", "b", constraint=HERE))
        assert len([one for one in play.cycle(9.0) if isinstance(one, Admit)]) == 1

    def test_if_the_write_of_its_places_fails_it_still_holds_its_quota(self) -> None:
        built = provisioned("h1")
        play = reserved(built, workload("w", count=2, constraint=HERE))
        (decision,) = built.cycle(9.0)
        assert isinstance(decision, Admit)
        built.failed(play.known["default/w"], 9.0)
        assert built.world.node_of("a").usage == {("placed", GPU): 2}
        assert in_line(built) == set()

    def test_a_queue_that_is_gone_does_not_keep_others_from_being_scheduled(self) -> None:
        built = provisioned("h1")
        play = reserved(built, workload("w", count=2, constraint=HERE))
        built.put_cluster_queue(queue("b", {"placed": 9}))
        built.put_local_queue(LocalQueue(DEFAULT, "b", "b"))
        built.world.drop_cluster_queue("a")
        built.pending.drop_queue("a")
        play.put(workload("v", "b", constraint=HERE), at=1.0)
        assert "v" in {one.workload.name for one in play.cycle(9.0) if isinstance(one, Admit)}


class TestFailedNodes:
    def broken(self, hosts: int, gates: dict[str, bool] | None = None) -> tuple[Scheduler, Workload]:
        """A workload on h1, which has failed; other hosts are there or not."""
        built = scheduler(
            [queue("a", {"placed": 99})],
            flavors=[Flavor("placed", topology="t")],
            topologies=[Topology("t", (HOSTNAME,))],
            gates=Gates.profile("closeknit", gates or {}),
        )
        for number in range(hosts):
            name = f"h{number + 2}"
            built.world.put_node(Node(name, {HOSTNAME: name}, {GPU: 4, "pods": 9}))
        one = running(workload("w", count=2, constraint=Constraint(preferred=HOSTNAME)), "placed", hosts={"h1": 2})
        one = replace(one, status=replace(one.status, unhealthy=("h1",)))
        built.put(one, 0.0)
        return built, one

    def test_another_node_takes_its_place(self) -> None:
        built, _ = self.broken(hosts=1)
        (decision,) = built.cycle(1.0)
        assert isinstance(decision, Admit)
        places = decision.admission.pod_sets[0].topology
        assert places is not None
        assert dict(places.domains) == {("h2",): 2}
        ((after, _),) = carried_out(built.world, decision, 1.0)
        assert after.status.unhealthy == ()

    def test_without_one_it_is_evicted_at_once(self) -> None:
        built, one = self.broken(hosts=0)
        (decision,) = built.cycle(1.0)
        assert isinstance(decision, Evict)
        assert decision.workload == one
        assert decision.message == "Workload was evicted as there was no replacement for unhealthy node(s): h1"
        assert built.next_timer is None

    def test_if_that_cannot_be_written_it_is_tried_again(self) -> None:
        built, _ = self.broken(hosts=0)
        (decision,) = built.cycle(1.0)
        assert isinstance(decision, Evict)
        assert isinstance(built.not_evicted(decision, 1.0), Retry)
        assert built.next_timer == 2.0
        (again,) = built.cycle(2.0)
        assert isinstance(again, Evict)

    def test_without_failing_fast_it_waits_for_a_node(self) -> None:
        built, _ = self.broken(hosts=0, gates={"TASFailedNodeReplacementFailFast": False})
        (decision,) = built.cycle(1.0)
        assert isinstance(decision, Retry)
        assert built.next_timer == 3.0
        built.world.put_node(Node("h2", {HOSTNAME: "h2"}, {GPU: 4, "pods": 9}))
        (again,) = built.cycle(3.0)
        assert isinstance(again, Admit)

    def test_a_node_that_it_does_not_use_is_no_matter(self) -> None:
        built, one = self.broken(hosts=1)
        built.put(replace(one, status=replace(one.status, unhealthy=("h9",))), 1.0)
        assert built.next_timer is None


class TestFaults:
    """An exception while deciding about one workload parks that one, and the others are decided about."""

    @staticmethod
    def broken(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
        works = getattr(cycle, where)

        def raises(*given: Any) -> Any:
            head = next(one for one in given if isinstance(one, PendingWorkload | Entry))
            if head.workload.name == "bad":
                raise RuntimeError("broken on purpose")
            return works(*given)

        monkeypatch.setattr(cycle, where, raises)

    @pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
    @pytest.mark.parametrize("where", ["planned", "_note_progress", "recheck"])
    def test_the_workload_at_fault_is_parked_and_the_others_are_admitted(
        self, where: str, strategy: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        play = Play(scheduler([queue("a", 10, strategy=strategy), queue("b", 10, strategy=strategy)]))
        play.put(workload("bad", "a", 1, priority=9), workload("behind", "a", 1), workload("beside", "b", 1))
        self.broken(monkeypatch, where)
        made = play.cycles(4)
        assert play.admitted == {"behind", "beside"}
        (why,) = [one for one in made if isinstance(one, Wait) and one.workload.name == "bad"]
        assert why.reason == "InternalError"
        assert "RuntimeError" in why.message
        monkeypatch.undo()
        play.scheduler.tick(10.0)
        play.cycles(2, at=10.0)
        assert play.admitted == {"bad", "behind", "beside"}

    def test_what_a_workload_at_fault_would_have_taken_stays_free(self, monkeypatch: pytest.MonkeyPatch) -> None:
        built = scheduler([queue("a", 1)])
        play = Play(built)
        play.put(workload("bad", "a", 1, priority=9), workload("behind", "a", 1))
        works = built.world.assume

        def raises(holding: Holding) -> None:
            works(holding)
            if holding.workload.name == "bad":
                raise RuntimeError("broken on purpose")

        monkeypatch.setattr(built.world, "assume", raises)
        play.cycles(3)
        assert play.admitted == {"behind"}
