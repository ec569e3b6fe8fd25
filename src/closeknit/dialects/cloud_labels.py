"""Node labels that describe a node's position in the topology, as clouds and discovery tools set them.

A family is the set of labels that one tool writes, coarse to fine, so inside a family the order of levels is known.
The order between families has to be derived from the nodes, which the caller has. Hand-made labels are recognised by
their last word (`example.com/topology-rack`), and those words have an order too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..model.topology import HOSTNAME


class Family(NamedTuple):
    name: str
    keys: tuple[str, ...]


class Label(NamedTuple):
    """A known label. `rank` orders families for ties, `depth` grows from coarse to fine inside the family.

    `own_name`: the value alone is unique in the cluster. Values of other labels are unique only together with the
    levels above: rack "r1" may exist in every block.
    """

    rank: int
    depth: int
    key: str
    family: str
    own_name: bool = False


ZONES = "Kubernetes zones"
TIERS = "Topograph"
WORDS = "block/rack labels"
HOST = "hostname"

FAMILIES = (
    Family(ZONES, ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")),
    Family(
        "GKE",
        (
            "cloud.google.com/gce-topology-block",
            "cloud.google.com/gce-topology-subblock",
            "cloud.google.com/gce-topology-host",
        ),
    ),
    Family("AWS", tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3, 4))),
    Family(
        "OCI",
        (
            "oci.oraclecloud.com/rdma.hpc_island_id",
            "oci.oraclecloud.com/rdma.network_block_id",
            "oci.oraclecloud.com/rdma.local_block_id",
        ),
    ),
    Family(
        "CoreWeave",
        (
            "ib.coreweave.cloud/fabric",
            "ib.coreweave.cloud/superpod",
            "ib.coreweave.cloud/leafgroup",
            "node.coreweave.cloud/rack",
        ),
    ),
    Family(TIERS, ()),
    Family(
        "NVIDIA network topology",
        (
            "network.topology.nvidia.com/core",
            "network.topology.nvidia.com/spine",
            "network.topology.nvidia.com/leaf",
        ),
    ),
    Family(WORDS, ()),
    Family(
        "Topograph accelerators",
        ("accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain"),
    ),
    Family("NVIDIA accelerator", ("network.topology.nvidia.com/accelerator",)),
    Family("AWS UltraServer", ("topology.k8s.aws/ultraserver-id",)),
    Family("NVIDIA clique", ("nvidia.com/gpu.clique",)),
    Family(HOST, (HOSTNAME,)),
)
"""In order of precedence: of two labels that partition the nodes equally, the earlier family's comes first."""

OUR_POOL = "closeknit.dev/pool"
NODE_KINDS = (
    "cloud.google.com/gke-accelerator",
    "node.kubernetes.io/instance-type",
    "nvidia.com/gpu.product",
    "kubernetes.io/os",
)
"""Labels that distinguish kinds of nodes if there is no pool label, most specific first."""

_CLOUDS = (
    "cloud.google.com",
    "topology.k8s.aws",
    "oci.oraclecloud.com",
    "coreweave.cloud",
    "topograph.run",
    "nvidia.com",
)
"""Label domains, including their subdomains, that clouds and discovery tools write."""

_OWN_NAMES = {HOSTNAME, "cloud.google.com/gce-topology-host"}
_RANKS = {family.name: rank for rank, family in enumerate(FAMILIES)}
_LISTED = {
    key: Label(rank, depth, key, family.name, key in _OWN_NAMES)
    for rank, family in enumerate(FAMILIES)
    for depth, key in enumerate(family.keys)
}
_TIER = re.compile(r"fabric\.topograph\.run/tier-(\d+)")
_WORD = re.compile(r"(?:^|[-._])(datacenter|block|sub-?block|rack)$")
_DEPTHS = {"datacenter": 0, "block": 1, "subblock": 2, "rack": 3}
_POOL = re.compile(r"(?:^|[-._/])(?:node-?pool|agent-?pool|node-?group|pool)$")


def known(keys: Iterable[str]) -> list[Label]:
    """The recognised label keys, by family and from coarse to fine inside it."""
    return sorted(label for label in map(recognise, keys) if label is not None)


def recognise(key: str) -> Label | None:
    """The topology label that a key stands for; None if it is not recognised."""
    if key in _LISTED:
        return _LISTED[key]
    if tier := _TIER.fullmatch(key):  # tier 0 is the switch at the node
        return Label(_RANKS[TIERS], -int(tier[1]), key, TIERS)
    if word := _WORD.search(key.rpartition("/")[2]):
        return Label(_RANKS[WORDS], _DEPTHS[word[1].replace("-", "")], key, WORDS)
    return None


def is_written_by_cloud(key: str) -> bool:
    """Whether a cloud or a tool writes this label, so that setting it by hand would contradict its owner."""
    domain = key.rpartition("/")[0]
    return any(domain == cloud or domain.endswith(f".{cloud}") for cloud in _CLOUDS)


def pool_keys(keys: Iterable[str]) -> list[str]:
    """The label keys that may identify a pool of nodes, most specific first."""
    present = set(keys)
    pools = sorted((key for key in present if _POOL.search(key)), key=lambda key: (key != OUR_POOL, key))
    return pools + [key for key in NODE_KINDS if key in present]
