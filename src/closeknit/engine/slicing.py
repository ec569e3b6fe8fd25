"""What a constraint means on one topology: which level is searched, how pods are sliced, and how far it may relax.

Every error in a request at this point is a reason, in the order in which Kueue checks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ..model.gates import Gates
from ..model.reason import Reason, Why, reason
from ..model.request import AUTO, IMPLIED, Constraint, Layer
from ..model.topology import Topology


@dataclass(frozen=True, slots=True)
class Slicing:
    """Pods go in chunks of `size` into one domain of `level`; `inner[l]` is the chunk that level l keeps whole.

    `inner` is 1 at every level without a finer layer.
    """

    size: int
    level: int
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LevelSearch:
    """Look for one domain at `level`; while none holds everything go up, but not above `ceiling`.

    At the ceiling either one domain must hold everything (`bound`) or the pods spread over several.
    `ascending` fills the fullest domains first (LeastFreeCapacity), `roomiest` the emptiest, instead of taking the best
    fit.
    """

    level: int
    ceiling: int
    bound: bool
    ascending: bool
    slicing: Slicing
    layers: tuple[tuple[int, int], ...]
    balanced: bool = False
    roomiest: bool = False

    @property
    def tight(self) -> bool:
        """Whether the last domain is the tightest that holds the rest, rather than the next one in order."""
        return not self.ascending and not self.roomiest


def search(topology: Topology, constraint: Constraint | None, gates: Gates) -> LevelSearch | Reason:
    """How to search for a pod set's place."""
    wanted = IMPLIED if constraint is None else constraint
    if wanted.slices and wanted.slices[0].size is None:
        return reason(Why.SLICE_WITHOUT_SIZE)
    slice_level = _slice_level(topology, wanted.slices)
    auto = slice_level if isinstance(slice_level, int) else topology.lowest
    span = _span(topology, wanted, gates, auto)
    if isinstance(span, Reason):
        return span
    if isinstance(slice_level, Reason):
        return slice_level
    level, ceiling = span
    if level > slice_level:
        above, below = topology.levels[slice_level], topology.levels[level]
        return reason(Why.SLICE_ABOVE_POD_SET, slice=above, level=below)
    layers = _layers(topology, wanted.slices)
    if isinstance(layers, Reason):
        return layers
    roomiest = wanted.order == "spread" and "PlacementPerReplica" in gates
    balanced = "TASBalancedPlacement" in gates and not wanted.spreads and wanted.required is None
    return LevelSearch(
        level=level,
        ceiling=ceiling,
        bound=wanted.required is not None,
        ascending=wanted.spreads and "TASProfileMixed" in gates and not roomiest,
        slicing=_slicing(topology, layers),
        layers=layers,
        balanced=balanced and not roomiest,
        roomiest=roomiest,
    )


def _span(topology: Topology, wanted: Constraint, gates: Gates, auto: int) -> tuple[int, int] | Reason:
    """The level to start at and the highest one to go to; `auto` starts as low as slices allow."""

    def level(key: str) -> int | Reason:
        if key == AUTO and "AutoLevel" in gates:
            return auto
        found = topology.level(key)
        return reason(Why.NO_LEVEL, level=key) if found is None else found

    preferred = wanted.preferred
    if wanted.required is not None:
        start = level(wanted.required)
        if isinstance(start, Reason):
            return start
        ceiling = 0 if wanted.required == AUTO and "AutoLevel" in gates else start
        if preferred is None or "RequiredAndPreferred" not in gates:
            return start, ceiling
        inside = level(preferred)
        return inside if isinstance(inside, Reason) else (max(inside, ceiling), ceiling)
    if preferred is not None:
        start = level(preferred)
        return start if isinstance(start, Reason) else (start, 0)
    if wanted.slices:
        return 0, 0
    if wanted.unconstrained:
        return topology.lowest, topology.lowest
    return reason(Why.LEVEL_NOT_SPECIFIED)


def _slice_level(topology: Topology, slices: tuple[Layer, ...]) -> int | Reason:
    """The level whose domains hold a whole slice; without slices the lowest."""
    if not slices:
        return topology.lowest
    found = topology.level(slices[0].level)
    return reason(Why.NO_SLICE_LEVEL, level=slices[0].level) if found is None else found


def _layers(topology: Topology, slices: tuple[Layer, ...]) -> tuple[tuple[int, int], ...] | Reason:
    """The layers as (level, size); each must lie below the one before and divide its size."""
    layers: list[tuple[int, int]] = []
    for layer in slices:
        level, size = topology.level(layer.level), layer.size or 1
        if level is None:
            return reason(Why.NO_LAYER_LEVEL, level=layer.level)
        if layers:
            above, parent = layers[-1]
            if level <= above:
                return reason(Why.LAYER_NOT_LOWER, level=layer.level, parent=topology.levels[above])
            if parent % size:
                return reason(Why.LAYER_NOT_DIVIDING, size=size, parent=parent)
        layers.append((level, size))
    return tuple(layers)


def _slicing(topology: Topology, layers: tuple[tuple[int, int], ...]) -> Slicing:
    inner = [1] * len(topology.levels)
    if not layers:
        return Slicing(1, topology.lowest, tuple(inner))
    for (above, _), (level, size) in itertools.pairwise(layers):
        inner[above + 1 : level + 1] = [size] * (level - above)
    return Slicing(layers[0][1], layers[0][0], tuple(inner))
