"""HyperNodes as a tree: tiers as levels, members by name, expression and label, and every mistake in them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from closeknit.model.topology import ListedTopology
from dialects.objects import Raw, named, read, said

ROOT = "<cluster-top-hypernode>"


def exact(kind: str, *names: str) -> list[Raw]:
    return [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in names]


def hyper_node(name: str, tier: int, *members: Raw, **more: str) -> Raw:
    spec = {"tier": tier, "members": list(members), **more}
    return named("topology.volcano.sh/v1alpha1", "HyperNode", name, spec)


def tiers(*objects: Raw, nodes: Mapping[str, Mapping[str, str]] | list[str]) -> ListedTopology:
    found = read(*objects, nodes=nodes)
    assert said(found) == []
    topology = found.topologies["hypernodes"]
    assert isinstance(topology, ListedTopology)
    return topology


S0, S1 = hyper_node("s0", 1, *exact("Node", "n1", "n2")), hyper_node("s1", 1, *exact("Node", "n3"))
S2 = hyper_node("s2", 2, *exact("HyperNode", "s0", "s1"))
NODES = ["n1", "n2", "n3"]


def test_tiers_are_levels_below_an_implicit_root() -> None:
    found = tiers(S0, S1, S2, nodes=NODES)
    assert found.levels == ("tier-3", "tier-2", "tier-1")
    assert found.paths == {"n1": (ROOT, "s2", "s0"), "n2": (ROOT, "s2", "s0"), "n3": (ROOT, "s2", "s1")}


def test_a_node_in_no_hyper_node_is_below_the_root_alone() -> None:
    assert tiers(S1, nodes=["n3", "n4"]).paths["n4"] == (ROOT, None)


def test_without_hyper_nodes_the_root_has_tier_1() -> None:
    found = tiers(named("scheduling.volcano.sh/v1beta1", "PodGroup", "g", {"minMember": 0}), nodes=["n1"])
    assert (found.levels, dict(found.paths)) == (("tier-1",), {"n1": (ROOT,)})


def test_the_root_is_at_least_of_tier_1() -> None:
    assert tiers(hyper_node("s", 0, *exact("Node", "n1")), nodes=["n1"]).levels == ("tier-1", "tier-0")


def test_a_node_that_hangs_at_tier_2_has_no_domain_at_tier_1() -> None:
    wide = hyper_node("wide", 2, *exact("HyperNode", "s1"), *exact("Node", "n9"))
    found = tiers(S1, wide, nodes=["n3", "n9"])
    assert found.paths == {"n3": (ROOT, "wide", "s1"), "n9": (ROOT, "wide", None)}


def test_a_branch_that_skips_a_tier_counts_there_with_its_lower_hyper_node() -> None:
    """A HyperNode of tier 1 is one of tier at most 2."""
    top = hyper_node("top", 3, *exact("HyperNode", "s2", "s9"))
    found = tiers(S0, S1, S2, hyper_node("s9", 1, *exact("Node", "n9")), top, nodes=[*NODES, "n9"])
    assert found.levels == ("tier-4", "tier-3", "tier-2", "tier-1")
    assert found.paths["n9"] == (ROOT, "top", "s9", "s9")
    assert found.paths["n1"] == (ROOT, "top", "s2", "s0")


def test_members_are_selected_by_expression_and_by_label() -> None:
    by_name = hyper_node("a", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "^a-[0-9]+$"}}})
    expression = {"key": "rack", "operator": "In", "values": ["b"]}
    by_label = hyper_node("b", 1, {"type": "Node", "selector": {"labelMatch": {"matchExpressions": [expression]}}})
    above = hyper_node("all", 2, {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "^[ab]$"}}})
    found = tiers(by_name, by_label, above, nodes={"a-1": {}, "a-x": {}, "x": {"rack": "b"}, "y": {"rack": "c"}})
    assert {node: path[1:] for node, path in found.paths.items()} == {
        "a-1": ("all", "a"),
        "a-x": (None, None),
        "x": ("all", "b"),
        "y": (None, None),
    }


def test_a_tier_has_a_name_too() -> None:
    named_tier = hyper_node("s0", 1, *exact("Node", "n1"), tierName="rack")
    assert tiers(named_tier, nodes=["n1"]).names == {"rack": "tier-1"}


def test_while_the_nodes_are_not_known_the_tiers_are() -> None:
    found = read(S0, S1, S2, nodes=None)
    assert said(found) == []
    topology = found.topologies["hypernodes"]
    assert isinstance(topology, ListedTopology)
    assert (topology.levels, dict(topology.paths)) == (("tier-3", "tier-2", "tier-1"), {})
    assert said(read(S0, hyper_node("x", 1, *exact("HyperNode", "s0")), nodes=None)) != []


MEMBER = "spec.members[0]"


@pytest.mark.parametrize(
    ("objects", "mistakes"),
    [
        pytest.param(
            [S0, hyper_node("s1", 1, *exact("HyperNode", "s0"))],
            [f"HyperNode s1: {MEMBER}: s0 of tier 1 is a member of a HyperNode of tier 1; "
             "a HyperNode needs a higher tier than its members"],
            id="equal tiers",
        ),
        pytest.param(
            [S0, hyper_node("low", 0, *exact("HyperNode", "s0"))],
            [f"HyperNode low: {MEMBER}: s0 of tier 1 is a member of a HyperNode of tier 0; "
             "a HyperNode needs a higher tier than its members"],
            id="a lower tier above",
        ),
        pytest.param(
            [S0, S1, S2, hyper_node("other", 2, *exact("HyperNode", "s0"))],
            [f"HyperNode other: {MEMBER}: HyperNode s0 is a member of s2 as well; "
             "remove it from one of the two: a HyperNode has one above it"],
            id="two parents",
        ),
        pytest.param(
            [hyper_node("a", 1, *exact("HyperNode", "b")), hyper_node("b", 2, *exact("HyperNode", "a"))],
            ["HyperNode a: spec.members: HyperNode a is a member of itself: a in b in a; "
             "remove one of these memberships"],
            id="a cycle",
        ),
        pytest.param(
            [hyper_node("a", 1, *exact("HyperNode", "a"))],
            ["HyperNode a: spec.members: HyperNode a is a member of itself: a in a; remove one of these memberships"],
            id="itself",
        ),
        pytest.param(
            [hyper_node("s2", 2, *exact("HyperNode", "s00")), S0],
            [f"HyperNode s2: {MEMBER}.selector.exactMatch.name: there is no HyperNode s00; "
             "did you mean s0? correct the name, or remove the member"],
            id="a missing HyperNode",
        ),
        pytest.param(
            [hyper_node("s0", 1, *exact("Node", "n7"))],
            [f"HyperNode s0: {MEMBER}.selector.exactMatch.name: there is no Node n7; "
             "correct the name, or remove the member"],
            id="a missing node",
        ),
        pytest.param(
            [S0, hyper_node("s1", 1, *exact("Node", "n2"))],
            [f"HyperNode s1: {MEMBER}: node n2 is in HyperNode s0 as well; select it in one of the two"],
            id="a node in two leaves",
        ),
        pytest.param(
            [hyper_node("s0", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "n("}}})],
            [f"HyperNode s0: {MEMBER}.selector.regexMatch.pattern: is not a regular expression that can be used: "
             "it lacks a closing parenthesis; correct it, or list the members by exactMatch"],
            id="a bad expression",
        ),
        pytest.param(
            [hyper_node("s0", 1, tierName="rack"), hyper_node("s1", 2, tierName="rack")],
            ["HyperNode s1: spec.tierName: rack names tier 1 elsewhere, and tier 2 here; use one name for each tier"],
            id="one name for two tiers",
        ),
        pytest.param(
            [S0, S0],
            ["HyperNode s0: metadata.name: is the name of another HyperNode too; rename or remove one of the two"],
            id="a duplicate",
        ),
        pytest.param(
            [hyper_node("s0", 1, {"type": "Node", "selector": {"regexMatch": {}}},
                        {"type": "Node", "selector": {"exactMatch": {"name": ""}}})],
            [f"HyperNode s0: {MEMBER}.selector.regexMatch.pattern: is missing; give a regular expression",
             "HyperNode s0: spec.members[1].selector.exactMatch.name: is missing; name the member"],
            id="an empty selector",
        ),
        pytest.param(
            [{**S0, "apiVersion": "topology.volcano.sh/v1"}],
            ['HyperNode s0: apiVersion: is "topology.volcano.sh/v1", which is not read; '
             "use topology.volcano.sh/v1alpha1"],
            id="another version",
        ),
        pytest.param(
            [hyper_node("s0", 1, {"type": "Nodes", "selector": {}})],
            [f"HyperNode s0: {MEMBER}.type: is Nodes; use one of: Node, HyperNode"],
            id="an unknown kind of member",
        ),
        pytest.param(
            [hyper_node("s0", 1, {"type": "Node", "selector": {"exactMatch": {"name": "n1"}, "regexMatch": {}}})],
            [f"HyperNode s0: {MEMBER}.selector: has exactMatch and regexMatch; "
             "give one of: exactMatch, regexMatch, labelMatch"],
            id="two selectors",
        ),
        pytest.param(
            [hyper_node("s0", 2, {"type": "HyperNode", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}}})],
            [f"HyperNode s0: {MEMBER}.selector.labelMatch: selects nodes only; "
             "select HyperNodes by exactMatch or regexMatch"],
            id="HyperNodes by label",
        ),
        pytest.param(
            [named("topology.volcano.sh/v1alpha1", "HyperNode", "s0", {"teir": 1})],
            ["HyperNode s0: spec.teir: is not a known field; did you mean tier?",
             "HyperNode s0: spec.tier: is missing; give its tier, a whole number: 1 is closest"],
            id="a misspelt field",
        ),
    ],
)  # fmt: skip
def test_a_tree_with_a_mistake_is_not_used(objects: list[Raw], mistakes: list[str]) -> None:
    tier = {"mode": "soft"}
    bound = named("scheduling.volcano.sh/v1beta1", "PodGroup", "bound", {"minMember": 1, "networkTopology": tier})
    free = named("scheduling.volcano.sh/v1beta1", "PodGroup", "free", {"minMember": 1})
    found = read(*objects, bound, free, nodes=NODES)
    assert said(found) == mistakes
    assert (dict(found.topologies), [gang.name for gang in found.gangs]) == ({}, ["free"])
