"""How many pods a node holds where NUMA zones are known of it: what free resources hold, and its kubelet admits.

A row whose node has no zones, and a pod that nothing is pinned for, count by resources alone. Where a kubelet would
refuse a pod although enough is free on its node, the cause is the resource that its zones cannot give together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..model.numa import TopologyPolicy
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


def costs(snapshot: Snapshot, shape: Shape, zones: IntArray) -> IntArray:
    """What a pod costs on nodes in these states, the less the better.

    The number of zones, their mean distance, and how many of them were wholly free. Nodes whose zones are unknown come
    last, unless nothing of the pod is aligned.
    """
    found = np.zeros(len(zones), dtype=np.int64)
    known = zones != NO_ZONES
    if snapshot.zones is None or not known.any():
        return found
    cost = snapshot.zones.cost(zones[known], shape)
    found[known] = (cost.zones << 40) + ((cost.distance * 1024).astype(np.int64) << 8) + cost.broken
    found[~known] = _UNKNOWN if found.any() else 0
    return found


_UNKNOWN = 1 << 50


def stricter(snapshot: Snapshot, shapes: Pair) -> Iterator[Pair]:
    """The shapes with policies that ask for fewer zones than some kubelets insist on, the fewest zones first."""
    zones = snapshot.zones
    if zones is None or not any(one is not None and zones.demand_of(one).holds_zones for one in shapes):
        return
    for policy in ("single-numa-node", "restricted"):
        found = _with_policy(shapes[0], policy), None if shapes[1] is None else _with_policy(shapes[1], policy)
        if found != shapes and LOOSER[policy] & zones.admissions.policies:
            yield found


Pair = tuple[Shape, Shape | None]
"""Workers, and a leader if there is one."""
LOOSER: Mapping[TopologyPolicy, frozenset[TopologyPolicy]] = {
    "single-numa-node": frozenset({"restricted", "best-effort"}),
    "restricted": frozenset({"best-effort"}),
}
"""The policies of kubelets that align pods, but would also start those that this one refuses."""


def _with_policy(shape: Shape, policy: TopologyPolicy) -> Shape:
    """The shape with this policy, unless it asks for one as strict itself."""
    is_strict = shape.numa_policy is not None and shape.numa_policy not in LOOSER[policy]
    return shape if is_strict else replace(shape, numa_policy=policy)


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


class ZoneNotes(NamedTuple):
    """What is not known of the zones of `nodes` nodes, for pods that kubelets align.

    On `without_report` of them pods are placed by node totals. `unknown` is what no report tells and may decide.
    """

    nodes: int
    without_report: int
    unknown: tuple[str, ...] = ()


def zone_notes(snapshot: Snapshot, shape: Shape, rows: IntArray) -> ZoneNotes | None:
    """None where zones are known of no node, or do not matter to the pods."""
    zones = snapshot.zones
    if zones is None or not zones.demand_of(shape).holds_zones:
        return None
    states = zones.on(rows, "now")
    _, first = np.unique(states, return_index=True)
    nodes = [snapshot.table.names[row] for row in rows[first[states[first] != NO_ZONES]].tolist()]
    unknown = dict.fromkeys(what for node in nodes for what in zones.unknown_on(node))
    return ZoneNotes(len(rows), int(np.count_nonzero(states == NO_ZONES)), tuple(unknown))
