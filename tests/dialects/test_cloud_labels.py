"""Which labels are recognised, and in which order."""

from __future__ import annotations

import random

import pytest

from closeknit.dialects.cloud_labels import FAMILIES, WORDS, Family, is_written_by_cloud, known, pool_keys, recognise
from closeknit.model.topology import HOSTNAME


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_known_from_coarse_to_fine(family: Family) -> None:
    shuffled = random.Random(7).sample(family.keys, len(family.keys))
    assert [label.key for label in known(shuffled)] == list(family.keys)
    assert {label.family for label in known(shuffled)} <= {family.name}


def test_no_key_is_in_two_families() -> None:
    keys = [key for family in FAMILIES for key in family.keys]
    assert len(set(keys)) == len(keys)


def test_the_highest_tier_of_topograph_is_the_top() -> None:
    tiers = [f"fabric.topograph.run/tier-{tier}" for tier in (0, 10, 2, 1)]
    assert [label.key.rpartition("-")[2] for label in known(tiers)] == ["10", "2", "1", "0"]


@pytest.mark.parametrize(
    "keys",
    [
        ["example.com/datacenter", "example.com/block", "example.com/subblock", "example.com/rack"],
        ["cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"],
        ["a.example/topology-block", "a.example/topology-sub-block", "b.example/rack"],
        ["network.topology.nvidia.com/datacenter", "network.topology.nvidia.com/block"],
    ],
)
def test_labels_named_by_hand_are_ordered_by_their_last_word(keys: list[str]) -> None:
    assert [label.key for label in known(reversed(keys))] == keys
    assert {label.family for label in known(keys)} == {WORDS}


@pytest.mark.parametrize(
    "key",
    [
        "example.com/tracks",
        "example.com/racks",
        "block.example.com/size",
        "example.com/roadblock",
        "example.com/team",
    ],
)
def test_a_level_word_inside_another_word_does_not_count(key: str) -> None:
    assert recognise(key) is None


def test_a_known_writer_takes_precedence_over_the_last_word() -> None:
    label = recognise("node.coreweave.cloud/rack")
    assert label is not None
    assert label.family == "CoreWeave"


def test_only_hosts_have_names_of_their_own() -> None:
    owners = [key for family in FAMILIES for key in family.keys if (label := recognise(key)) and label.own_name]
    assert owners == ["cloud.google.com/gce-topology-host", HOSTNAME]


def test_the_host_comes_last() -> None:
    assert known([HOSTNAME, "nvidia.com/gpu.clique", "example.com/rack"])[-1].key == HOSTNAME


def test_a_pool_label_is_preferred_to_the_kind_of_node() -> None:
    keys = [
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "example.com/spool",
        "cloud.provider.com/node-group",
        "cloud.google.com/gke-nodepool",
        "closeknit.dev/pool",
    ]
    assert pool_keys(keys) == [
        "closeknit.dev/pool",
        "cloud.google.com/gke-nodepool",
        "cloud.provider.com/node-group",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
    ]


@pytest.mark.parametrize(
    ("key", "by_cloud"),
    [
        ("cloud.google.com/gce-topology-block", True),
        ("topology.k8s.aws/network-node-layer-1", True),
        ("oci.oraclecloud.com/rdma.hpc_island_id", True),
        ("ib.coreweave.cloud/fabric", True),
        ("fabric.topograph.run/tier-1", True),
        ("nvidia.com/gpu.clique", True),
        ("network.topology.nvidia.com/leaf", True),
        ("example.com/rack", False),
        ("notnvidia.com/rack", False),
        ("rack", False),
    ],
)
def test_labels_of_clouds_are_distinguished_from_hand_made_ones(key: str, by_cloud: bool) -> None:
    assert is_written_by_cloud(key) == by_cloud
