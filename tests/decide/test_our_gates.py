"""What goes beyond Kueue, each with its gate on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Decision, Evict, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.model.assignment import Assignment
from closeknit.model.cluster_queue import ClusterQueue, LocalQueue, Preemption, Selector
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint, Layer
from closeknit.model.settings import Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Admission, PodSetAssignment, Status, Workload
from closeknit.queue.wake import WakeEvent
from decide.objects import asked, part

RACK = "rack"
TOPOLOGY = Topology("t", (RACK, HOSTNAME))


def cluster(
    racks: int, hosts: int, gpus: int = 4, gates: dict[str, bool] | None = None, quota: int = 1000
) -> Scheduler:
    built = Scheduler(Gates.profile("closeknit", gates or {}), Settings(wait_for_tighter=60.0))
    built.world.namespaces["ns"] = {}
    for rack in range(racks):
        for host in range(hosts):
            name = f"r{rack}h{host}"
            built.world.put_node(Node(name, {RACK: f"r{rack}", HOSTNAME: name}, {"gpu": gpus, "pods": 110}))
    built.world.put_topology(TOPOLOGY)
    built.world.put_flavor(Flavor("gpu", topology="t"))
    group = ResourceGroup(("gpu",), (FlavorQuotas("gpu", {"gpu": Quota(quota)}),))
    policy = Preemption(within_queue="LowerPriority")
    built.put_cluster_queue(ClusterQueue("cq", (group,), selector=Selector(), preemption=policy))
    built.put_local_queue(LocalQueue("ns", "lq", "cq"))
    return built


def job(name: str, pods: int, constraint: Constraint | None = None, priority: int = 0, gpus: int = 1) -> Workload:
    given = asked(part("main", pods, {"gpu": gpus}, constraint))
    return Workload("ns", name, *given, "lq", f"uid-{name}", priority, float(priority))


def running(one: Workload, at: float = 0.0, **hosts: int) -> Workload:
    places = Assignment.of((HOSTNAME,), (((host,), count) for host, count in hosts.items()))
    usage = {"gpu": places.pods * dict(one.parts[0].requests)["gpu"]}
    given = PodSetAssignment("main", {"gpu": "gpu"}, usage, places.pods, places)
    status = Status(admission=Admission("cq", (given,))).condition("QuotaReserved", True, "QuotaReserved", "", at)
    return replace(one, status=status.condition("Admitted", True, "Admitted", "", at))


def victims(built: Scheduler, now: float = 100.0) -> list[str]:
    return sorted(one.victim.name for one in built.cycle(now) if isinstance(one, Preempt))


class TestVictimsByDomain:
    """Rack 0 holds one large job, rack 1 two small ones that are more important; a job wants a whole rack."""

    def fill(self, on: bool) -> Scheduler:
        built = cluster(racks=2, hosts=2, gates={"VictimsByDomain": on})
        built.put(running(job("low-a", 1, priority=1), r0h0=1), 0.0)
        built.put(running(job("low-b", 1, priority=1), r1h0=1), 0.0)
        built.put(running(job("big", 6, priority=2), r0h0=3, r0h1=3), 0.0)
        built.put(running(job("small", 1, priority=3), r1h1=1), 0.0)
        built.put(job("incoming", 8, Constraint(required=RACK), priority=9), 0.0)
        return built

    def test_on_one_rack_is_freed_at_least_cost(self) -> None:
        assert victims(self.fill(on=True)) == ["low-b", "small"]

    def test_off_victims_go_in_list_order(self) -> None:
        assert victims(self.fill(on=False)) == ["big", "low-a"]

    def test_no_workload_that_the_policy_protects_is_preempted(self) -> None:
        built = self.fill(on=True)
        built.put(running(job("small", 1, priority=99), r1h1=1), 0.0)
        assert victims(built) == ["big", "low-a"]


class TestWaitForTighter:
    """Rack 0 and rack 1 have half their room left; a job that prefers one rack would be spread over both."""

    def fill(self, on: bool) -> Scheduler:
        built = cluster(racks=2, hosts=2, gates={"WaitForTighter": on})
        built.put(running(job("a", 4, priority=5), r0h0=4), 0.0)
        built.put(running(job("b", 4, priority=5), r1h0=4), 0.0)
        built.put(job("incoming", 8, Constraint(preferred=RACK)), 0.0)
        return built

    def test_off_the_looser_placement_is_taken(self) -> None:
        (decision,) = self.fill(on=False).cycle(10.0)
        assert isinstance(decision, Admit)

    def test_on_it_waits_and_says_for_how_long(self) -> None:
        built = self.fill(on=True)
        (decision,) = built.cycle(10.0)
        assert isinstance(decision, Wait)
        assert decision.message.endswith(
            "placed now, its pods would be spread over 2 domains of rack; it waits up to 60 s for one"
        )
        assert not built.is_ready
        assert built.next_timer == 70.0

    def test_once_the_time_is_over_it_takes_what_there_is(self) -> None:
        built = self.fill(on=True)
        built.cycle(10.0)
        assert built.tick(69.0) == 0
        assert built.tick(70.0) == 1
        (decision,) = built.cycle(70.0)
        assert isinstance(decision, Admit)

    def test_when_a_rack_comes_free_in_time_it_is_taken_whole(self) -> None:
        built = self.fill(on=True)
        built.cycle(10.0)
        built.drop("ns/a")
        built.wake(WakeEvent.WORKLOAD_FINISHED, "cq", 20.0)
        (decision,) = built.cycle(20.0)
        assert isinstance(decision, Admit)
        places = decision.admission.pod_sets[0].topology
        assert places is not None
        assert {path[0][:2] for path in places.values} == {"r0"}

    def test_a_job_that_fits_no_rack_at_all_does_not_wait(self) -> None:
        built = cluster(racks=2, hosts=2, gates={"WaitForTighter": True})
        built.put(job("huge", 12, Constraint(preferred=RACK)), 0.0)
        (decision,) = built.cycle(10.0)
        assert isinstance(decision, Admit)


class TestReplaceSeveralNodes:
    def fill(self, on: bool) -> Scheduler:
        built = cluster(racks=2, hosts=4, gates={"ReplaceSeveralNodes": on})
        one = running(job("train", 12, Constraint(preferred=RACK)), r0h0=4, r0h1=4, r0h2=4)
        for name in ("r0h0", "r0h1"):
            built.world.drop_node(name)
        built.put(replace(one, status=replace(one.status, unhealthy=("r0h0", "r0h1"))), 0.0)
        built.second_pass["ns/train"] = (0.0, 1.0)
        return built

    def test_on_all_failed_nodes_are_replaced_in_one_decision(self) -> None:
        (decision,) = self.fill(on=True).cycle(10.0)
        assert isinstance(decision, Admit)
        places = decision.admission.pod_sets[0].topology
        assert places is not None
        assert dict(places.domains) == {("r0h2",): 4, ("r0h3",): 4, ("r1h0",): 4}

    def test_off_the_second_failed_node_stands_in_the_way(self) -> None:
        (decision,) = self.fill(on=False).cycle(10.0)
        assert isinstance(decision, Evict)
        assert decision.message == "Workload was evicted as there was no replacement for unhealthy node(s): r0h0,r0h1"


class TestReuseFinishedPlaces:
    """The rack of a job has no host to spare: whether it can stay depends on places that finished pods have left."""

    def fill(self, on: bool, done: int, constraint: Constraint | None = None) -> Scheduler:
        built = cluster(racks=2, hosts=3, gates={"ReuseFinishedPlaces": on})
        one = running(job("train", 12, constraint or Constraint(required=RACK)), r0h0=4, r0h1=4, r0h2=4)
        built.world.drop_node("r0h1")
        status = replace(one.status, unhealthy=("r0h1",), reclaimable={"main": done})
        built.put(replace(one, status=status), 0.0)
        built.second_pass["ns/train"] = (0.0, 1.0)
        return built

    def places(self, decisions: Sequence[Decision]) -> dict[str, int]:
        (decision,) = decisions
        assert isinstance(decision, Admit)
        topology = decision.admission.pod_sets[0].topology
        assert topology is not None
        return {path[-1]: count for path, count in topology.domains}

    @pytest.mark.parametrize("done", [4, 8, 11])
    def test_on_the_lost_places_are_dropped_where_the_others_hold_all_unfinished_pods(self, done: int) -> None:
        assert self.places(self.fill(on=True, done=done).cycle(10.0)) == {"r0h0": 4, "r0h2": 4}

    def test_on_another_node_is_sought_for_the_rest_alone(self) -> None:
        built = self.fill(on=True, done=3, constraint=Constraint(preferred=RACK))
        assert self.places(built.cycle(10.0)) == {"r0h0": 4, "r0h2": 4, "r1h0": 1}

    def test_on_the_job_is_evicted_if_an_unfinished_pod_has_no_room(self) -> None:
        (decision,) = self.fill(on=True, done=3).cycle(10.0)
        assert isinstance(decision, Evict)

    def test_slices_are_not_torn(self) -> None:
        sliced = Constraint(required=RACK, slices=(Layer(HOSTNAME, 4),))
        (decision,) = self.fill(on=True, done=8, constraint=sliced).cycle(10.0)
        assert isinstance(decision, Evict)

    def test_off_finished_pods_keep_their_places(self) -> None:
        (decision,) = self.fill(on=False, done=8).cycle(10.0)
        assert isinstance(decision, Evict)


class TestVerifyBeforeAdmit:
    """A preemptor's victim still holds what another workload, later in the cycle, would fit into once it is gone."""

    def fill(self, on: bool) -> Scheduler:
        built = cluster(racks=1, hosts=2, gates={"VerifyBeforeAdmit": on})
        group = ResourceGroup(("gpu",), (FlavorQuotas("gpu", {"gpu": Quota(1000)}),))
        built.put_cluster_queue(ClusterQueue("other", (group,), selector=Selector()))
        built.put_local_queue(LocalQueue("ns", "other", "other"))
        built.put(running(job("victim", 8, priority=1), r0h0=4, r0h1=4), 0.0)
        built.put(job("preemptor", 4, Constraint(required=HOSTNAME), priority=9), 0.0)
        return built

    def test_on_it_waits_until_the_victim_is_gone(self) -> None:
        built = self.fill(on=True)
        built.put(replace(job("late", 1), queue="other"), 0.0)
        fates = {one.workload.name: one for one in built.cycle(10.0) if isinstance(one, Wait)}
        assert set(fates) == {"preemptor", "late"}

    def test_pod_sets_of_one_workload_on_one_node_are_summed(self) -> None:
        built = cluster(racks=1, hosts=1, gates={"VerifyBeforeAdmit": True})
        two = (part(name, 1, {"gpu": 3}, Constraint(required=HOSTNAME)) for name in ("a", "b"))
        built.put(Workload("ns", "pair", *asked(*two), "lq", "uid"), 0.0)
        (decision,) = built.cycle(10.0)
        assert isinstance(decision, Wait)

    @pytest.mark.parametrize("on", [True, False])
    def test_pods_that_request_nothing_need_a_place_and_nothing_else(self, on: bool) -> None:
        """Without the gate they return to the head of their queue, and the workloads behind them wait forever."""
        built = cluster(racks=1, hosts=1, gates={"VerifyBeforeAdmit": on})
        group = ResourceGroup(("gpu", "pods"), (FlavorQuotas("gpu", {"gpu": Quota(1000), "pods": Quota(1000)}),))
        built.put_cluster_queue(ClusterQueue("other", (group,), selector=Selector()))
        built.put_local_queue(LocalQueue("ns", "other", "other"))
        idle = part("main", 2, {}, Constraint(required=HOSTNAME))
        built.put(Workload("ns", "idle", *asked(idle), "other", "a"), 0.0)
        built.put(replace(job("behind", 1), queue="other", created=5.0), 5.0)
        decisions = [one for at in (10.0, 11.0) for one in built.cycle(at)]
        assert [one.workload.name for one in decisions if isinstance(one, Admit)] == (["idle", "behind"] if on else [])


