"""Reports of the first version."""

from __future__ import annotations

from copy import deepcopy

import pytest

from closeknit.dialects.nrt.reading import read_topology
from closeknit.dialects.nrt.versions import to_v1alpha2

from .objects import Raw, topology, zone

OLD = "topology.node.k8s.io/v1alpha1"


def old(policy: str) -> Raw:
    made = topology(zone("node-0", {"name": "cpu", "capacity": 4, "allocatable": 3}), apiVersion=OLD)
    del made["attributes"]
    return {**made, "topologyPolicies": [policy]}


@pytest.mark.parametrize(
    ("word", "policy", "scope"),
    [
        ("SingleNumaNode", "single-numa-node", "container"),
        ("BestEffort", "best-effort", "container"),
        ("Restricted", "restricted", "container"),
        ("None", "none", "container"),
        ("SingleNUMANodePodLevel", "single-numa-node", "pod"),
    ],
)
def test_the_policy_becomes_an_attribute(word: str, policy: str, scope: str) -> None:
    new = to_v1alpha2(old(word))
    assert "topologyPolicies" not in new
    found = read_topology(new)
    assert (found.manager.policy, found.manager.scope, found.mistakes) == (policy, scope, ())


def test_what_is_allocatable_is_available_where_nothing_else_is_said() -> None:
    assert to_v1alpha2(old("None"))["zones"][0]["resources"] == [
        {"name": "cpu", "capacity": 4, "allocatable": 3, "available": 3}
    ]


def test_an_unknown_policy_stays_where_it_is() -> None:
    new = to_v1alpha2(old("Strict"))
    assert new["topologyPolicies"] == ["Strict"]
    assert "attributes" not in new


def test_the_given_object_does_not_change_and_others_pass_through() -> None:
    given = old("None")
    before = deepcopy(given)
    to_v1alpha2(given)
    assert given == before
    current = topology()
    assert to_v1alpha2(current) is current
