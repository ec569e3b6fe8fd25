"""`closeknit tree` of topologies from files: Topologies, HyperNodes, and distances in them."""

from __future__ import annotations

import json

import pytest

from .clusters import ELEVEN, RACK, TWELVE, ZONE, Raw, hyper_node, kai_job, node, nodes, topology
from .conftest import Run


@pytest.mark.parametrize(
    ("one", "other", "edges"),
    [("NC1", "NC2", 2), ("RB1", "NA1", 5), ("NA1", "RB1", 5), ("NA1", "NA1", 0), ("NA1", "RA1", 1), ("ZA", "ZB", 2)],
)
def test_the_distance_is_the_number_of_edges_in_the_twelve_node_tree(
    run: Run, one: str, other: str, edges: int
) -> None:
    ran = run("tree", [topology()], "--nodes", nodes(TWELVE), "--distance", one, other, "-o", "json")
    assert [found["edges"] for found in json.loads(ran.out)["distances"]] == [edges]


def test_a_topology_without_hostnames_has_the_same_distances(run: Run) -> None:
    ran = run("tree", [topology("short", ZONE, RACK)], "--nodes", nodes(TWELVE), "--distance", "NC1", "NC2")
    assert ran.out == "NC1 to NC2: 2 edges in topology short, both in ZC/RC1\n"


def test_distances_are_given_for_each_topology_or_for_the_one_named(run: Run) -> None:
    both = [topology(), topology("flat", RACK)]
    ran = run("tree", both, "--nodes", nodes(TWELVE), "--distance", "NA1", "NB1")
    assert ran.out.splitlines() == [
        "NA1 to NB1: 6 edges in topology network, in different top-level domains",
        "NA1 to NB1: 4 edges in topology flat, in different top-level domains",
    ]
    one = run("tree", both, "--nodes", nodes(TWELVE), "--topology", "flat", "--distance", "NA1", "NB1")
    assert one.out.splitlines() == ["NA1 to NB1: 4 edges in topology flat, in different top-level domains"]


def test_an_unknown_name_gets_the_nearest_one(run: Run) -> None:
    ran = run("tree", [topology()], "--nodes", nodes(TWELVE), "--distance", "NA1", "RB11")
    assert ran.code == 2
    assert 'no node and no domain is named "RB11"; did you mean RB1?' in ran.err
    missing = run("tree", [topology()], "--nodes", nodes(TWELVE), "--topology", "netwrk", "--distance", "NA1", "NA2")
    assert 'no file and no topology "netwrk"; did you mean network?' in missing.err


def test_a_name_of_two_domains_is_refused_with_their_paths(run: Run) -> None:
    same = [node("n1", 1, {ZONE: "z1", RACK: "r"}), node("n2", 1, {ZONE: "z2", RACK: "r"})]
    ran = run("tree", [topology()], "--nodes", same, "--distance", "r", "n2")
    assert "r is the name of 2 domains of topology network; use one of: z1/r, z2/r" in ran.err
    full = run("tree", [topology()], "--nodes", same, "--distance", "z2/r", "n2")
    assert full.out == "z2/r to n2: 1 edge in topology network, both in z2/r\n"


def spines() -> list[Raw]:
    """Two leaves below a spine."""
    return [
        hyper_node("s0", 1, "a1-1", "a1-2"),
        hyper_node("s1", 1, "b1-1"),
        hyper_node("top", 2, "s0", "s1", kind="HyperNode"),
    ]


def test_hyper_nodes_are_shown_as_a_tree(run: Run) -> None:
    ran = run("tree", spines(), "--nodes", nodes(ELEVEN), "--level", "tier-1")
    assert ran.code == 0
    assert "│  ├─ s0" in ran.out
    assert "<cluster-top-hypernode>" in ran.out


def test_distances_in_a_tree_of_hyper_nodes_skip_tiers_that_are_not_there(run: Run) -> None:
    ran = run("tree", spines(), "--nodes", nodes(ELEVEN), "--distance", "a1-1", "b1-1")
    assert ran.out == "a1-1 to b1-1: 4 edges in topology hypernodes, both in <cluster-top-hypernode>/top\n"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ([hyper_node("s0", 1, "a1-1"), hyper_node("s1", 1, "a1-1")], "node a1-1 is in HyperNode s0 as well"),
        ([hyper_node("s0", 1, "nothing")], "there is no Node nothing"),
        (
            [hyper_node("s0", 1, "a1-1"), *(hyper_node(name, 2, "s0", kind="HyperNode") for name in ("t0", "t1"))],
            "HyperNode s0 is a member of t0 as well",
        ),
        ([hyper_node("s0", 1, "s1", kind="HyperNode"), hyper_node("s1", 2, "s0", kind="HyperNode")], "of itself"),
    ],
)
def test_a_broken_tree_of_hyper_nodes_is_reported_and_the_others_are_shown(
    run: Run, broken: list[Raw], words: str
) -> None:
    ran = run("tree", [*broken, topology()], "--nodes", nodes(ELEVEN), "--level", "zone")
    assert ran.code == 2
    assert words in ran.err
    assert "f1.yaml:" in ran.err
    assert "spec.members" in ran.err
    assert "zone-a" in ran.out
    assert "hypernode" not in ran.out


def test_a_level_of_one_topology_is_used_where_it_is_and_refused_if_none_has_it(run: Run) -> None:
    both = [topology(), *spines()]
    ran = run("tree", both, "--nodes", nodes(ELEVEN), "--level", "tier-1")
    assert ran.code == 0
    assert "s0" in ran.out
    assert "zone-a" in ran.out
    wrong = run("tree", both, "--nodes", nodes(ELEVEN), "--level", "row")
    assert wrong.code == 2
    assert f"known: {ZONE}, {RACK}, kubernetes.io/hostname, tier-3, tier-2, tier-1, metadata.name" in wrong.err


def test_the_level_of_hosts_keeps_the_key_that_the_topology_gives_it(run: Run) -> None:
    ran = run("tree", [topology()], "--nodes", nodes(ELEVEN), "--level", "hostname", "-o", "json")
    assert json.loads(ran.out)["levels"] == [ZONE, RACK, "kubernetes.io/hostname"]


def test_the_topology_that_is_suggested_for_kai_is_one_that_its_jobs_can_name(run: Run) -> None:
    ran = run("topology", "suggest", "--nodes", nodes(ELEVEN), "--for", "kai", "--name", "network", "-o", "json")
    (made,) = json.loads(ran.out)["manifests"]
    assert made["apiVersion"] == "kai.scheduler/v1alpha1"
    placed = run("place", [made, kai_job("train", 3, required=ZONE)], "--nodes", nodes(ELEVEN), "-o", "json")
    assert json.loads(placed.out)["groups"][0]["domain"] == ["zone-a"]


def test_nothing_is_said_about_flavors_to_users_of_kai(run: Run) -> None:
    ran = run("topology", "suggest", "--nodes", nodes(ELEVEN), "--for", "kai")
    assert "flavor" not in ran.out
    assert "Proposed," in ran.out
    assert "flavor" in run("topology", "suggest", "--nodes", nodes(ELEVEN)).out
