"""Placement inside a decision: which pod sets need a place, in which flavor, and when it comes later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.activity import MULTIKUEUE, PROVISIONING
from closeknit.decide.decision import Admit, Decision, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import AdmissionCheck, CheckRule, ClusterQueue
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint
from closeknit.model.shape import Taint, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Check, PodSetUpdate, Workload
from closeknit.queue.wake import WakeEvent

from .objects import GPU, part, queue, running, scheduler, workload

BY_HOST = Topology("t", (HOSTNAME,))
HERE = Constraint(required=HOSTNAME)
PLACED = Flavor("placed", topology="t")


def built(one: ClusterQueue | None = None, flavor: Flavor = PLACED, *more: Flavor, **hosts: int) -> Scheduler:
    made = scheduler([one or queue("a", {"placed": 99})], flavors=[flavor, *more], topologies=[BY_HOST])
    for name, gpus in hosts.items():
        made.world.put_node(Node(name, {HOSTNAME: name}, {GPU: gpus, "cpu": 99, "pods": 9}))
    return made


def decide(made: Scheduler, one: Workload) -> Decision:
    made.put(one, 0.0)
    (decision,) = made.cycle(0.0)
    return decision


def places(decision: Decision) -> list[dict[str, int]]:
    """For every pod set, pods by host."""
    assert isinstance(decision, Admit)
    return [
        {} if given.topology is None else {path[0]: count for path, count in given.topology.domains}
        for given in decision.admission.pod_sets
    ]


def test_each_pod_set_is_placed_on_what_the_ones_before_it_left() -> None:
    one = workload("w", "a", 1, 1, part("first", 3, 1, HERE), part("second", 2, 1, HERE))
    assert places(decide(built(h1=4, h2=4), one)) == [{"h1": 3}, {"h2": 2}]


def test_a_pod_set_without_pods_needs_no_place() -> None:
    one = workload("w", "a", 1, 1, part("none", 0, 1, HERE), part("some", 2, 1, HERE))
    assert places(decide(built(h1=4), one)) == [{}, {"h1": 2}]


def test_a_leader_and_its_workers_share_a_domain() -> None:
    one = workload("w", "a", 1, 1, part("l", 1, 1, HERE, "g"), part("w", 3, 1, HERE, "g"))
    assert places(decide(built(h1=3, h2=4), one)) == [{"h2": 1}, {"h2": 3}]


def test_what_runs_already_is_in_the_way() -> None:
    made = built(h1=4)
    made.put(running(workload("old", count=3), "placed", hosts={"h1": 3}), 0.0)
    assert isinstance(decide(made, workload("w", count=2, constraint=HERE)), Wait)
    made.drop("default/old")
    made.wake(WakeEvent.WORKLOAD_FINISHED, "a", 0.0)
    (decision,) = made.cycle(0.0)
    assert places(decision) == [{"h1": 2}]


def test_tolerations_of_the_flavor_hold_for_its_nodes() -> None:
    flavor = Flavor("placed", topology="t", tolerations=(Toleration("reserved", "Exists"),))
    made = built(None, flavor)
    taint = Taint("reserved", "", "NoSchedule")
    made.world.put_node(Node("h1", {HOSTNAME: "h1"}, {GPU: 4, "pods": 9}, (taint,)))
    assert places(decide(made, workload("w", constraint=HERE))) == [{"h1": 1}]


def test_flavors_over_the_same_hosts_do_not_get_in_each_others_way() -> None:
    """Two pod sets of one workload in two flavors of one pool of hosts: what one gets, the other does not."""
    groups = tuple(
        ResourceGroup((name,), (FlavorQuotas(flavor, {name: Quota(99)}),))
        for name, flavor in ((GPU, "placed"), ("cpu", "other"))
    )
    made = built(replace(queue("a"), groups=groups), PLACED, Flavor("other", topology="t"))
    for name in ("h1", "h2"):
        made.world.put_node(Node(name, {HOSTNAME: name}, {GPU: 4, "cpu": 4, "pods": 3}))
    one = workload("w", "a", 1, 1, part("gpus", 2, {GPU: 1}, HERE), part("cpus", 2, {"cpu": 1}, HERE))
    (gpus, cpus) = places(decide(made, one))
    assert {*gpus, *cpus} == {"h1", "h2"}


def test_a_pod_set_in_two_flavors_with_topologies_has_no_single_place() -> None:
    groups = tuple(
        ResourceGroup((name,), (FlavorQuotas(flavor, {name: Quota(99)}),))
        for name, flavor in ((GPU, "placed"), ("cpu", "other"))
    )
    made = built(replace(queue("a"), groups=groups), PLACED, Flavor("other", topology="t"), h1=4)
    decision = decide(made, workload("w", requests={GPU: 1, "cpu": 1}, constraint=HERE))
    assert isinstance(decision, Wait)
    assert decision.message == (
        "failed to assign flavors to pod set main: more than one TAS flavor assigned: other, placed"
    )


class TestDelay:
    def delayed(self, controller: str, flavors: tuple[str, ...] = (), gates: Gates | None = None) -> str | None:
        one = queue("a", {"placed": 99}, checks=(CheckRule("c", flavors),))
        made = scheduler([one], flavors=[PLACED], topologies=[BY_HOST], gates=gates)
        made.world.put_node(Node("h1", {HOSTNAME: "h1"}, {GPU: 4, "cpu": 99, "pods": 9}))
        made.world.put_check(AdmissionCheck("c", controller, True))
        decision = decide(made, workload("w", constraint=HERE))
        assert isinstance(decision, Admit)
        return decision.admission.pod_sets[0].delayed

    def test_where_nodes_are_still_to_be_provisioned_places_come_later(self) -> None:
        assert self.delayed(PROVISIONING) == "Pending"
        assert self.delayed(PROVISIONING, ("placed",)) == "Pending"

    def test_so_they_do_where_another_cluster_has_them_in_kueues_profile(self) -> None:
        assert self.delayed(MULTIKUEUE, gates=Gates.profile("kueue")) == "Pending"

    def test_other_checks_do_not_delay(self) -> None:
        assert self.delayed("example.com/budget") is None

    @pytest.mark.parametrize(("host", "found"), [("h1", False), ("h2", True)])
    def test_what_a_ready_check_adds_to_the_pods_counts_for_their_place(self, host: str, found: bool) -> None:
        """Provisioned nodes have a label; only h2 has it."""
        made = built(queue("a", {"placed": 99}, checks=(CheckRule("c"),)))
        made.world.put_check(AdmissionCheck("c", PROVISIONING, True))
        labels = {HOSTNAME: host} | ({"batch": "7"} if host == "h2" else {})
        made.world.put_node(Node(host, labels, {GPU: 4, "pods": 9}))
        decision = decide(made, workload("w", constraint=HERE))
        assert isinstance(decision, Admit)
        update = PodSetUpdate("main", selector={"batch": "7"})
        one = decision.after
        assert one is not None
        made.put(replace(one, status=replace(one.status, checks=(Check("c", "Ready", updates=(update,)),))), 0.0)
        (second,) = made.cycle(9.0)
        assert isinstance(second, Admit) is found
