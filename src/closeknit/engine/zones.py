"""How many pods a node holds where NUMA zones are known of it: what free resources hold, and its kubelet admits.

A row whose node has no zones, and a pod that nothing is pinned for, count by resources alone. Where a kubelet would
refuse a pod although enough is free on its node, the cause is the resource that its zones cannot give together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..model.resources import CPU, show
from ..model.shape import Shape
from ..numa.admission import Shortage, Verdict
from ..numa.demand import MILLI
from ..state.numa.zone_states import NO_ZONES
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .capacity import by_resources


def by_zones(
    snapshot: Snapshot, shape: Shape, rows: IntArray, free: IntArray, zones: IntArray | None = None
) -> IntArray:
    """Count the pods that fit by resources and that the kubelet of each node admits one after another."""
    pods = by_resources(snapshot, shape, rows, free)
    if zones is None or snapshot.zones is None:
        return pods
    at = np.flatnonzero((zones != NO_ZONES) & (pods > 0))
    if len(at):
        pods[at] = snapshot.zones.admitted(rows[at], zones[at], shape, pods[at])
    return pods


class ZoneCause(NamedTuple):
    """Why kubelets would refuse the next pod: a name, on how many nodes, and in words for the one that lacks least."""

    name: str
    nodes: int
    detail: str


def zone_causes(snapshot: Snapshot, shape: Shape, zones: IntArray) -> Iterator[ZoneCause]:
    """What keeps a pod off nodes in these states, by resource."""
    found: dict[str, tuple[int, int, str]] = {}
    numbers, counts = np.unique(zones[zones != NO_ZONES], return_counts=True)
    for number, nodes in zip(numbers.tolist(), counts.tolist(), strict=True):
        verdict = None if snapshot.zones is None else snapshot.zones.refusal(number, shape)
        if verdict is None:
            continue
        short = scarcest(verdict)
        name = f'NUMA zones, "{short.resource}"' if short is not None else "NUMA zones"
        lacks = short.asked - _most(short) if short is not None else 0
        before = found.get(name, (0, lacks + 1, ""))
        text = f"{verdict.reason}: {lack(short)}" if short is not None else f"{verdict.reason}: {verdict.message}"
        nearest = (lacks, text) if lacks < before[1] else before[1:]
        found[name] = (before[0] + nodes, *nearest)
    for name, (nodes, _, text) in found.items():
        yield ZoneCause(name, nodes, text)


def scarcest(verdict: Verdict) -> Shortage | None:
    """The resource of which no zone has enough; else the one that comes closest to that."""
    return min(verdict.asked, key=lambda one: _most(one) - one.asked, default=None)


def lack(short: Shortage) -> str:
    """Such as "a container asks for 4 of nvidia.com/gpu: 3 free on 2 zones, at most 2 on one"."""
    free = [(zone, left) for zone, left in short.free if left > 0]
    total = _shown(short, sum(left for _, left in free))
    asks = f"{_shown(short, short.asked)} of {short.resource} are asked for together"
    if not free:
        return f"{asks}: none free"
    on = f"{len(free)} zones" if len(free) > 1 else "1 zone"
    most = f", at most {_shown(short, _most(short))} on one" if len(free) > 1 else ""
    return f"{asks}: {total} free on {on}{most}"


def _most(short: Shortage) -> int:
    return max((left for _, left in short.free), default=0)


def _shown(short: Shortage, amount: int) -> str:
    return show(short.resource, amount * MILLI if short.resource == CPU else amount)
