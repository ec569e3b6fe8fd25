"""What holds for every placement of a random tree of groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.engine.groups.place import GroupResult, place_groups
from closeknit.engine.policy import Policy
from closeknit.model.request import Group, PodSet, Request
from closeknit.state.node_tree import NodeTree

from .random_trees import Case, random_case

EXAMPLES = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**6)


def placed(case: Case, request: Request | None = None) -> GroupResult:
    return place_groups(case.columns, case.trees, request or case.request, Policy(), steps=3000)


def nodes_of(case: Case, result: GroupResult, group: Group) -> list[str]:
    return [node for one in group.pod_sets for node in result.placed[one.name].nodes(case.columns)]


def path(case: Case, tree: NodeTree, node: str, level: str) -> tuple[str | None, ...]:
    """The domain of a node, read from its labels."""
    row, depth = case.columns.row_of[node], tree.levels.index(level)
    return tuple(case.columns.table.label(row, key) for key in tree.levels[: depth + 1])


def is_met(case: Case, result: GroupResult, group: Group) -> bool:
    """Whether the minimums of a group and of those below it are met."""
    own = sum(len(result.placed[one.name].nodes(case.columns)) for one in group.own_pod_sets)
    wanted = sum(one.count for one in group.own_pod_sets) if group.min_pods is None else group.min_pods
    met = sum(is_met(case, result, one) for one in group.groups)
    return own >= wanted and met >= (len(group.groups) if group.min_groups is None else group.min_groups)


def groups_in(group: Group) -> list[Group]:
    return [group, *(below for one in group.groups for below in groups_in(one))]


@EXAMPLES
@given(seed=seeds)
def test_minimums_and_required_levels_hold_at_every_depth(seed: int) -> None:
    case = random_case(seed)
    result = placed(case)
    if not result.fits:
        return
    assert all(is_met(case, result, group) for group in case.request.groups)
    for group in (below for top in case.request.groups for below in groups_in(top)):
        constraint = group.constraint
        if constraint is not None and constraint.required is not None:
            tree = case.trees[constraint.topology]
            homes = {path(case, tree, node, constraint.required) for node in nodes_of(case, result, group)}
            assert len(homes) <= 1


@EXAMPLES
@given(seed=seeds)
def test_no_node_gets_more_than_it_has_and_no_pod_a_node_that_it_excludes(seed: int) -> None:
    case = random_case(seed)
    result = placed(case)
    used: dict[str, Counter[str]] = {}
    for one in case.request.pod_sets:
        found = result.placed.get(one.name)
        nodes = [] if found is None else found.nodes(case.columns)
        assert len(nodes) <= one.count
        for node in nodes:
            used.setdefault(node, Counter()).update({**dict(one.shape.requests), "pods": 1})
            labels = dict(case.columns.table.label_values(case.columns.row_of[node]))
            assert all(labels.get(key) == value for key, value in one.shape.selector)
    for node, amounts in used.items():
        row = case.columns.row_of[node]
        assert all(case.columns.remaining[case.columns.index[name], row] >= value for name, value in amounts.items())


@EXAMPLES
@given(seed=seeds)
def test_a_search_leaves_every_column_as_it_was(seed: int) -> None:
    case = random_case(seed)
    before = {name: getattr(case.columns, name).tobytes() for name in ("remaining", "admitted", "assumed", "room")}
    placed(case)
    assert {name: getattr(case.columns, name).tobytes() for name in before} == before
    assert case.columns.checkpoint() == 0


@EXAMPLES
@given(seed=seeds)
def test_counts_repaired_during_a_search_equal_those_computed_anew(seed: int) -> None:
    case, fresh = random_case(seed), random_case(seed)
    assert shown(placed(case)) == shown(placed(fresh)) == shown(placed(case))


def shown(result: GroupResult) -> dict[str, tuple[list[int], list[int]]]:
    return {name: (one.rows.tolist(), one.counts.tolist()) for name, one in result.placed.items()}


@EXAMPLES
@given(seed=seeds, more=st.integers(1, 4))
def test_more_room_never_makes_a_placement_impossible(seed: int, more: int) -> None:
    if placed(random_case(seed)).fits:
        assert not placed(random_case(seed, more)).is_proof


@EXAMPLES
@given(seed=seeds)
def test_the_order_of_siblings_does_not_change_whether_a_tree_fits(seed: int) -> None:
    case, result = random_case(seed), placed(random_case(seed))
    turned = placed(case, Request(tuple(turned_round(group) for group in case.request.groups)))
    if result.fits or result.is_proof:
        assert (turned.fits, turned.is_proof) == (result.fits, result.is_proof)


def turned_round(group: Group) -> Group:
    members: list[PodSet | Group] = [turned_round(one) if isinstance(one, Group) else one for one in group.members]
    return replace(group, members=tuple(members[::-1]))


def test_the_random_trees_are_neither_all_possible_nor_all_impossible() -> None:
    results = [placed(random_case(seed)) for seed in range(60)]
    assert 20 < sum(result.fits for result in results) < 58
    assert sum(result.steps > 50 for result in results) > 0
