"""A topology is an ordered list of node-label keys, coarse to fine: its levels.

A domain is the set of nodes that share the values of levels 0..k; a leaf is a domain of the last level. Several rules
depend on whether the last level is the host.
"""

from __future__ import annotations

from dataclasses import dataclass

HOSTNAME = "kubernetes.io/hostname"

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

    def level(self, key: str) -> int | None:
        """The index of a level by its key; None if this topology has no such level."""
        return self.levels.index(key) if key in self.levels else None