class TestAssumptions:
    """What was decided counts from then on, whatever older views still say."""

    def decided(self) -> tuple[Scheduler, Workload, Workload]:
        built = cluster(racks=1, hosts=1, quota=4)
        pending = job("train", 4)
        built.put(pending, 0.0)
        (decision,) = built.cycle(1.0)
        assert isinstance(decision, Admit)
        assert decision.after is not None
        return built, pending, decision.after

    def test_an_older_view_does_not_take_it_back(self) -> None:
        built, pending, _ = self.decided()
        built.put(pending, 2.0)
        assert built.world.ledger.is_assumed("ns/train")
        assert not built.is_ready

    def test_seen_it_is_confirmed(self) -> None:
        built, _, after = self.decided()
        built.put(after, 2.0)
        assert "ns/train" in built.world.ledger
        assert not built.world.ledger.is_assumed("ns/train")

    def test_when_the_write_fails_it_is_queued_again(self) -> None:
        built, pending, _ = self.decided()
        built.failed(pending, 2.0)
        assert "ns/train" not in built.world.ledger
        assert built.is_ready

    def test_never_seen_it_expires(self) -> None:
        built, _, _ = self.decided()
        assert built.expire(0.5) == []
        assert built.expire(2.0) == ["ns/train"]
        assert "ns/train" not in built.world.ledger

    def test_a_swap_that_failed_leaves_what_was_held(self) -> None:
        built = cluster(racks=1, hosts=3, gates={"TASFailedNodeReplacementFailFast": False})
        one = running(job("train", 8), r0h0=4, r0h1=4)
        swapped = replace(one, status=replace(one.status, unhealthy=("r0h0",)))
        built.put(swapped, 0.0)
        (decision,) = built.cycle(1.0)
        assert isinstance(decision, Admit)
        built.failed(swapped, 2.0)
        holding = built.world.ledger.get("ns/train")
        assert holding is not None
        assert dict(holding.places[0].assignment.domains) == {("r0h0",): 4, ("r0h1",): 4}
        assert not built.is_ready
        assert built.has_work(3.0)


