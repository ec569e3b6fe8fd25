"""What goes beyond Kueue: each behaviour with its gate on and off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closeknit.engine.capacity import by_resources
from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.engine.replace import Broken, replace
from closeknit.model.assignment import Assignment
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, Layer, PodSet, Request
from closeknit.model.shape import Requirement, Shape, Term, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import IntArray, NodeTable

from .clusters import BLOCK, BY_RACK, RACK, TAINT, TOPOLOGY, host, pods_by_node

ON = Policy(Gates.profile())
OFF = Policy(Gates.profile("kueue"))


def ask(
    nodes: tuple[Node, ...],
    count: int,
    constraint: Constraint,
    policy: Policy,
    topology: Topology = TOPOLOGY,
    **of: Any,
) -> Result:
    snapshot = Snapshot(topology, NodeTable.of(nodes))
    return place(snapshot, one(count, constraint, **of), policy)


def one(count: int, constraint: Constraint, cpu: int = 1000, **shape: Any) -> Request:
    return Request.of([PodSet("main", count, Shape.of({"cpu": cpu}, **shape), constraint)])


def together(*pod_sets: PodSet) -> Request:
    return Request((Group(pod_sets, "g"),))


def reason(result: Result) -> str:
    return str(result.reason)


class TestFilterAtEveryLevel:
    nodes = (
        host("a", "x", "1", 4, taints=(TAINT,)),
        host("b", "x", "1", 3),
        host("c", "x", "2", 9),
    )

    def test_a_tainted_node_of_a_rack_does_not_count(self) -> None:
        wanted = Constraint(required=RACK)
        assert ask(self.nodes[:2], 4, wanted, OFF, BY_RACK).fits
        refused = ask(self.nodes[:2], 4, wanted, ON, BY_RACK)
        assert reason(refused) == 'topology "default" allows to fit only 3 out of 4 pod(s)'

    def test_a_tolerated_one_does(self) -> None:
        tolerations = (Toleration("dedicated", "Exists"),)
        assert ask(self.nodes[:2], 7, Constraint(required=RACK), ON, BY_RACK, tolerations=tolerations).fits

    def test_selectors_count_too(self) -> None:
        assert ask(self.nodes, 4, Constraint(required=RACK), ON, BY_RACK, selector={HOSTNAME: "c"}).fits
        nowhere = ask(self.nodes, 1, Constraint(required=RACK), ON, BY_RACK, selector={"zone": "none"})
        assert reason(nowhere).endswith("Total nodes: 2; excluded: nodeSelector: 2")

    def test_pods_must_fit_on_nodes_and_not_on_their_sum(self) -> None:
        nodes = (
            host("a", "x", "1", 3),
            host("b", "x", "1", 3),
        )
        wanted = Constraint(required=RACK)
        assert ask(nodes, 3, wanted, OFF, BY_RACK, cpu=2000).fits
        assert reason(ask(nodes, 3, wanted, ON, BY_RACK, cpu=2000)) == (
            'topology "default" allows to fit only 2 out of 3 pod(s)'
        )

    def test_usage_of_the_rack_is_taken_off_once_and_whole(self) -> None:
        snapshot = Snapshot(BY_RACK, NodeTable.of(self.nodes[:2]))
        snapshot.admit(np.array([0]), np.array([2]), Shape.of({"cpu": 1000}).charge)
        assert reason(place(snapshot, one(2, Constraint(required=RACK)), ON)) == (
            'topology "default" allows to fit only 1 out of 2 pod(s)'
        )

    def test_other_pods_count_on_their_own_node_only(self) -> None:
        snapshot = Snapshot(BY_RACK, NodeTable.of(self.nodes[:2]))
        snapshot.use("a", {"cpu": 4000})
        assert place(snapshot, one(3, Constraint(required=RACK)), ON).fits

    def test_the_leader_needs_one_node_that_holds_it(self) -> None:
        nodes = (
            host("a", "x", "1", 3),
            host("b", "x", "1", 3),
        )
        wanted = Constraint(required=RACK)
        request = together(
            PodSet("leader", 1, Shape.of({"cpu": 4000}), wanted),
            PodSet("workers", 2, Shape.of({"cpu": 1000}), wanted),
        )
        assert place(Snapshot(BY_RACK, NodeTable.of(nodes)), request, OFF).fits
        assert not place(Snapshot(BY_RACK, NodeTable.of(nodes)), request, ON).fits

    def test_a_change_of_one_node_repairs_its_rack(self) -> None:
        snapshot = Snapshot(BY_RACK, NodeTable.of(self.nodes[:2]))
        request = one(7, Constraint(required=RACK))
        assert not place(snapshot, request, ON).fits
        snapshot.columns.put_node(snapshot.row_of["a"], host("a", "x", "1", 4))
        assert place(snapshot, request, ON).fits


class TestRefuseUnevenSlices:
    nodes = (host("a", "x", "1", 9),)
    sliced = Constraint(required=BLOCK, slices=(Layer(RACK, 4),))

    def test_an_uneven_count_is_refused_with_the_two_nearest(self) -> None:
        assert reason(ask(self.nodes, 6, self.sliced, ON)) == "6 pods do not divide into slices of 4; use 4 or 8 pods"

    def test_less_than_a_slice_names_the_one_count_there_is(self) -> None:
        assert reason(ask(self.nodes, 3, self.sliced, ON)) == "3 pods do not divide into slices of 4; use 4 pods"

    def test_an_even_count_passes(self) -> None:
        assert ask(self.nodes, 8, self.sliced, ON).fits

    def test_kueue_drops_the_rest_in_silence(self) -> None:
        result = ask(self.nodes, 6, self.sliced, OFF)
        assert pods_by_node(result) == {"a": {"main": 4}}


class TestRequiredAndPreferred:
    nodes = (
        host("a1", "a", "1", 2),
        host("a2", "a", "2", 2),
        host("b1", "b", "1", 3),
        host("b2", "b", "2", 3),
    )

    def test_preferred_is_the_aim_inside_what_is_required(self) -> None:
        result = ask(self.nodes, 3, Constraint(required=BLOCK, preferred=RACK), ON)
        assert pods_by_node(result) == {"b1": {"main": 3}}

    def test_it_gives_way_up_to_what_is_required(self) -> None:
        result = ask(self.nodes, 4, Constraint(required=BLOCK, preferred=RACK), ON)
        assert pods_by_node(result) == {"a1": {"main": 2}, "a2": {"main": 2}}

    def test_and_no_further(self) -> None:
        assert not ask(self.nodes, 7, Constraint(required=BLOCK, preferred=RACK), ON).fits
        assert ask(self.nodes, 7, Constraint(preferred=RACK), ON).fits

    def test_a_preference_that_is_looser_than_the_requirement_says_nothing_more(self) -> None:
        assert not ask(self.nodes, 4, Constraint(required=RACK, preferred=BLOCK), ON).fits

    def test_kueue_looks_at_required_alone(self) -> None:
        result = ask(self.nodes, 3, Constraint(required=BLOCK, preferred=RACK), OFF)
        assert pods_by_node(result) == {"a1": {"main": 2}, "a2": {"main": 1}}


class TestAutoLevel:
    nodes = (
        host("a1", "a", "1", 2),
        host("a2", "a", "1", 2),
        host("a3", "a", "2", 2),
        host("b1", "b", "1", 1),
    )

    @pytest.mark.parametrize(
        ("count", "used"),
        [(2, {"a1"}), (4, {"a1", "a2"}), (6, {"a1", "a2", "a3"})],
    )
    def test_the_lowest_level_that_holds_the_job_is_taken(self, count: int, used: set[str]) -> None:
        assert set(pods_by_node(ask(self.nodes, count, Constraint(required="auto"), ON))) == used

    def test_required_auto_never_spreads_over_the_top_level(self) -> None:
        assert not ask(self.nodes, 7, Constraint(required="auto"), ON).fits

    def test_preferred_auto_does(self) -> None:
        assert ask(self.nodes, 7, Constraint(preferred="auto"), ON).fits

    def test_with_slices_it_starts_at_their_level(self) -> None:
        result = ask(self.nodes, 4, Constraint(required="auto", slices=(Layer(RACK, 4),)), ON)
        assert pods_by_node(result) == {"a1": {"main": 2}, "a2": {"main": 2}}

    def test_kueue_knows_no_such_level(self) -> None:
        assert reason(ask(self.nodes, 2, Constraint(required="auto"), OFF)) == "no requested topology level: auto"


class TestWhereKueuePanics:
    def test_balancing_less_than_a_slice_gives_a_reason(self) -> None:
        policy = Policy(Gates.profile("kueue", {"TASBalancedPlacement": True}))
        result = ask((host("a", "x", "1", 9),), 2, Constraint(preferred=RACK, slices=(Layer(HOSTNAME, 4),)), policy)
        assert reason(result) == "2 pods are fewer than one slice of 4; nothing can be balanced"

    def test_shrinking_with_a_leader_that_has_no_place_gives_a_reason(self) -> None:
        changes = {"ElasticJobsViaWorkloadSlices": True, "ElasticJobsViaWorkloadSlicesWithTAS": True}
        policy = Policy(Gates.profile("kueue", changes))
        snapshot = Snapshot(TOPOLOGY, NodeTable.of([host("a", "x", "1", 9)]))
        wanted, shape = Constraint(unconstrained=True), Shape.of({"cpu": 1000})
        first = place(snapshot, Request.of([PodSet("workers", 3, shape, wanted)]), policy)
        request = together(
            PodSet("leader", 1, shape, wanted),
            PodSet("workers", 2, shape, wanted, previous=first.outcomes[0].assignment),
        )
        assert reason(place(snapshot, request, policy)) == (
            "pod set leader has no previous assignment to keep while workers shrinks; place the whole group again"
        )

    def test_a_group_of_three_is_placed_and_gives_a_reason_without_backtracking(self) -> None:
        wanted, shape = Constraint(required=RACK), Shape.of({"cpu": 1000})
        request = together(*(PodSet(name, 1, shape, wanted) for name in "abc"))
        snapshot = Snapshot(TOPOLOGY, NodeTable.of([host("a", "x", "1", 9)]))
        assert place(snapshot, request, ON).fits
        result = place(snapshot, request, Policy(Gates.profile("closeknit", {"BacktrackPodSets": False})))
        assert reason(result) == "group g is not one pod set, nor a leader with its workers"


def test_a_pod_set_without_pods_gets_an_empty_assignment_and_is_no_leader() -> None:
    wanted, shape = Constraint(required=RACK), Shape.of({"cpu": 1000})
    request = together(PodSet("none", 0, shape, wanted), PodSet("one", 1, shape, wanted))
    result = place(Snapshot(TOPOLOGY, NodeTable.of([host("a", "x", "1", 9)])), request, ON)
    assert {o.pod_set.name: o.assignment and tuple(o.assignment.domains) for o in result.outcomes} == {
        "one": ((("a",), 1),),
        "none": (),
    }


def test_how_a_node_counts_can_be_replaced() -> None:
    """As if a node admitted no more than two pods, whatever is free."""

    def two_at_most(
        snapshot: Snapshot, shape: Shape, rows: IntArray, free: IntArray, _zones: IntArray | None = None
    ) -> IntArray:
        return np.minimum(by_resources(snapshot, shape, rows, free), 2)

    nodes = (host("a", "x", "1", 9), host("b", "x", "1", 9))
    policy = Policy(Gates.profile(), fit=two_at_most)
    assert pods_by_node(ask(nodes, 4, Constraint(required=RACK), policy)) == {"a": {"main": 2}, "b": {"main": 2}}
    assert reason(ask(nodes, 5, Constraint(required=RACK), policy)).startswith(
        'topology "default" allows to fit only 4'
    )
    assert pods_by_node(ask(nodes, 5, Constraint(required=RACK), ON)) == {"a": {"main": 5}}


class TestReplacementUnderAuto:
    nodes = (
        host("a1", "a", "1", 4),
        host("a2", "a", "1", 4),
        host("a3", "a", "1", 3),
        host("a4", "a", "2", 4),
        host("b1", "b", "1", 9),
    )

    def replaced(self, *without: str) -> Result:
        """A job of eight on a1 and a2 loses a2."""
        snapshot = Snapshot(TOPOLOGY, NodeTable.of(n for n in self.nodes if n.name not in ("a2", *without)))
        shape, wanted = Shape.of({"cpu": 1000}), Constraint(required="auto")
        existing = Assignment.of([HOSTNAME], [(("a1",), 4), (("a2",), 4)])
        snapshot.admit(np.array([snapshot.tree.leaf_of[("a1",)]]), np.array([4]), shape.charge)
        return replace(snapshot, [Broken(PodSet("main", 8, shape, wanted), existing)], "a2", ON)

    def test_pods_stay_in_the_lowest_domain_of_the_survivors_that_has_room(self) -> None:
        assert pods_by_node(self.replaced()) == {"a1": {"main": 4}, "a4": {"main": 4}}

    def test_a_group_is_never_torn_over_the_top(self) -> None:
        assert not self.replaced("a4").fits


def test_an_unknown_operator_matches_nothing() -> None:
    """Read from an object that was not validated, it must not open nodes that were meant to be closed."""
    nodes = (host("a", "x", "1", 9),)
    odd = (Term((Requirement(RACK, "NotIN", ("x-1",)),)),)
    assert not ask(nodes, 1, Constraint(required=RACK), ON, required=odd).fits


def test_usage_beyond_all_counting_fills_a_node() -> None:
    snapshot = Snapshot(TOPOLOGY, NodeTable.of([host("a", "x", "1", 9)]))
    snapshot.admit(np.array([0]), np.array([16]), Shape.of({"cpu": 2**60}).charge)
    assert not place(snapshot, one(1, Constraint(required=RACK)), ON).fits
    mark = snapshot.checkpoint()
    snapshot.admit(np.array([0]), np.array([-16]), Shape.of({"cpu": 2**60}).charge)
    assert place(snapshot, one(1, Constraint(required=RACK)), ON).fits
    snapshot.rollback(mark)


def test_balancing_a_huge_group_gives_up_its_search_and_still_places_it() -> None:
    policy = Policy(Gates.profile("kueue", {"TASBalancedPlacement": True}))
    nodes = tuple(host(f"h{i:03d}", "x", f"{i % 4}", 900 + i % 7, pods=2000) for i in range(200))
    wanted, shape = Constraint(preferred=BLOCK), Shape.of({"cpu": 1000})
    request = together(PodSet("leader", 1, Shape.of({"cpu": 3000}), wanted), PodSet("workers", 150_000, shape, wanted))
    result = place(Snapshot(TOPOLOGY, NodeTable.of(nodes)), request, policy)
    assert sum(o.assignment.pods for o in result.outcomes if o.assignment) == 150_001


def test_fragmented_room_in_a_rack_is_reported() -> None:
    nodes = (host("a", "x", "1", 3), host("b", "x", "1", 3))
    result = ask(nodes, 1, Constraint(required=RACK), ON, BY_RACK, cpu=4000)
    assert reason(result).endswith("Total nodes: 1; excluded: fragmentation: 1")


def test_room_of_excluded_nodes_is_not_blamed_on_anything_else() -> None:
    nodes = (host("a", "x", "1", 9, taints=(TAINT,)), host("b", "x", "1", 1))
    result = ask(nodes, 1, Constraint(required=RACK), ON, BY_RACK, cpu=4000)
    assert reason(result).endswith('Total nodes: 1; excluded: resource "cpu": 1')
