"""Fair shares: how much of its cohort's lendable quota a node has borrowed, by its dominant resource.

A share is 1000 times borrowed over lendable, the largest over all resources, divided by the node's weight. A node that
has borrowed nothing has share 0; with weight 0 any borrowing makes the share infinite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import total_ordering

from ..model.quantity import INT64_MAX
from ..model.quota import FlavorResource, Usage, plus
from .tree import QuotaNode

NOTHING: Mapping[FlavorResource, int] = {}


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """`ratio` is unweighted. Infinite shares are above all others and compare by ratio."""

    ratio: float = 0.0
    weight: float = 1.0
    resource: str = ""
    borrowing: bool = False

    @property
    def infinite(self) -> bool:
        return self.weight == 0 and self.ratio > 0

    @property
    def _key(self) -> tuple[bool, float]:
        if self.infinite:
            return True, self.ratio
        return False, self.ratio / self.weight if self.weight else 0.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and self._key == other._key

    def __lt__(self, other: Share) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def rounded(self) -> int:
        """The share as shown in status: rounded up, or the maximum of int64 if infinite."""
        return INT64_MAX if self.infinite else math.ceil(self._key[1])


def share_of(node: QuotaNode, more: Usage = NOTHING) -> Share:
    """The dominant share of a node, as if `more` were in use too."""
    if node.parent is None:
        return Share(weight=node.weight)
    borrowed: dict[str, int] = {}
    for fr, quota in node.subtree.items():
        over = plus(node.usage.get(fr, 0), more.get(fr, 0)) - quota
        if over > 0:
            borrowed[fr.resource] = borrowed.get(fr.resource, 0) + over
    if not borrowed:
        return Share(weight=node.weight)
    ratio, resource = -1.0, ""
    lendable = _lendable(node.parent)
    for name, amount in borrowed.items():
        reach = lendable.get(name, 0)
        if reach <= 0:
            continue
        of_this = amount * 1000 / reach
        if of_this > ratio or (of_this == ratio and name < resource):
            ratio, resource = of_this, name
    return Share(max(ratio, 0.0), node.weight, resource, True)


def _lendable(parent: QuotaNode) -> dict[str, int]:
    """What a cohort can lend its members, by resource; it depends only on quota and is cached."""
    if parent.lendable is None:
        parent.lendable = {}
        for fr in parent.root.subtree:
            reach = plus(parent.lendable.get(fr.resource, 0), parent.potentially_available(fr))
            parent.lendable[fr.resource] = reach
    return parent.lendable
