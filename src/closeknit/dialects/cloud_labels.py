"""Node labels that say where a node stands, as clouds and discovery tools write them.

A family is one writer's labels, coarse to fine, so inside a family the order of levels is known. Between families
it is not: that is for whoever has the nodes to find out. Labels named by hand are known by their last word
(`example.com/topology-rack`), and those words have an order too.
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

    `own_name` says that a value names one thing wherever it occurs. Of others only the path from the top does:
    rack "r1" may exist in every block.
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
"""Of two labels that order the nodes alike, the family named first comes first."""

OUR_POOL = "closeknit.dev/pool"
NODE_KINDS = (
    "cloud.google.com/gke-accelerator",
    "node.kubernetes.io/instance-type",
    "nvidia.com/gpu.product",
    "kubernetes.io/os",
)
"""What tells nodes apart where no pool is named, the most telling first."""

_CLOUDS = (
    "cloud.google.com",
    "topology.k8s.aws",
    "oci.oraclecloud.com",
    "coreweave.cloud",
    "topograph.run",
    "nvidia.com",
)
"""Domains, with all below them, whose labels a cloud or a discovery tool writes."""

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
    """The known ones among label keys, by family and coarse to fine inside it."""
    return sorted(label for label in map(recognise, keys) if label is not None)


def recognise(key: str) -> Label | None:
    """What a label key says about place; None if it is not known to say anything."""
    if key in _LISTED:
        return _LISTED[key]
    if tier := _TIER.fullmatch(key):  # tier 0 is the switch at the node
        return Label(_RANKS[TIERS], -int(tier[1]), key, TIERS)
    if word := _WORD.search(key.rpartition("/")[2]):
        return Label(_RANKS[WORDS], _DEPTHS[word[1].replace("-", "")], key, WORDS)
    return None


def is_written_by_cloud(key: str) -> bool:
    """Whether a cloud or a tool writes this label: one written by hand would say what is not so."""
    domain = key.rpartition("/")[0]
    return any(domain == cloud or domain.endswith(f".{cloud}") for cloud in _CLOUDS)


def pool_keys(keys: Iterable[str]) -> list[str]:
    """Those label keys that may tell a pool of nodes from the rest, the most telling first."""
    present = set(keys)
    pools = sorted((key for key in present if _POOL.search(key)), key=lambda key: (key != OUR_POOL, key))
    return pools + [key for key in NODE_KINDS if key in present]
