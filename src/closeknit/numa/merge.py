"""The topology manager's merge: one hint for a container or pod out of the hints of all its resources.

The kubelet takes one hint of every group, intersects their zones, and keeps the best of all these combinations; with
eight zones and three resources that is sixteen million. Its order of preference is total, so only the sets of zones
that some combination yields matter, and `_intersections` finds those group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..model.numa import TopologyPolicy
from .hints import Hint
from .masks import Distances, mask_of, mean_distance

Groups = Sequence[Sequence[Hint]]
Fitness = Callable[[int], tuple[float, ...]]
"""How far a set of zones is from the best one of its kind; the least is best."""


@dataclass(frozen=True, slots=True)
class Merger:
    """A policy on a machine. `closest` prefers near zones to low ones among sets of equal size."""

    policy: TopologyPolicy
    zones: Sequence[int]
    distances: Distances = field(default_factory=dict)
    closest: bool = False

    @property
    def full(self) -> int:
        return mask_of(self.zones)

    def admits(self, hint: Hint) -> bool:
        return self.policy in ("none", "best-effort") or hint.preferred

    def merge(self, groups: Groups) -> Hint:
        """The best hint that satisfies every group."""
        if self.policy == "none":
            return Hint(None, False)
        if self.policy == "single-numa-node":
            best = self._best(single_zone_hints(groups))
            return Hint(None, best.preferred) if best.mask == self.full else best
        return self._best(groups)

    def _best(self, groups: Groups) -> Hint:
        preferred = identical_preferred(groups, self.full)
        if preferred:
            return Hint(min(preferred, key=self.fitness), True)
        aim = widest_of_narrowest(groups)
        masks = _intersections(groups, self.full)
        return Hint(min(masks, key=lambda mask: self.rank(mask, aim)) if masks else self.full, False)

    def better(self, current: Hint | None, candidate: Hint, aim: int) -> bool:
        """Whether the topology manager replaces its current hint by the candidate. `aim` as in `rank`."""
        if not candidate.mask:
            return False
        return current is None or self._order(candidate, aim) < self._order(current, aim)

    def _order(self, hint: Hint, aim: int) -> tuple[float, ...]:
        mask = hint.mask or 0
        return (0, *self.fitness(mask)) if hint.preferred else (1, *self.rank(mask, aim))

    @property
    def fitness(self) -> Fitness:
        if self.closest and self.policy != "single-numa-node":
            return lambda mask: (mask.bit_count(), mean_distance(mask, self.distances), mask)
        return lambda mask: (mask.bit_count(), mask)

    def rank(self, mask: int, aim: int) -> tuple[float, ...]:
        """Sets that are not preferred: first those of `aim` zones, then smaller ones downwards, then larger ones."""
        size = mask.bit_count()
        side = 0 if size == aim else 1 if size < aim else 2
        return (side, -size if side == 1 else size, *self.fitness(mask))


def single_zone_hints(groups: Groups) -> list[list[Hint]]:
    """The hints that the policy single-numa-node can use; a group may become empty."""
    return [
        [one for one in group if one.preferred and (one.mask is None or one.mask.bit_count() == 1)] for group in groups
    ]


def widest_of_narrowest(groups: Groups) -> int:
    """The most zones that a group needs even by its narrowest hint."""
    sizes = ([hint.mask.bit_count() for hint in group if hint.mask is not None] for group in groups)
    return max((min(group) for group in sizes if group), default=0)


def identical_preferred(groups: Groups, full: int) -> set[int]:
    """The sets of zones that every group prefers; the whole machine where no group cares.

    A hint without a mask agrees with every other: [{0}, {1}] and [anywhere] give {0} and {1}.
    """
    common, anywhere = set[int](), True
    for group in groups:
        masks = {hint.mask for hint in group if hint.preferred}
        agreed = {mask for mask in masks if mask is not None and (anywhere or mask in common)}
        common, anywhere = (agreed | common, anywhere) if None in masks else (agreed, False)
    return {mask & full for mask in common if mask & full} | ({full} if anywhere else set())


def _intersections(groups: Groups, full: int) -> set[int]:
    """Every non-empty set of zones that is the intersection of one hint of each group."""
    found = {full}
    for group in groups:
        masks = {full if hint.mask is None else hint.mask for hint in group}
        found = {one & other for one in found for other in masks} - {0}
    return found