def test_a_new_slice_of_an_elastic_job_stays_where_the_old_one_is() -> None:
    built = cluster(racks=2, hosts=2, gates={"ElasticJobsViaWorkloadSlicesWithTAS": True})
    built.put(running(job("old", 2, Constraint(unconstrained=True)), r1h1=2), 0.0)
    built.put(replace(job("new", 6, Constraint(unconstrained=True)), replaces="ns/old"), 0.0)
    decision = built.cycle(1.0)[0]
    assert isinstance(decision, Admit)
    places = decision.admission.pod_sets[0].topology
    assert places is not None
    assert dict(places.domains)[("r1h1",)] >= 2


def test_failed_nodes_of_other_pod_sets_are_out_too() -> None:
    built = cluster(racks=1, hosts=3)
    two = (part(name, 1, {"gpu": 1}) for name in ("a", "b"))
    given = tuple(
        PodSetAssignment(name, {"gpu": "gpu"}, {"gpu": 1}, 1, Assignment.of((HOSTNAME,), [((host,), 1)]))
        for name, host in (("a", "r0h0"), ("b", "r0h1"))
    )
    status = Status(admission=Admission("cq", given), unhealthy=("r0h0", "r0h1"))
    status = status.condition("QuotaReserved", True, "", "", 0.0).condition("Admitted", True, "", "", 0.0)
    built.put(Workload("ns", "pair", *asked(*two), "lq", "uid", status=status), 0.0)
    (decision,) = built.cycle(10.0)
    assert isinstance(decision, Admit)
    assert {one.topology.values for one in decision.admission.pod_sets if one.topology} == {(("r0h2",),)}


