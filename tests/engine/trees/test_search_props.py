"""What holds for every placement of a random tree of groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.engine.fit import Fit
from closeknit.engine.groups.counts import DomainCounts, DomainFree
from closeknit.engine.groups.domains import in_order
from closeknit.engine.groups.parts import GroupPart, RequestReader
from closeknit.engine.groups.place import GroupResult, place_groups
from closeknit.engine.groups.search import OutOfSteps, Search
from closeknit.engine.groups.trial import GroupTrial
from closeknit.engine.policy import Policy
from closeknit.model.request import Group, PodSet, Request
from closeknit.model.shape import Shape
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
def test_ports_anti_affinity_and_spread_hold_for_everything_that_is_placed(seed: int) -> None:
    case = random_case(seed, filters=True)
    result = place_groups(case.columns, case.trees, case.request, Policy(), steps=1000, surplus=False)
    pods = [
        (node, one.shape)
        for one in case.request.pod_sets
        if one.name in result.placed
        for node in result.placed[one.name].nodes(case.columns)
    ]
    ported = Counter(node for node, shape in pods if shape.rules is not None and shape.rules.kind.ports)
    assert all(count == 1 for count in ported.values())
    for node, shape in pods:
        assert shape.tolerations or not case.columns.table.taints[case.columns.table.taint_codes[row_of(case, node)]]
        for term in shape.rules.kind.anti if shape.rules is not None else ():
            home = label(case, node, term.key)
            near = [other for other in pods if label(case, other[0], term.key) == home]
            near.remove((node, shape))
            assert not any(other.kind is not None and other.kind.is_in(term, {}) for _, other in near)
        for rule in shape.rules.spread if shape.rules is not None else ():
            inside = {value for value in values(case, rule.key, shape) if value is not None}
            alike = Counter(label(case, other, rule.key) for other, one in pods if one.kind == shape.kind)
            assert alike[label(case, node, rule.key)] <= min(alike[value] for value in inside) + rule.max_skew


def row_of(case: Case, node: str) -> int:
    return case.columns.row_of[node]


def label(case: Case, node: str, key: str) -> str | None:
    return case.columns.table.label(row_of(case, node), key)


def values(case: Case, key: str, shape: Shape) -> list[str | None]:
    """The values of a label on the nodes that a shape selects."""
    names = case.columns.table.names
    return [label(case, one, key) for one in names if all(label(case, one, at) == want for at, want in shape.selector)]


@pytest.mark.parametrize("seed", [0, 82, 134, 864])
def test_groups_that_balance_one_another_or_leave_one_out_are_found(seed: int) -> None:
    case = random_case(seed, filters=True)
    assert place_groups(case.columns, case.trees, case.request, Policy(), surplus=False).fits


@pytest.mark.parametrize("seed", [957, 1610])
def test_pods_leave_the_nodes_to_others_that_can_use_no_other_ones(seed: int) -> None:
    case = random_case(seed, filters=True)
    assert place_groups(case.columns, case.trees, case.request, Policy(), steps=500, surplus=False).fits


@pytest.mark.parametrize("seed", [617, 1370])
def test_what_failed_before_is_decided_first(seed: int) -> None:
    case = random_case(seed, filters=True)
    assert place_groups(case.columns, case.trees, case.request, Policy(), steps=2_000, surplus=False).fits


@EXAMPLES
@given(seed=seeds)
def test_a_search_leaves_every_column_as_it_was(seed: int) -> None:
    case = random_case(seed)
    before = columns_of(case)
    assert {"remaining", "admitted", "assumed", "room"} <= before.keys()
    placed(case)
    assert columns_of(case) == before
    assert case.columns.checkpoint() == 0


def columns_of(case: Case) -> dict[str, bytes]:
    """Every column that the search could write to, by name."""
    found = {name: getattr(case.columns, name, None) for name in dir(case.columns)}
    return {name: column.tobytes() for name, column in found.items() if isinstance(column, np.ndarray)}


@EXAMPLES
@given(seed=seeds)
def test_counts_that_follow_a_search_equal_those_counted_anew(seed: int) -> None:
    case = random_case(seed)
    top = RequestReader(case.columns, case.trees).read(case.request)
    assert isinstance(top, GroupPart)
    trial = GroupTrial(case.columns, Policy())
    try:
        Search(trial, case.trees, top, steps=500).run()
    except OutOfSteps:
        """What was taken so far is in the columns."""
    for tree in case.trees.values():
        for shape in top.all_wants:
            found, fit = trial.counts(tree, shape), Fit(case.columns, shape, None, Policy())
            fit.refresh()
            fresh = DomainCounts(tree, fit)
            fresh.refresh()
            assert trial.fit(shape).pods.tolist() == fit.pods.tolist()
            assert [one.tolist() for one in found.at] == [one.tolist() for one in fresh.at]
        free = DomainFree(tree, case.columns)
        free.refresh()
        assert [one.tolist() for one in trial.free(tree).at] == [one.tolist() for one in free.at]


keys = st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), max_size=3)


@given(keys=keys, size=st.integers(0, 6))
def test_domains_come_in_the_order_of_all_keys(keys: list[list[int]], size: int) -> None:
    columns = [np.array(key) for key in keys]
    pieces = in_order(np.arange(size), [partial(np.take, key) for key in columns])
    found = [one for piece in pieces for one in piece.tolist()]
    assert found == sorted(range(size), key=lambda at: tuple(key[at] for key in keys))


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
