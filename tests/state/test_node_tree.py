"""Trees over node columns: paths and distances where a listed tree skips levels."""

from __future__ import annotations

from closeknit.model.node import Node
from closeknit.model.topology import ListedTopology, Topology
from closeknit.state.node_tree import NodeTree, tree_over
from closeknit.state.table import NodeTable

UNEVEN = ListedTopology(
    "hypernodes",
    ("tier-3", "tier-2", "tier-1"),
    {"a1": ("top", "pod", "rack-a"), "b1": ("top", "rack-b", "rack-b"), "b2": ("top", "rack-b", "rack-b"),
     "c1": ("top", None, None)},
)  # fmt: skip
"""top ─┬ pod ─ rack-a ─ a1;  ├ rack-b ─ b1, b2;  └ c1"""


def over(topology: Topology, labels: dict[str, dict[str, str]]) -> NodeTree:
    return tree_over(NodeTable.of(Node(name, own, {}) for name, own in labels.items()), topology)


def distance(tree: NodeTree, one: str, other: str, names: list[str]) -> int:
    places = [int(tree.place[names.index(name)]) for name in (one, other)]
    return tree.edges(len(tree.levels), places[0], len(tree.levels), places[1])


def test_distances_are_edges_of_the_listed_tree_and_not_of_its_levels() -> None:
    names = ["a1", "b1", "b2", "c1"]
    tree = over(UNEVEN, {name: {} for name in names})
    found = {pair: distance(tree, *pair, names) for pair in (("b1", "b2"), ("a1", "b1"), ("a1", "c1"), ("b1", "c1"))}
    assert found == {("b1", "b2"): 2, ("a1", "b1"): 5, ("a1", "c1"): 4, ("b1", "c1"): 3}


def test_a_path_names_each_domain_once() -> None:
    tree = over(UNEVEN, {name: {} for name in ("a1", "b1", "b2", "c1")})
    lowest = len(tree.levels) - 1
    paths = [tree.path(lowest, domain) for domain in range(len(tree.values[lowest]))]
    assert paths == [("top", "pod", "rack-a"), ("top", "rack-b"), ("top",)]


def test_a_rack_with_the_name_of_its_zone_is_another_domain() -> None:
    tree = over(Topology("net", ("zone", "rack")), {"n1": {"zone": "a", "rack": "a"}, "n2": {"zone": "a", "rack": "b"}})
    assert tree.path(1, 0) == ("a", "a")
    assert tree.edges(2, 0, 2, 1) == 4