class TestEndFlavorWalks:
    """Two pod sets that are each on the flavor which the other has left, and never find places."""

    @staticmethod
    def out_of_step(gpus: int = 1, **gates: bool) -> Scheduler:
        built = cluster(1, 2, gpus, gates)
        for name in ("a", "b"):
            built.world.put_flavor(Flavor(name, topology="t"))
        group = ResourceGroup(("gpu",), tuple(FlavorQuotas(name, {"gpu": Quota(3)}) for name in ("a", "b")))
        built.put_cluster_queue(replace(built.world.cluster_queues["cq"], groups=(group,)))
        one_host = Constraint(required=HOSTNAME)
        two = (part(name, 2, {"gpu": 1}, one_host) for name in ("x", "y"))
        built.put(Workload("ns", "first", *asked(*two), "lq", "uid-first", 0, 1.0), 0.0)
        built.put(replace(job("behind", 1), created=2.0), 0.0)
        return built

    def test_a_workload_that_tried_every_flavor_does_not_block_others(self) -> None:
        built = self.out_of_step()
        admitted = [one.workload.name for _ in range(6) for one in built.cycle(1.0) if isinstance(one, Admit)]
        assert admitted == ["behind"]
        assert not built.is_ready

    def test_nor_does_one_that_is_planned_again_within_each_cycle(self) -> None:
        """The hosts are in use: places are found as if they were empty, and are not there when its turn comes."""
        built = self.out_of_step(gpus=2)
        built.put(running(job("important", 4, priority=9), r0h0=2, r0h1=2), 0.0)
        built.world.put_node(Node("small", {RACK: "r0", HOSTNAME: "small"}, {"gpu": 1, "pods": 110}))
        admitted = [one.workload.name for _ in range(6) for one in built.cycle(1.0) if isinstance(one, Admit)]
        assert admitted == ["behind"]
        assert not built.is_ready

    def test_without_the_gate_no_workload_behind_it_gets_a_turn(self) -> None:
        built = self.out_of_step(EndFlavorWalks=False)
        decisions = [one for _ in range(50) for one in built.cycle(1.0)]
        assert {one.workload.name for one in decisions if isinstance(one, Wait)} == {"first"}
        assert built.is_ready

    def test_once_something_happens_it_begins_with_the_first_flavor(self) -> None:
        built = self.out_of_step()
        while built.is_ready:
            built.cycle(1.0)
        entry = built.pending.get("ns/first")
        assert entry is not None
        assert entry.progress is None
        for number in range(2):
            name = f"big{number}"
            built.world.put_node(Node(name, {RACK: "r1", HOSTNAME: name}, {"gpu": 2, "pods": 110}))
        built.wake(WakeEvent.NODE_CHANGED, "cq", 2.0)
        (decision,) = (one for _ in range(4) for one in built.cycle(2.0) if isinstance(one, Admit))
        assert [set(each.flavors.values()) for each in decision.admission.pod_sets] == [{"a"}, {"b"}]
