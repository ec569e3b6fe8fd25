"""Trees of groups in the engine: what is searched for, and the reason where a tree cannot be searched yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.engine.explain import Explanation, explain
from closeknit.engine.place import has_room, place
from closeknit.engine.policy import Policy
from closeknit.model.gates import Gates
from closeknit.model.reason import Why
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

from .clusters import BLOCK, RACK, TOPOLOGY, host

ON = Policy(Gates.profile())
IN_ORDER = Policy(Gates.profile("closeknit", {"BacktrackPodSets": False}))
IN_A_RACK = Constraint(required=RACK)


def snapshot() -> Snapshot:
    """Two racks of two hosts, 4 cpu each."""
    nodes = [host(f"r{rack}h{number}", "x", f"{rack}", 4) for rack in (0, 1) for number in (0, 1)]
    return Snapshot(TOPOLOGY, NodeTable.of(nodes))


def pods(name: str, count: int, constraint: Constraint | None = None, cpu: int = 1000) -> PodSet:
    return PodSet(name, count, Shape.of({"cpu": cpu}), constraint)


class TestConstraintOfAGroup:
    @pytest.mark.parametrize("count", [8, 9])
    def test_it_holds_a_pod_set_together_as_one_of_its_own_would(self, count: int) -> None:
        by_group = place(snapshot(), Request((Group((pods("main", count),), "g", IN_A_RACK),)), ON)
        by_itself = place(snapshot(), Request.of([pods("main", count, IN_A_RACK)]), ON)
        assert [one.assignment for one in by_group.outcomes] == [one.assignment for one in by_itself.outcomes]
        assert by_group.reason == by_itself.reason
        assert by_group.fits is (count == 8)

    def test_it_holds_a_leader_and_its_workers_together(self) -> None:
        pair = (pods("leader", 1, cpu=4000), pods("workers", 4))
        asked = Request((Group(pair, "g", IN_A_RACK),))
        result = place(snapshot(), asked, ON)
        assert result.fits
        assert has_room(snapshot(), asked, ON)
        racks = {path[0][:2] for one in result.outcomes if one.assignment for path in one.assignment.values}
        assert len(racks) == 1
        too_large = Request((Group((pods("leader", 1, cpu=4000), pods("workers", 5)), "g", IN_A_RACK),))
        assert not place(snapshot(), too_large, ON).fits
        assert not has_room(snapshot(), too_large, ON)

    def test_an_explanation_tells_of_it(self) -> None:
        found = explain(snapshot(), Request((Group((pods("main", 9),), "g", IN_A_RACK),)), ON)
        assert isinstance(found, Explanation)
        assert found.constraint == IN_A_RACK
        assert [view.when_empty for view in found.levels] == [16, 8, 4]

    def test_one_inside_another_gives_a_reason(self) -> None:
        group = Group((pods("main", 2, IN_A_RACK),), "g", Constraint(required=BLOCK))
        result = place(snapshot(), Request((group,)), IN_ORDER)
        assert str(result.reason) == "pod set main is under 2 constraints, and only 1 can be searched for"
        assert not has_room(snapshot(), Request((group,)), IN_ORDER)


class TestDepth:
    PAIR = Group((pods("leader", 1), pods("workers", 2)), "pair", IN_A_RACK)
    TREE = Request((Group((Group((PAIR,), "replica"), pods("store", 1)), "all", Constraint(required=BLOCK)),))

    def test_a_tree_deeper_than_pod_sets_gives_a_reason_that_names_it(self) -> None:
        result = place(snapshot(), self.TREE, IN_ORDER)
        assert result.reason is not None
        assert result.reason.why is Why.DEEP_GROUP
        assert str(result.reason) == "group all is 3 levels of groups deep, and only 1 level can be placed"
        assert [one.pod_set.name for one in result.outcomes] == ["leader", "workers", "store"]
        assert not has_room(snapshot(), self.TREE, IN_ORDER)

    def test_so_it_does_when_the_groups_have_no_name(self) -> None:
        tree = Request((Group((Group((pods("a", 1),)), pods("b", 1))),))
        assert str(place(snapshot(), tree, IN_ORDER).reason) == (
            "group of a, b is 2 levels of groups deep, and only 1 level can be placed"
        )

    def test_pod_sets_without_pods_do_not_make_a_tree_flat(self) -> None:
        tree = Request((Group((Group((pods("none", 0), pods("a", 1))), pods("b", 1)), "g"),))
        result = place(snapshot(), tree, IN_ORDER)
        assert result.reason is not None
        assert result.reason.why is Why.DEEP_GROUP

    def test_groups_of_only_such_pod_sets_are_skipped(self) -> None:
        tree = Request((Group((Group((pods("none", 0),)), pods("a", 1, IN_A_RACK)), "g"),))
        assert place(snapshot(), tree, IN_ORDER).fits

    def test_it_is_explained_by_that_reason(self) -> None:
        found = explain(snapshot(), self.TREE, IN_ORDER)
        assert isinstance(found, Explanation)
        assert (found.reason.why, found.remedies) == (Why.DEEP_GROUP, ())

    def test_groups_after_it_are_not_placed(self) -> None:
        request = replace(self.TREE, groups=(*self.TREE.groups, Group((pods("alone", 1),))))
        assert "alone" not in [one.pod_set.name for one in place(snapshot(), request, IN_ORDER).outcomes]
