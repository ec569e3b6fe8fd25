"""Which zones serve a pod's memory together, from where its memory is.

Neither a report nor an annotation tells the groups of zones that the kubelet's memory manager has formed, although a
zone of a group serves no container by itself, and one that serves containers by itself joins no group. A pod that has
memory in one zone uses that zone by itself. One that has memory in several uses them as a group, unless its containers
are aligned one by one and what it has in each zone is just what some of them ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from .demand import PodDemand
from .layout import Layout
from .masks import mask_of


def groups_of(demand: PodDemand, zones: Mapping[int, Mapping[str, int]], layout: Layout) -> dict[int, int]:
    """The sets of zones from which the pod has memory, each counted once."""
    if not layout.settings.pins_memory:
        return {}
    wanted = demand.pod_memory()
    sizes = {zone: {name: size for name, size in own.items() if size and name in wanted} for zone, own in zones.items()}
    used = [zone for zone, own in sizes.items() if own]
    if not used:
        return {}
    if len(used) > 1 and not (layout.settings.scope == "container" and _may_be_apart(demand, sizes, used)):
        return {mask_of(used): 1}
    return {1 << zone: 1 for zone in used}


MOST_TRIED = 4096


def _may_be_apart(demand: PodDemand, sizes: Mapping[int, Mapping[str, int]], used: list[int]) -> bool:
    """Whether containers that keep running, each in one zone, explain what the pod has in every zone."""
    parts = [own for one in demand.containers if one.kind != "init" and (own := demand.memory(one))]
    if len(parts) < len(used) or len(used) ** len(parts) > MOST_TRIED:
        return False
    ways = product(used, repeat=len(parts))
    return any(all(_sum(parts, way, zone) == sizes[zone] for zone in used) for way in ways)


def _sum(parts: Iterable[Mapping[str, int]], way: Iterable[int], zone: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for own, at in zip(parts, way, strict=True):
        for name, size in own.items() if at == zone else ():
            found[name] = found.get(name, 0) + size
    return {name: size for name, size in found.items() if size}
