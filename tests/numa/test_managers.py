"""The Topology Manager configuration that a report gives."""

from __future__ import annotations

import pytest

from closeknit.model.numa import TopologyManager
from closeknit.numa.managers import effective_manager


def test_without_a_word_nothing_is_aligned() -> None:
    assert effective_manager([], []) == TopologyManager("none", "container", 8)


@pytest.mark.parametrize(
    ("word", "policy", "scope"),
    [
        ("SingleNUMANodePodLevel", "single-numa-node", "pod"),
        ("SingleNUMANodeContainerLevel", "single-numa-node", "container"),
        ("BestEffortPodLevel", "best-effort", "pod"),
        ("RestrictedContainerLevel", "restricted", "container"),
        ("SingleNUMANode", "none", "container"),
        ("Restricted", "none", "container"),
        ("single-numa-node", "none", "container"),
    ],
)
def test_a_legacy_policy_counts_with_its_level_only(word: str, policy: str, scope: str) -> None:
    found = effective_manager([word, "BestEffortPodLevel"], [])
    assert (found.policy, found.scope) == (policy, scope)


def test_attributes_override_the_legacy_policy_one_by_one() -> None:
    found = effective_manager(["SingleNUMANodePodLevel"], [("topologyManagerPolicy", "restricted")])
    assert (found.policy, found.scope) == ("restricted", "pod")


def test_the_last_valid_attribute_of_a_name_counts() -> None:
    given = [("topologyManagerScope", "pod"), ("topologyManagerScope", "container"), ("topologyManagerScope", "Pod")]
    assert effective_manager([], given).scope == "container"


@pytest.mark.parametrize(
    ("value", "most"), [("2", 2), ("1", 8), ("0", 8), ("-3", 8), ("x", 8), ("16", 16), ("1025", 1024), ("+4", 4)]
)
def test_the_maximum_of_zones_is_at_least_two_and_at_most_1024(value: str, most: int) -> None:
    assert effective_manager([], [("topologyManagerMaxNUMANodes", value)]).max_zones == most


def test_options_are_kept_under_the_kubelets_names_and_others_are_unknown() -> None:
    found = effective_manager([], [("topologyManagerOptionPreferClosestNumaNodes", "true")])
    assert found.option("prefer-closest-numa-nodes") == "true"
    assert found.option("max-allowable-numa-nodes") is None
