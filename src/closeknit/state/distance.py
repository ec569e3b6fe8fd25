"""Distances in a tree: nodes and domains by the names that people use for them, and the edges between two of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.topology import HOSTNAME, Path
from .node_tree import ROOT, NodeTree


@dataclass(frozen=True, slots=True)
class Spot:
    """A domain of a level, or a single node, whose level is one below the last; `path` is its name in full."""

    level: int
    at: int
    path: Path


class NamedSpots:
    """Finds nodes by name, and domains by value or by the end of their path: b1, or z2/b1 where two zones have a b1."""

    def __init__(self, tree: NodeTree, names: list[str]) -> None:
        self.tree = tree
        self._found: dict[str, list[Spot]] = {}
        levels = range(len(tree.levels))
        for level in levels:
            for domain, value in enumerate(tree.values[level]):
                if tree.real[level][domain]:
                    self._found.setdefault(value, []).append(Spot(level, domain, tree.path(level, domain)))
        for place, row in enumerate(tree.rows.tolist()):
            spot = self._node(place, names[row])
            if spot not in self._found.setdefault(names[row], []):
                self._found[names[row]].append(spot)

    def _node(self, place: int, name: str) -> Spot:
        """The node; where the last level is its hostname alone, that domain, so that it is not counted twice."""
        last = len(self.tree.levels) - 1
        if last >= 0 and self.tree.levels[last] == HOSTNAME:
            domain = int(self.tree.domain[last][place])
            low, high = self.tree.range_of(last, domain)
            if high - low == 1:
                return Spot(last, domain, self.tree.path(last, domain))
        above = () if last < 0 else self.tree.path(last, int(self.tree.domain[last][place]))
        return Spot(last + 1, place, (*above, name))

    @property
    def names(self) -> list[str]:
        return list(self._found)

    def find(self, name: str) -> list[Spot]:
        """All that a name may mean; of the equal values of nested levels, each is meant."""
        *above, last = name.split("/")
        found = self._found.get(last, ())
        return [one for one in found if one.path[len(one.path) - 1 - len(above) : -1] == tuple(above)]

    def edges(self, one: Spot, other: Spot) -> int:
        return self.tree.edges(one.level, one.at, other.level, other.at)

    def common(self, one: Spot, other: Spot) -> Path:
        """The smallest domain that holds both; empty for the whole tree."""
        low, high = sorted((self._first(one), self._first(other)))
        level = min(self.tree.common(low, high + 1), one.level, other.level)
        return () if level == ROOT else self.tree.path(level, int(self.tree.domain[level][low]))

    def _first(self, spot: Spot) -> int:
        return spot.at if spot.level == len(self.tree.levels) else self.tree.range_of(spot.level, spot.at)[0]
