from __future__ import annotations

import pytest

from closeknit.model.cluster_queue import BorrowWithinCohort, ClusterQueue, LocalQueue, Selector
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.shape import Requirement

GROUPS = (
    ResourceGroup(("cpu", "memory"), (FlavorQuotas("spot", {"cpu": Quota(1), "memory": Quota(2)}),)),
    ResourceGroup(("gpu",), (FlavorQuotas("a100", {"gpu": Quota(3)}), FlavorQuotas("h100", {"gpu": Quota(4)}))),
)


def test_flavors_come_in_the_order_in_which_they_are_tried() -> None:
    assert ClusterQueue("q", GROUPS).flavors == ["spot", "a100", "h100"]


def test_a_resource_belongs_to_the_group_that_covers_it() -> None:
    queue = ClusterQueue("q", GROUPS)
    assert queue.group_of("memory") is GROUPS[0]
    assert queue.group_of("gpu") is GROUPS[1]
    assert queue.group_of("pods") is None


def test_a_selector_without_expressions_matches_every_namespace() -> None:
    assert Selector().matches({})


@pytest.mark.parametrize(("labels", "matches"), [({"team": "a"}, True), ({"team": "b"}, False), ({}, False)])
def test_every_expression_of_a_selector_has_to_hold(labels: dict[str, str], matches: bool) -> None:
    selector = Selector((Requirement("team", "In", ("a", "c")), Requirement("off", "DoesNotExist")))
    assert selector.matches(labels) is matches
    assert not selector.matches({**labels, "off": ""})


def test_a_local_queue_goes_by_namespace_and_name() -> None:
    assert LocalQueue("team", "main", "q").key == "team/main"


def test_preempting_while_borrowing_is_forbidden_unless_a_policy_allows_it() -> None:
    assert not BorrowWithinCohort().allowed
    assert BorrowWithinCohort("LowerPriority").allowed
