"""The search for trees of groups against every placement of tiny clusters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.engine.groups.place import place_groups
from closeknit.engine.policy import Policy
from closeknit.model.reason import Why

from .tiny_trees import holds, is_met, is_possible, tiny_case


def check(seed: int) -> None:
    case = tiny_case(seed)
    result = place_groups(case.columns, case.trees, case.request, Policy())
    if result.reason is None:
        where = {name: tuple(placed.nodes(case.columns)) for name, placed in result.placed.items()}
        assert is_met(case, where)
        assert holds(case, where)
    elif result.reason.why is not Why.RUNNING_APART:
        assert result.is_proof
        assert not is_possible(case)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_refusal_is_right_and_a_placement_holds(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", [12, 103, 110, 166, 218, 306, 948])
def test_nodes_without_a_domain_and_groups_apart_are_searched_as_they_should(seed: int) -> None:
    check(seed)


def test_tiny_trees_are_neither_all_possible_nor_all_impossible() -> None:
    found = [is_possible(tiny_case(seed)) for seed in range(20)]
    assert 4 < sum(found) < 17
