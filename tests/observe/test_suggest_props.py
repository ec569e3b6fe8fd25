"""Properties of a suggestion for arbitrary node labels."""

from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from closeknit.model.node import Node
from closeknit.model.topology import HOSTNAME
from closeknit.observe.suggest import suggest
from closeknit.state.table import NodeTable

KEYS = (
    "topology.kubernetes.io/zone",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "example.com/rack",
    "nvidia.com/gpu.clique",
    "closeknit.dev/pool",
    HOSTNAME,
)

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["a", "b", "c", ""]))
clusters = st.lists(labels, max_size=9).map(
    lambda all_labels: [Node(f"n{row}", given, {}) for row, given in enumerate(all_labels)]
)
trees = st.tuples(st.permutations(KEYS[:1] + KEYS[3:5]), st.lists(st.integers(0, 26), min_size=1, max_size=12))


@given(clusters, st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_matter(nodes: list[Node], random: Random) -> None:
    shuffled = random.sample(nodes, len(nodes))
    assert suggest(NodeTable.of(shuffled)) == suggest(NodeTable.of(nodes))


@given(clusters)
def test_a_refusal_has_a_reason_and_a_proposal_has_a_flavor(nodes: list[Node]) -> None:
    suggestion = suggest(NodeTable.of(nodes))
    if suggestion.levels:
        assert suggestion.node_labels
        assert HOSTNAME not in suggestion.levels[:-1]
        assert len(set(suggestion.levels)) == len(suggestion.levels)
    else:
        assert suggestion.problems


@given(trees)
def test_labels_that_nest_are_never_refused_and_stay_in_order(tree: tuple[list[str], list[int]]) -> None:
    keys, places = tree
    nodes = [
        Node(
            f"n{row}",
            {HOSTNAME: f"n{row}", **{key: str(place // 3 ** (2 - depth)) for depth, key in enumerate(keys)}},
            {},
        )
        for row, place in enumerate(places)
    ]
    suggestion = suggest(NodeTable.of(nodes))
    assert suggestion.levels[-1] == HOSTNAME
    counts = [level.domains for level in suggestion.picture]
    assert counts == sorted(set(counts))
    inner = suggestion.levels[:-1]
    assert [keys.index(key) for key in inner] == sorted(keys.index(key) for key in inner)


@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=9))
def test_exactly_labels_that_cross_are_refused(values: list[tuple[str, str, str]]) -> None:
    keys = ("topology.kubernetes.io/zone", "example.com/rack", "nvidia.com/gpu.clique")
    nodes = [
        Node(f"n{row}", {HOSTNAME: f"n{row}", **dict(zip(keys, of, strict=True))}, {}) for row, of in enumerate(values)
    ]
    crossing = any(
        not _lies_in(values, one, other) and not _lies_in(values, other, one)
        for one, other in combinations(range(3), 2)
    )
    assert (suggest(NodeTable.of(nodes)).levels == ()) == crossing


def _lies_in(values: list[tuple[str, str, str]], fine: int, coarse: int) -> bool:
    """Whether each value of one label occurs with one value of the other."""
    return len({(of[fine], of[coarse]) for of in values}) == len({of[fine] for of in values})
