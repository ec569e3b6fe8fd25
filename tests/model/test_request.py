"""A request as a tree: what it is under at every depth, and how pod sets change inside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.model.request import Constraint, Group, Layer, PodSet, Request
from closeknit.model.shape import Shape

BLOCK, RACK, HOST = Constraint(required="block"), Constraint(preferred="rack"), Constraint(required="host")


def pods(name: str, count: int = 2, constraint: Constraint | None = None) -> PodSet:
    return PodSet(name, count, Shape.of({"cpu": 1000}), constraint)


LEADER, WORKERS, STORE, ALONE = pods("leader", 1), pods("workers", 4, HOST), pods("store"), pods("alone")
PAIR = Group((LEADER, WORKERS), "pair", RACK)
TREE = Request((Group((Group((PAIR,), "replica"), STORE), "all", BLOCK), Group((ALONE,))))


def test_pod_sets_without_groups_are_a_group_each() -> None:
    assert Request.of([LEADER, ALONE]) == Request((Group((LEADER,)), Group((ALONE,))))


def test_pod_sets_come_in_the_order_of_the_tree() -> None:
    assert [one.name for one in TREE.pod_sets] == ["leader", "workers", "store", "alone"]
    assert [group.depth for group in TREE.groups] == [3, 1]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("leader", (BLOCK, RACK)),
        ("workers", (BLOCK, RACK, HOST)),
        ("store", (BLOCK,)),
        ("alone", ()),
        ("unknown", ()),
    ],
)
def test_a_pod_set_is_under_the_constraints_of_all_groups_around_it_and_its_own(
    name: str, found: tuple[Constraint, ...]
) -> None:
    assert TREE.constraints(name) == found


def test_a_constraint_names_levels_for_the_whole_and_for_slices() -> None:
    assert Constraint("block", "rack", None, (Layer("host", 2),)).levels == ["block", "rack", "host"]
    assert Constraint(unconstrained=True).levels == []


def test_pod_sets_of_one_outermost_group_are_beside_each_other() -> None:
    assert TREE.beside("store") == {"leader", "workers", "store"}
    assert TREE.beside("alone") == {"alone"}


class TestChanges:
    def test_a_pod_set_changes_in_its_place_and_the_tree_keeps_its_form(self) -> None:
        fewer = replace(WORKERS, count=2)
        changed = TREE.changed([fewer])
        assert changed.outline == TREE.outline
        assert [one.count for one in changed.pod_sets] == [1, 2, 2, 2]
        assert changed.constraints("workers") == (BLOCK, RACK, HOST)

    def test_what_is_not_kept_is_dropped_with_groups_that_are_left_empty(self) -> None:
        assert TREE.keeping({"store": STORE}) == Request((Group((STORE,), "all", BLOCK),))
        assert TREE.keeping({"leader": LEADER}) == Request(
            (Group((Group((Group((LEADER,), "pair", RACK),), "replica"),), "all", BLOCK),)
        )
        assert TREE.keeping({}) == Request(())

    def test_where_nothing_changes_it_is_the_very_same_tree(self) -> None:
        assert TREE.keeping({one.name: one for one in TREE.pod_sets}) is TREE
        assert TREE.changed([]) is TREE


class TestOutline:
    def test_pods_do_not_matter(self) -> None:
        other = replace(WORKERS, count=9, shape=Shape.of({"cpu": 1}))
        assert TREE.changed([other]).outline == TREE.outline

    @pytest.mark.parametrize(
        "other",
        [
            Group((LEADER, WORKERS), "pair", HOST),
            Group((LEADER, WORKERS), "other", RACK),
            Group((LEADER, replace(WORKERS, constraint=None)), "pair", RACK),
            Group((Group((LEADER,)), WORKERS), "pair", RACK),
        ],
        ids=["constraint of the group", "name of the group", "constraint of a pod set", "depth"],
    )
    def test_names_constraints_and_depth_do(self, other: Group) -> None:
        assert other.outline != PAIR.outline


class TestNumbering:
    def test_pods_are_numbered_through_group_by_group(self) -> None:
        assert [[one.name for one in members] for members in TREE.numbered] == [
            ["store"],
            [],
            ["leader", "workers"],
            ["alone"],
        ]

    def test_but_not_in_a_group_that_says_otherwise(self) -> None:
        assert list(replace(PAIR, numbered_through=False).numbered) == []
