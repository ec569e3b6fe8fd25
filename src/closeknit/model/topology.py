"""A topology is an ordered list of levels, coarse to fine: node-label keys, or the tiers of an explicit tree.

A domain is the set of nodes that share the values of levels 0..k; a leaf is a domain of the last level. Several rules
depend on whether the last level is the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

HOSTNAME = "kubernetes.io/hostname"
NODE = "metadata.name"
"""The level of single nodes, by name: the lowest level of every topology that groups of pods are placed in."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    name: str
    levels: tuple[str, ...]

    @property
    def lowest(self) -> int:
        return len(self.levels) - 1

    @property
    def ends_at_host(self) -> bool:
        return self.levels[-1] == HOSTNAME

    @property
    def ends_at_node(self) -> bool:
        """Whether a leaf is one node, or the nodes of one hostname."""
        return self.levels[-1] in (HOSTNAME, NODE)

    def down_to_nodes(self) -> Topology:
        """The same topology with single nodes as its lowest level."""
        return self if self.levels[-1:] == (NODE,) else replace(self, levels=(*self.levels, NODE))

    def level(self, key: str) -> int | None:
        """The index of a level by its key; None if this topology has no such level."""
        return self.levels.index(key) if key in self.levels else None


def label_topology(*keys: str) -> Topology:
    """The topology of these node labels alone, for a constraint that names no topology.

    Its name is one that no object can have: label_topology("rack").name == "/rack"
    """
    name = ",".join(keys)
    return Topology(name if "/" in name or "," in name else f"/{name}", keys)


@dataclass(frozen=True, slots=True)
class ListedTopology(Topology):
    """A topology whose domains are listed node by node instead of being read from labels.

    `paths[node]` has the node's domain at each level above NODE, coarse to fine; None where the tree skips that level
    above this node. Such a node has no domain there, so nothing that requires the level can use it. `names` has further
    names of levels: the name of a tier to its level.
    """

    paths: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict, hash=False)
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
