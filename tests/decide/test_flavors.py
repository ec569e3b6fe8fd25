"""Which flavor a workload gets: the first that is good enough, or the best of all that were tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.decision import Admit, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.status import carried_out
from closeknit.model.cluster_queue import ClusterQueue, Fungibility, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.node import Node
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint
from closeknit.model.settings import Settings
from closeknit.model.shape import Requirement, Taint, Term, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload

from .objects import GPU, Given, part, queue, running, scheduler, workload
from .play import Play

ONE, TWO = Flavor("one"), Flavor("two")


def decide(built: Scheduler, one: Workload) -> Admit | Wait:
    """What is decided about a workload that comes last."""
    built.put(one, 0.0)
    found = [each for each in built.cycle(0.0) if isinstance(each, Admit | Wait) and each.workload.key == one.key]
    return found[0]


def flavors(decision: Admit | Wait) -> dict[str, str]:
    """By resource, of the only pod set."""
    assert isinstance(decision, Admit)
    (given,) = decision.admission.pod_sets
    return dict(given.flavors)


def refused(decision: Admit | Wait) -> tuple[str, str]:
    assert isinstance(decision, Wait)
    return decision.reason, decision.message


def only(*parts: Given) -> Workload:
    return workload("w", "a", 1, 1, *parts)


class TestOrder:
    def test_the_first_flavor_that_fits_is_taken(self) -> None:
        built = scheduler([queue("a", {"one": 4, "two": 4})], flavors=(ONE, TWO))
        assert flavors(decide(built, workload("w", count=4))) == {GPU: "one"}

    def test_one_that_is_in_use_is_skipped(self) -> None:
        built = scheduler([queue("a", {"one": 4, "two": 4})], flavors=(ONE, TWO))
        built.put(running(workload("old"), "one"), 0.0)
        assert flavors(decide(built, workload("w", count=4))) == {GPU: "two"}

    def test_all_resources_of_a_group_come_from_one_flavor(self) -> None:
        quotas = {"one": {GPU: 4, "cpu": 1}, "two": {GPU: 4, "cpu": 9}}
        built = scheduler([queue("a", quotas)], flavors=(ONE, TWO))
        assert flavors(decide(built, workload("w", requests={GPU: 1, "cpu": 2}))) == {GPU: "two", "cpu": "two"}

    def test_resource_groups_choose_by_themselves(self) -> None:
        groups = tuple(
            ResourceGroup((name,), tuple(FlavorQuotas(flavor, {name: Quota(amount)}) for flavor, amount in given))
            for name, given in ((GPU, [("one", 0), ("two", 4)]), ("cpu", [("three", 4)]))
        )
        built = scheduler([replace(queue("a"), groups=groups)], flavors=(ONE, TWO, Flavor("three")))
        assert flavors(decide(built, workload("w", requests={GPU: 1, "cpu": 2}))) == {GPU: "two", "cpu": "three"}

    def test_pod_sets_of_one_workload_share_what_is_left(self) -> None:
        built = scheduler([queue("a", {"one": 4, "two": 4})], flavors=(ONE, TWO))
        decision = decide(built, only(part("first", 3), part("second", 3)))
        assert isinstance(decision, Admit)
        assert [each.flavors for each in decision.admission.pod_sets] == [{GPU: "one"}, {GPU: "two"}]

    def test_members_of_a_group_get_one_flavor_together(self) -> None:
        built = scheduler([queue("a", {"one": 4, "two": 6})], flavors=(ONE, TWO))
        decision = decide(built, only(part("leader", 1, group="g"), part("workers", 4, group="g")))
        assert isinstance(decision, Admit)
        assert [each.flavors for each in decision.admission.pod_sets] == [{GPU: "two"}, {GPU: "two"}]

    def test_quota_for_pods_counts_them_and_is_stored(self) -> None:
        built = scheduler([queue("a", {"one": {GPU: 9, "pods": 2}, "two": {GPU: 9, "pods": 3}})], flavors=(ONE, TWO))
        decision = decide(built, workload("w", count=3))
        assert flavors(decision) == {GPU: "two", "pods": "two"}
        assert isinstance(decision, Admit)
        assert decision.admission.pod_sets[0].usage == {GPU: 3, "pods": 3}


class TestFungibility:
    """Queue `a` has 2 of each flavor; its cohort has 4 more of the first."""

    def borrowing(self, rule: Fungibility) -> dict[str, str]:
        members = [queue("a", {"one": 2, "two": 4}, "r", fungibility=rule), queue("b", {"one": 4}, "r")]
        return flavors(decide(scheduler(members, flavors=(ONE, TWO)), workload("w", count=4)))

    def test_borrowing_in_the_first_is_good_enough(self) -> None:
        assert self.borrowing(Fungibility()) == {GPU: "one"}

    def test_unless_the_next_has_to_be_tried(self) -> None:
        assert self.borrowing(Fungibility(when_can_borrow="TryNextFlavor")) == {GPU: "two"}

    def test_if_none_is_better_the_first_is_taken_all_the_same(self) -> None:
        rule = Fungibility(when_can_borrow="TryNextFlavor")
        members = [queue("a", {"one": 2, "two": 0}, "r", fungibility=rule), queue("b", {"one": 4}, "r")]
        assert flavors(decide(scheduler(members, flavors=(ONE, TWO)), workload("w", count=4))) == {GPU: "one"}

    def preempting(self, rule: Fungibility) -> tuple[list[str], set[str]]:
        """The victims and the holders of quota when a workload of lower priority uses the first flavor."""
        policy = Preemption("LowerPriority")
        built = scheduler([queue("a", {"one": 4, "two": 4}, fungibility=rule, preemption=policy)], flavors=(ONE, TWO))
        play = Play(built, victims_stop=False)
        play.put(running(workload("old", count=4), "one"), workload("w", count=4, priority=1))
        decisions = play.cycle()
        return [one.victim.name for one in decisions if isinstance(one, Preempt)], play.admitted

    def test_the_next_flavor_is_tried_before_preemption(self) -> None:
        assert self.preempting(Fungibility()) == ([], {"old", "w"})

    def test_unless_preempting_is_good_enough(self) -> None:
        assert self.preempting(Fungibility(when_can_preempt="MayStopSearch")) == (["old"], {"old"})

    def either(self, preference: Any) -> tuple[list[str], set[str]]:
        """In the first flavor it has to preempt, in the second it has to borrow."""
        rule = Fungibility("TryNextFlavor", "TryNextFlavor", preference)
        quotas = {"one": 4, "two": 0}
        members = [
            queue("a", quotas, "r", fungibility=rule, preemption=Preemption("LowerPriority")),
            queue("b", {"one": Quota(0), "two": Quota(4)}, "r"),
        ]
        play = Play(scheduler(members, flavors=(ONE, TWO)), victims_stop=False)
        play.put(running(workload("old", count=4), "one"), workload("w", count=4, priority=1))
        decisions = play.cycle()
        return [one.victim.name for one in decisions if isinstance(one, Preempt)], play.admitted

    @pytest.mark.parametrize("preference", [None, "BorrowingOverPreemption"])
    def test_of_two_that_will_do_the_one_that_fits_is_better_though_it_borrows(self, preference: Any) -> None:
        assert self.either(preference) == ([], {"old", "w"})

    def test_unless_not_to_borrow_is_preferred(self) -> None:
        assert self.either("PreemptionOverBorrowing") == (["old"], {"old"})

    def test_reclaiming_from_others_is_better_than_preempting_in_the_own_queue(self) -> None:
        rule = Fungibility("MayStopSearch", "TryNextFlavor")
        policy = Preemption("LowerPriority", "Any")
        members = [
            queue("a", {"one": 4, "two": 4}, "r", fungibility=rule, preemption=policy),
            queue("b", {"one": 0, "two": 0}, "r"),
        ]
        play = Play(scheduler(members, flavors=(ONE, TWO)), victims_stop=False)
        play.put(running(workload("own", count=4), "one"))
        play.put(running(workload("foreign", "b", count=4), "two"))
        play.put(workload("w", count=4, priority=1))
        assert [one.victim.name for one in play.cycle() if isinstance(one, Preempt)] == ["foreign"]


class TestSuits:
    """Flavors that the pods cannot use."""

    TAINT = Taint("gpu", "yes", "NoSchedule")

    def offered(self, first: Flavor, *parts: Given) -> dict[str, str]:
        built = scheduler([queue("a", {first.name: 4, "two": 4})], flavors=(first, TWO))
        return flavors(decide(built, only(*parts)))

    @pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
    def test_an_untolerated_taint_rules_a_flavor_out(self, effect: str) -> None:
        assert self.offered(Flavor("one", taints=(Taint("gpu", "yes", effect),)), part()) == {GPU: "two"}

    def test_a_soft_taint_does_not(self) -> None:
        assert self.offered(Flavor("one", taints=(Taint("gpu", "yes", "PreferNoSchedule"),)), part()) == {GPU: "one"}

    def test_the_pod_may_tolerate_it(self) -> None:
        tolerant = part(tolerations=(Toleration("gpu", "Equal", "yes"),))
        assert self.offered(Flavor("one", taints=(self.TAINT,)), tolerant) == {GPU: "one"}

    def test_or_the_flavor_itself(self) -> None:
        flavor = Flavor("one", taints=(self.TAINT,), tolerations=(Toleration("gpu", "Exists"),))
        assert self.offered(flavor, part()) == {GPU: "one"}

    def test_one_member_of_a_group_that_does_not_tolerate_it_is_enough(self) -> None:
        tolerant = (Toleration("gpu", "Exists"),)
        built = scheduler([queue("a", {"one": 9, "two": 9})], flavors=(Flavor("one", taints=(self.TAINT,)), TWO))
        decision = decide(built, only(part("l", 1, group="g", tolerations=tolerant), part("w", 2, group="g")))
        assert isinstance(decision, Admit)
        assert [each.flavors for each in decision.admission.pod_sets] == [{GPU: "two"}, {GPU: "two"}]

    def test_a_selector_has_to_match_the_labels_of_the_flavor(self) -> None:
        flavor = Flavor("one", {"type": "spot"})
        assert self.offered(flavor, part(selector={"type": "fixed"})) == {GPU: "two"}
        assert self.offered(flavor, part(selector={"type": "spot"})) == {GPU: "one"}

    def test_keys_that_the_flavor_does_not_have_are_the_nodes_affair(self) -> None:
        assert self.offered(Flavor("one", {"type": "spot"}), part(selector={"zone": "x"})) == {GPU: "one"}

    @pytest.mark.parametrize(
        ("terms", "chosen"),
        [
            ([Term((Requirement("type", "In", ("fixed",)),))], "two"),
            ([Term((Requirement("type", "NotIn", ("fixed",)),))], "one"),
            ([Term((Requirement("type", "In", ("fixed",)),)), Term((Requirement("type", "Exists"),))], "one"),
            ([Term((Requirement("type", "In", ("fixed",)),)), Term((Requirement("zone", "In", ("x",)),))], "one"),
            ([Term((Requirement("type", "In", ("spot",)), Requirement("zone", "In", ("x",))))], "one"),
            ([Term((), (Requirement("metadata.name", "In", ("n",)),))], "one"),
        ],
        ids=["no", "yes", "one of two", "a term about other keys matches", "other keys are left out", "fields are"],
    )
    def test_required_affinity_counts_as_far_as_it_is_about_the_flavors_own_keys(
        self, terms: list[Term], chosen: str
    ) -> None:
        assert self.offered(Flavor("one", {"type": "spot"}), part(required=tuple(terms))) == {GPU: chosen}


class TestTexts:
    def test_beyond_the_maximum(self) -> None:
        decision = decide(scheduler([queue("a", 10)]), only(part("first", 2), part("second", 9)))
        assert refused(decision) == (
            "ExceedsMaxQuota",
            "couldn't assign flavors to pod set second: insufficient quota for gpu in flavor default, previously "
            "considered podsets requests (2) + current podset request (9) > maximum capacity (10)",
        )

    def test_quota_that_is_in_use(self) -> None:
        built = scheduler([queue("a", 10)])
        built.put(running(workload("old", count=8)), 0.0)
        assert refused(decide(built, workload("w", count=5))) == (
            "WaitingForQuota",
            "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor default, "
            "3 more needed",
        )

    def test_cpu_is_shown_in_cores(self) -> None:
        built = scheduler([queue("a", {"default": {"cpu": 2000}})])
        built.put(running(workload("old", requests={"cpu": 1000})), 0.0)
        _, message = refused(decide(built, workload("w", requests={"cpu": 1500})))
        assert message.endswith("insufficient unused quota for cpu in flavor default, 500m more needed")

    def test_a_resource_that_the_queue_does_not_cover(self) -> None:
        assert refused(decide(scheduler([queue("a")]), workload("w", requests={"fpga": 1}))) == (
            "NoMatchingFlavor",
            "couldn't assign flavors to pod set main: resource fpga unavailable in ClusterQueue",
        )

    def test_unless_nothing_of_it_is_asked_for(self) -> None:
        decision = decide(scheduler([queue("a")]), workload("w", requests={GPU: 1, "fpga": 0}))
        assert flavors(decision) == {GPU: "default"}

    def test_or_undeclared_resources_are_ignored(self) -> None:
        built = scheduler([queue("a")], settings=Settings(ignore_undeclared=True))
        assert flavors(decide(built, workload("w", requests={GPU: 1, "fpga": 1}))) == {GPU: "default"}

    def test_a_taint(self) -> None:
        flavor = Flavor("default", taints=(Taint("gpu", "yes", "NoSchedule"),))
        assert refused(decide(scheduler([queue("a")], flavors=[flavor]), workload("w"))) == (
            "NoMatchingFlavor",
            "couldn't assign flavors to pod set main: untolerated taint {gpu yes NoSchedule <nil>} in flavor default",
        )

    def test_an_affinity(self) -> None:
        built = scheduler([queue("a")], flavors=[Flavor("default", {"type": "spot"})])
        assert refused(decide(built, only(part(selector={"type": "x"})))) == (
            "NoMatchingFlavor",
            "couldn't assign flavors to pod set main: flavor default doesn't match node affinity",
        )

    def test_every_tried_flavor_is_reported_in_alphabetical_order_and_the_mildest_reason_counts(self) -> None:
        built = scheduler([queue("a", {"one": 1, "two": 9})], flavors=(ONE, Flavor("two", {"type": "spot"})))
        reason, message = refused(decide(built, only(part("main", 3, selector={"type": "x"}))))
        assert reason == "ExceedsMaxQuota"
        assert message == (
            "couldn't assign flavors to pod set main: flavor two doesn't match node affinity, insufficient quota for "
            "gpu in flavor one, previously considered podsets requests (0) + current podset request (3) "
            "> maximum capacity (1)"
        )


def placed(*racks: int, quotas: dict[str, int]) -> Scheduler:
    """A flavor of one host each with a topology: `one`, `two`, ... with so many gpus."""
    names = ("one", "two")[: len(racks)]
    made = [Flavor(name, {"pool": name}, topology="t") for name in names]
    built = scheduler([queue("a", quotas)], flavors=made, topologies=[Topology("t", (HOSTNAME,))])
    for name, gpus in zip(names, racks, strict=True):
        built.world.put_node(Node(f"h-{name}", {"pool": name, HOSTNAME: f"h-{name}"}, {GPU: gpus, "pods": 9}))
    return built


class TestProgress:
    HERE = Constraint(required=HOSTNAME)

    def test_where_pods_have_no_place_the_next_flavor_is_tried_in_the_next_cycle(self) -> None:
        play = Play(placed(1, 4, quotas={"one": 4, "two": 4}))
        play.put(workload("w", count=3, constraint=self.HERE))
        play.cycle()
        assert play.admitted == set()
        assert play.scheduler.is_ready
        play.cycle()
        (given,) = play.known["default/w"].status.admission.pod_sets  # type: ignore[union-attr]
        assert given.flavors == {GPU: "two"}

    def test_after_the_last_flavor_it_is_parked(self) -> None:
        play = Play(placed(1, 2, quotas={"one": 4, "two": 4}))
        play.put(workload("w", count=3, constraint=self.HERE))
        assert len(play.cycles(9)) == 2
        assert not play.scheduler.is_ready

    def test_a_change_of_quota_starts_it_over(self) -> None:
        play = Play(placed(1, 4, quotas={"one": 4, "two": 0}))
        play.put(workload("w", count=3, constraint=self.HERE))
        play.cycle()
        play.scheduler.put_cluster_queue(queue("a", {"one": 4, "two": 4}, stop="Hold"))
        play.cycle()
        play.scheduler.put_cluster_queue(queue("a", {"one": 4, "two": 4}))
        play.scheduler.world.put_node(Node("h-one", {"pool": "one", HOSTNAME: "h-one"}, {GPU: 4, "pods": 9}))
        play.cycle()
        (given,) = play.known["default/w"].status.admission.pod_sets  # type: ignore[union-attr]
        assert given.flavors == {GPU: "one"}

    @pytest.mark.xfail(strict=True, reason="by Kueue's rules two pod sets that are out of step go round in circles")
    def test_a_search_in_circles_does_not_block_other_workloads(self) -> None:
        """Quota lets one of two pod sets into the first flavor, where there is no room; both fit the second."""
        play = Play(placed(1, 4, quotas={"one": 2, "two": 9}))
        play.put(running(workload("old"), "one", hosts={"h-one": 1}))
        play.put(workload("pair", "a", 1, 1, part("x", 1, 1, self.HERE), part("y", 1, 1, self.HERE), priority=1))
        play.put(workload("behind", constraint=self.HERE))
        play.cycles(20)
        assert play.admitted == {"old", "pair", "behind"}

    @pytest.mark.xfail(strict=True, reason="by Kueue's rules no other flavor is tried once the walk has seen the last")
    def test_where_all_flavors_were_considered_the_others_are_tried_for_places_too(self) -> None:
        """Both would be borrowed, so both are considered, and the first is taken; but only the second has room."""
        play = Play(placed(1, 4, quotas={"one": 0, "two": 0}))
        rule = Fungibility(when_can_borrow="TryNextFlavor")
        play.scheduler.put_cluster_queue(queue("a", {"one": 0, "two": 0}, "r", fungibility=rule))
        play.scheduler.put_cluster_queue(queue("b", {"one": 9, "two": 9}, "r"))
        play.put(workload("w", count=3, constraint=self.HERE))
        play.cycles(20)
        assert play.admitted == {"w"}

    def test_a_flavor_without_topology_does_not_fit_a_topology_request(self) -> None:
        built = scheduler([queue("a")])
        assert refused(decide(built, workload("w", constraint=self.HERE))) == (
            "NoMatchingFlavor",
            'couldn\'t assign flavors to pod set main: Flavor "default" does not support TopologyAwareScheduling',
        )

    def test_nor_one_that_lacks_the_level(self) -> None:
        built = placed(4, quotas={"one": 4})
        assert refused(decide(built, workload("w", constraint=Constraint(required="rack")))) == (
            "NoMatchingFlavor",
            'couldn\'t assign flavors to pod set main: Flavor "one" does not contain the requested level',
        )

    def test_pods_that_say_nothing_are_placed_where_every_flavor_has_a_topology(self) -> None:
        decision = decide(placed(4, quotas={"one": 4}), workload("w", count=2))
        assert isinstance(decision, Admit)
        topology = decision.admission.pod_sets[0].topology
        assert topology is not None
        assert dict(topology.domains) == {("h-one",): 2}

    def test_and_keep_out_of_such_flavors_where_some_have_none(self) -> None:
        built = placed(4, quotas={"one": 4})
        built.world.put_flavor(Flavor("plain"))
        built.put_cluster_queue(queue("a", {"one": 4, "plain": 4}))
        decision = decide(built, workload("w", count=2))
        assert flavors(decision) == {GPU: "plain"}
        assert isinstance(decision, Admit)
        assert decision.admission.pod_sets[0].topology is None


def test_skipped_flavors_are_reported_on_admission() -> None:
    members: list[ClusterQueue] = [
        queue("a", {"one": 0, "two": 1}, "r"),
        queue("b", {"one": Quota(0), "two": Quota(4)}, "r"),
    ]
    built = scheduler(members, flavors=(ONE, TWO))
    decision = decide(built, workload("w", count=3))
    _, events = carried_out(built.world, decision, 0.0)[0]
    assert [one.message for one in events if one.reason == "QuotaReserved"] == [
        "Quota reserved in ClusterQueue a, wait time since queued was 0s; Flavors considered: main: one(NoFit;"
        "insufficient quota for gpu in flavor one, previously considered podsets requests (0) + current podset "
        "request (3) > maximum capacity (0)), two(Fit;borrow=1)"
    ]
