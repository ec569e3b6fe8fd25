"""Which levels are proposed from which labels, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from closeknit.model.node import Node
from closeknit.model.topology import HOSTNAME
from closeknit.observe.suggest import suggest, suggest_from_keys
from closeknit.state.table import MISSING, LabelColumn, NodeTable

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
GKE_BLOCK, GKE_SUBBLOCK, GKE_HOST = (f"cloud.google.com/gce-topology-{part}" for part in ("block", "subblock", "host"))
AWS = [f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3, 4)]
ULTRASERVER = "topology.k8s.aws/ultraserver-id"
OCI = [f"oci.oraclecloud.com/rdma.{part}" for part in ("hpc_island_id", "network_block_id", "local_block_id")]
TIERS = [f"fabric.topograph.run/tier-{tier}" for tier in (2, 1, 0)]
ACCELERATORS = ["accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain"]
NVIDIA = [f"network.topology.nvidia.com/{part}" for part in ("core", "spine", "leaf")]
NVIDIA_ACCELERATOR = "network.topology.nvidia.com/accelerator"
COREWEAVE = [
    "ib.coreweave.cloud/fabric",
    "ib.coreweave.cloud/superpod",
    "ib.coreweave.cloud/leafgroup",
    "node.coreweave.cloud/rack",
]
CLIQUE = "nvidia.com/gpu.clique"
GPU = "nvidia.com/gpu"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"


def table(labels: Sequence[Mapping[str, str]], hostnames: bool = True) -> NodeTable:
    """Nodes n00, n01, … with these labels."""
    nodes = []
    for row, given in enumerate(labels):
        name = f"n{row:02}"
        nodes.append(Node(name, {HOSTNAME: name, **given} if hostnames else given, {}))
    return NodeTable.of(nodes)


def tree(keys: Sequence[str], nodes: int = 32) -> list[dict[str, str]]:
    """A binary tree over the nodes: the first key halves them, the second quarters them, and so on."""
    return [
        {key: f"{key[-4:]}-{row * 2 ** (depth + 1) // nodes}" for depth, key in enumerate(keys)} for row in range(nodes)
    ]


@pytest.mark.parametrize(
    "keys",
    [
        [GKE_BLOCK, GKE_SUBBLOCK, GKE_HOST],
        [REGION, ZONE],
        AWS,
        [*AWS[:3], ULTRASERVER],
        OCI,
        TIERS,
        [*TIERS, *ACCELERATORS[:1]],
        ACCELERATORS,
        NVIDIA,
        [*NVIDIA, NVIDIA_ACCELERATOR],
        COREWEAVE,
        [*COREWEAVE[:3], CLIQUE],
        [CLIQUE],
        ["example.com/datacenter", "example.com/block", "example.com/subblock", "example.com/rack"],
        [BLOCK, RACK],
    ],
    ids=lambda keys: keys[0],
)
def test_each_family_is_proposed_from_coarse_to_fine(keys: list[str]) -> None:
    suggestion = suggest(table(tree(keys)))
    assert suggestion.levels == (*keys, HOSTNAME)
    assert [level.domains for level in suggestion.picture] == [
        *(2 ** (depth + 1) for depth in range(len(keys))),
        32,
    ]
    assert not suggestion.problems
    assert not suggestion.remarks


@pytest.mark.parametrize(
    "keys",
    [
        [ZONE, GKE_BLOCK, CLIQUE, GKE_SUBBLOCK],
        [ZONE, GKE_BLOCK, GKE_SUBBLOCK, GKE_HOST],
        [AWS[0], ULTRASERVER, AWS[1], AWS[2]],
        [RACK, ACCELERATORS[0], ACCELERATORS[1], CLIQUE],
        [BLOCK, ZONE, RACK],
        ["b.example/rack", "a.example/rack"],
    ],
)
def test_families_are_merged_as_the_nodes_nest(keys: list[str]) -> None:
    assert suggest(table(tree(keys))).levels == (*keys, HOSTNAME)


def test_a_value_may_recur_under_another_parent_of_its_family() -> None:
    labels = [{BLOCK: f"b{row // 4}", RACK: f"r{row // 2 % 2}"} for row in range(8)]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (BLOCK, RACK, HOSTNAME)
    assert [(level.domains, level.values) for level in suggestion.picture] == [(2, 2), (4, 2), (8, 8)]
    assert not suggestion.problems


def test_a_recurring_value_is_told_apart_by_its_path_when_families_are_merged() -> None:
    labels = [{BLOCK: f"b{row // 8}", RACK: f"r{row // 4 % 2}", CLIQUE: f"c{row // 2}"} for row in range(16)]
    assert suggest(table(labels)).levels == (BLOCK, RACK, CLIQUE, HOSTNAME)


def test_families_that_cross_are_refused_with_names() -> None:
    labels = [{RACK: f"r{row // 4}", CLIQUE: f"c{row % 2}"} for row in range(8)]
    suggestion = suggest(table(labels))
    assert suggestion.levels == ()
    assert suggestion.manifests("default") == []
    assert suggestion.problems == (
        f'{CLIQUE} "c0" lies in more than one {RACK}: "r0" (node n00), "r1" (node n04); '
        "neither label lies inside the other",
    )
    assert "pass --levels" in suggestion.text
    assert f"{RACK} (2), {CLIQUE} (2), {HOSTNAME} (8)" in suggestion.text


def test_a_contradiction_names_at_most_three_nodes() -> None:
    labels = [{RACK: f"r{row // 4}", CLIQUE: f"c{row % 4}"} for row in range(20)]
    assert suggest(table(labels)).problems[0].count("(node ") == 3


def test_each_two_families_that_cross_are_reported_once() -> None:
    labels = [
        {BLOCK: f"b{row // 8}", RACK: f"r{row // 4}", CLIQUE: f"c{row % 4}", ZONE: f"z{row % 2}"} for row in range(16)
    ]
    problems = suggest(table(labels)).problems
    assert [problem.split(": ")[0] for problem in problems] == [
        f'{BLOCK} "b0" lies in more than one {ZONE}',
        f'{CLIQUE} "c0" lies in more than one {BLOCK}',
    ]


def test_a_recurring_place_is_named_by_its_path() -> None:
    labels = [
        {BLOCK: f"b{row // 8}", RACK: f"r{row // 4 % 2}", CLIQUE: f"c{row // 8 * 2 + row % 2}"} for row in range(16)
    ]
    (problem,) = suggest(table(labels)).problems
    assert f'{CLIQUE} "c0" lies in more than one {RACK}: "b0/r0" (node n00), "b0/r1" (node n04)' in problem


def test_a_host_in_two_racks_is_refused() -> None:
    labels = [{RACK: f"r{row // 4}"} for row in range(8)]
    labels[1][HOSTNAME] = labels[6][HOSTNAME] = "twin"
    suggestion = suggest(table(labels))
    assert suggestion.levels == ()
    (problem,) = suggestion.problems
    assert f'{HOSTNAME} "twin" lies in more than one {RACK}: "r0" (node n01), "r1" (node n06)' in problem
    assert "a host is in one place" in problem


def test_a_physical_host_in_two_subblocks_is_refused_though_the_family_fixes_the_order() -> None:
    labels = [{GKE_BLOCK: f"b{row // 8}", GKE_SUBBLOCK: f"s{row // 4}", GKE_HOST: f"h{row // 2}"} for row in range(16)]
    labels[4][GKE_HOST] = "h0"
    assert f'{GKE_HOST} "h0" lies in more than one {GKE_SUBBLOCK}' in suggest(table(labels)).problems[0]


def test_labels_out_of_place_only_because_others_cross_are_not_blamed() -> None:
    labels = [{**given, "example.com/rack": f"x{row % 3}"} for row, given in enumerate(tree([GKE_BLOCK, CLIQUE, ZONE]))]
    for problem in suggest(table(labels)).problems:
        assert "example.com/rack" in problem


def test_a_label_missing_on_some_nodes_is_proposed_and_reported() -> None:
    labels = tree([GKE_BLOCK, GKE_SUBBLOCK], 8)
    for row in (7, 1, 5):
        del labels[row][GKE_SUBBLOCK]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (GKE_BLOCK, GKE_SUBBLOCK, HOSTNAME)
    assert suggestion.problems == (
        f"{GKE_SUBBLOCK} is missing on 3 of 8 nodes, where nothing will be placed: n01, n05, n07",
    )


def test_of_many_nodes_without_a_label_three_are_named() -> None:
    labels = tree([RACK], 16)
    for row in range(5):
        del labels[row][RACK]
    assert suggest(table(labels)).problems[0].endswith(": n00, n01, n02, …")


def test_an_empty_value_counts_as_missing() -> None:
    labels = tree([RACK, CLIQUE], 8)
    labels[0][CLIQUE] = labels[7][CLIQUE] = ""
    suggestion = suggest(table(labels))
    assert suggestion.levels == (RACK, CLIQUE, HOSTNAME)
    assert f"{CLIQUE} is missing on 2 of 8 nodes" in suggestion.problems[0]


def test_a_label_that_half_the_nodes_lack_is_left_out_with_a_remark() -> None:
    labels = tree([BLOCK, CLIQUE], 8)
    for row in range(4):
        del labels[row][CLIQUE]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (BLOCK, HOSTNAME)
    assert not suggestion.problems
    assert suggestion.remarks[0].startswith(f"{CLIQUE} is left out: only 4 of 8 nodes have it")


def mixed(gpus: int = 24, nodes: int = 64, zones: int = 1) -> NodeTable:
    """The first nodes have GPUs and layers, the rest have neither and lie in two more zones."""
    layers = tree(AWS[:3], gpus)
    return NodeTable.of(
        [
            Node(f"gpu-{row:02}", {HOSTNAME: f"gpu-{row:02}", ZONE: f"z{row % zones}", **layers[row]}, {GPU: 8})
            if row < gpus
            else Node(f"n{row:02}", {HOSTNAME: f"n{row:02}", ZONE: f"y{row % 2}"}, {"cpu": 8, GPU: 0})
            for row in range(nodes)
        ]
    )


def test_where_only_some_nodes_have_accelerators_their_labels_decide() -> None:
    suggestion = suggest(mixed())
    assert suggestion.levels == (*AWS[:3], HOSTNAME)
    assert suggestion.problems == (
        f"{', '.join(AWS[:3])} are missing on 40 of 64 nodes, where nothing will be placed: n24, n25, n26, …",
    )


def test_a_label_that_half_of_the_nodes_with_accelerators_lack_is_left_out() -> None:
    table = mixed()
    table.labels[CLIQUE] = LabelColumn(np.where(np.arange(64) < 12, 0, MISSING).astype(np.int32), ["c"])
    assert [remark for remark in suggest(table).remarks if CLIQUE in remark] == [
        f"{CLIQUE} is left out: only 12 of 24 nodes with accelerators have it; to use it, name the levels "
        "with --levels, or pass --selector with a label that only its nodes have"
    ]


def test_a_zone_that_is_one_on_all_nodes_that_take_part_is_left_out() -> None:
    assert suggest(mixed()).remarks == (f'{ZONE} is left out: it is "z0" on all nodes that have the other levels',)


@pytest.mark.parametrize(
    ("labels", "selector"),
    [
        ([{"pool": "a", RACK: "r"}] * 2 + [{"pool": "b"}] * 2, "pool=a"),
        ([{"team": "x", RACK: "r"}] * 2 + [{"pool": "b"}] * 2, "team=x"),
        ([{"pool": "a", RACK: "r"}, {"pool": "c", RACK: "r"}] + [{"pool": "b"}] * 2, "pool=a"),
    ],
)
def test_the_remark_names_a_label_that_selects_the_nodes(labels: list[dict[str, str]], selector: str) -> None:
    assert (
        suggest(table(labels)).remarks[0].endswith(f"to use it, select only nodes that have it: --selector {selector}")
    )


def test_levels_that_are_wanted_are_proposed_from_the_nodes_that_have_them() -> None:
    labels = [*tree(AWS[:3], 16), *({BLOCK: "b"} for _ in range(20))]
    assert suggest(table(labels)).levels == (BLOCK, HOSTNAME)
    assert suggest(table(labels), [AWS[1]]).levels == (*AWS[:3], HOSTNAME)
    assert suggest(table(labels), [AWS[1], BLOCK]).levels == (BLOCK, HOSTNAME), "no node has both"


def test_levels_that_are_wanted_stay_though_they_add_nothing() -> None:
    labels = [{REGION: "eu", NVIDIA[2]: f"l{row // 4}", RACK: f"r{row // 4}", "cell": "c"} for row in range(8)]
    assert suggest(table(labels)).levels == (NVIDIA[2], HOSTNAME)
    assert suggest(table(labels), [RACK]).levels == (RACK, HOSTNAME)
    assert suggest(table(labels), [RACK, NVIDIA[2]]).levels == (NVIDIA[2], RACK, HOSTNAME)
    assert set(suggest(table(labels), [REGION, "cell"]).levels) == {REGION, "cell", NVIDIA[2], HOSTNAME}


def test_the_deepest_layer_of_aws_may_be_absent_everywhere() -> None:
    assert suggest(table(tree([ZONE, *AWS[:3]]))).levels == (ZONE, *AWS[:3], HOSTNAME)


def test_the_deepest_layer_of_aws_may_be_absent_on_some_nodes() -> None:
    labels = tree(AWS)
    for row in range(8):
        del labels[row][AWS[3]]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (*AWS, HOSTNAME)
    assert f"{AWS[3]} is missing on 8 of 32 nodes" in suggestion.problems[0]


def test_the_only_region_and_zone_are_left_out() -> None:
    labels = [{REGION: "eu", ZONE: "eu-1", **given} for given in tree([BLOCK])]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (BLOCK, HOSTNAME)
    assert suggestion.remarks == (
        f'{REGION} is left out: it is "eu" wherever it is set',
        f'{ZONE} is left out: it is "eu-1" wherever it is set',
    )


def test_the_only_zone_stays_if_nothing_else_is_there() -> None:
    assert suggest(table([{REGION: "eu", ZONE: "eu-1"}] * 2, hostnames=False)).levels == (ZONE,)


def test_the_only_block_stays_for_jobs_may_name_it() -> None:
    assert suggest(table([{BLOCK: "b0", **given} for given in tree([RACK])])).levels == (BLOCK, RACK, HOSTNAME)


def test_a_level_that_groups_as_its_neighbour_does_is_left_out() -> None:
    labels = [{NVIDIA[2]: f"leaf{row // 4}", RACK: f"r{row // 4}"} for row in range(16)]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (NVIDIA[2], HOSTNAME)
    assert suggestion.remarks == (f"{RACK} is left out: it groups the nodes just as {NVIDIA[2]} does",)


def test_a_zone_is_left_out_rather_than_the_block_that_fills_it() -> None:
    labels = [{ZONE: f"z{row // 8}", GKE_BLOCK: f"b{row // 8}", GKE_SUBBLOCK: f"s{row // 4}"} for row in range(16)]
    assert suggest(table(labels)).levels == (GKE_BLOCK, GKE_SUBBLOCK, HOSTNAME)


def test_a_physical_host_of_one_node_is_left_out() -> None:
    labels = [{GKE_BLOCK: f"b{row // 8}", GKE_HOST: f"h{row}"} for row in range(16)]
    suggestion = suggest(table(labels))
    assert suggestion.levels == (GKE_BLOCK, HOSTNAME)
    assert suggestion.remarks == (f"{GKE_HOST} is left out: it groups the nodes just as {HOSTNAME} does",)


def test_where_every_level_is_a_host_only_the_host_remains() -> None:
    assert suggest(table([{ZONE: f"z{row}", RACK: f"r{row}"} for row in range(3)])).levels == (HOSTNAME,)


def test_one_node_has_its_hostname() -> None:
    assert suggest(table([{ZONE: "z", RACK: "r"}])).levels == (HOSTNAME,)


def test_hostnames_alone_are_reported() -> None:
    suggestion = suggest(table([{"team": "a"}, {"team": "b"}]))
    assert suggestion.levels == (HOSTNAME,)
    assert f"only {HOSTNAME} was recognised" in suggestion.text


def test_nodes_without_any_known_label_are_refused() -> None:
    suggestion = suggest(table([{"team": "a"}], hostnames=False))
    assert suggestion.levels == ()
    assert suggestion.problems


def test_no_nodes_are_refused() -> None:
    assert suggest(NodeTable.of([])).levels == ()


def test_labels_that_few_nodes_have_are_refused() -> None:
    suggestion = suggest(table([{RACK: "r"}, {}, {}], hostnames=False))
    assert suggestion.levels == ()
    assert f"{RACK} is left out" in suggestion.problems[0]


def test_levels_that_no_node_has_together_are_refused() -> None:
    keys = [ZONE, BLOCK, CLIQUE]
    labels = tree(keys, 24)
    for row, given in enumerate(labels):
        del given[keys[row % 3]]
    suggestion = suggest(table(labels, hostnames=False))
    assert suggestion.levels == ()
    assert "No node has all of" in suggestion.text
    assert len(suggestion.problems) == 3


def test_without_hostnames_the_finest_label_ends_the_topology() -> None:
    suggestion = suggest(table(tree([BLOCK, RACK], 8), hostnames=False))
    assert suggestion.levels == (BLOCK, RACK)
    assert HOSTNAME in suggestion.problems[0]


def test_nodes_that_share_a_hostname_are_reported() -> None:
    labels = tree([RACK], 8)
    labels[0][HOSTNAME] = labels[1][HOSTNAME] = "twin"
    suggestion = suggest(table(labels))
    assert suggestion.levels == (RACK, HOSTNAME)
    assert suggestion.problems == (f"several nodes share one {HOSTNAME} and would count as one host: n00, n01",)


# The flavor


@pytest.mark.parametrize(
    ("shared", "chosen"),
    [
        (
            {"cloud.google.com/gke-nodepool": "p", "node.kubernetes.io/instance-type": "a3"},
            "cloud.google.com/gke-nodepool",
        ),
        (
            {"node.kubernetes.io/instance-type": "a3", "kubernetes.io/os": "linux"},
            "node.kubernetes.io/instance-type",
        ),
        ({"closeknit.dev/pool": "train", "cloud.provider.com/node-group": "tas"}, "closeknit.dev/pool"),
        ({"kubernetes.io/os": "linux", "team": "a"}, "kubernetes.io/os"),
    ],
)
def test_the_flavor_selects_by_the_most_telling_label_that_all_share(shared: dict[str, str], chosen: str) -> None:
    suggestion = suggest(table([{**shared, **given} for given in tree([RACK])]))
    assert suggestion.node_labels == {chosen: shared[chosen]}
    assert f"{chosen}={shared[chosen]}" in suggestion.told


def test_the_flavor_looks_only_at_nodes_that_have_all_levels() -> None:
    labels = [{"closeknit.dev/pool": "train", **given} for given in tree([RACK], 8)]
    labels[0] = {"closeknit.dev/pool": "other"}
    assert suggest(table(labels)).node_labels == {"closeknit.dev/pool": "train"}


def test_pools_that_differ_do_not_serve() -> None:
    labels = [
        {
            "cloud.google.com/gke-nodepool": f"p{row}",
            "node.kubernetes.io/instance-type": "a3",
            RACK: f"r{row // 2}",
        }
        for row in range(4)
    ]
    assert suggest(table(labels)).node_labels == {"node.kubernetes.io/instance-type": "a3"}


def test_where_nothing_is_shared_labelling_is_advised() -> None:
    suggestion = suggest(table(tree([RACK])))
    assert suggestion.node_labels == {"closeknit.dev/pool": "default"}
    assert f"kubectl label nodes -l {RACK},{HOSTNAME} closeknit.dev/pool=default" in suggestion.told


def test_manifests_are_those_of_kueue() -> None:
    labels = [{"closeknit.dev/pool": "train", **given} for given in tree([RACK])]
    assert suggest(table(labels)).manifests("gpus") == [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": "gpus"},
            "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]},
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "gpus"},
            "spec": {"nodeLabels": {"closeknit.dev/pool": "train"}, "topologyName": "gpus"},
        },
    ]


# Levels that are given


def test_levels_that_are_given_are_taken_as_they_are() -> None:
    labels = [{ZONE: f"z{row // 4}", RACK: f"r{row // 2 % 2}", REGION: "eu"} for row in range(8)]
    assert suggest(table(labels)).levels == ()
    suggestion = suggest_from_keys(table(labels), [REGION, ZONE, RACK, HOSTNAME])
    assert suggestion.levels == (REGION, ZONE, RACK, HOSTNAME)
    assert [level.domains for level in suggestion.picture] == [1, 2, 4, 8]
