"""LeastNUMANodes: the score by how many zones a pod needs, and whether no others as many are closer to each other.

For one request: the fewest zones that together have enough, each of which lists every requested name; among those the
closest together, and among these the first in the order of the report. All nodes are searched at once, one zone first,
then two, and so on; a node leaves the search when it has an answer, and is not searched at a size at which its fullest
zones together would not suffice. So a node with 34 zones, two of them with CPUs, costs what two zones cost.

With scope container, each container takes its request from the zones found before the next one is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...model.container import QoS
from ...numa.pod_needs import PodNeeds
from ...numa.resource_kinds import floats
from .alignment import Free
from .distances import TOO_FAR, best_of, mean, positions
from .drain import drain
from .outcome import LARGEST_SCORE
from .zone_columns import BoolArray, IntArray, ZoneColumns
from .zone_search import FoundZones, closest_zones, search_steps

MOST_COMBINATIONS = 20_000
"""Above it, combinations are searched with bounds instead of being listed."""
CELLS = 2**16
"""Combinations times nodes that are computed at once."""

Requests = Mapping[str, int]
T = TypeVar("T", bound=np.generic)


class ZonesRequired:
    """For each node: how many zones, 0 if none suffice; which; and whether their distance is the least possible."""

    def __init__(self, zones: int, nodes: int) -> None:
        self.count: IntArray = np.zeros(nodes, dtype=np.int64)
        self.chosen: BoolArray = np.zeros((zones, nodes), dtype=bool)
        self.optimal: BoolArray = np.zeros(nodes, dtype=bool)


def least_zones_scores(columns: ZoneColumns, pod: PodNeeds) -> IntArray:
    """The score of each node. It is negative if a pod needs more zones than the kubelet allows."""
    if columns.key.scope == "pod":
        return _of_requests(columns, [pod.effective], pod.qos)
    return _of_requests(columns, [dict(one.requests) for one in pod.containers], pod.qos)


def normalized(count: IntArray, optimal: BoolArray, max_zones: IntArray) -> IntArray:
    """94 for one zone of at most 8, 82 for two; 88 and 76 if the distance is not the least possible."""
    unit = LARGEST_SCORE // max_zones
    scores: IntArray = LARGEST_SCORE - count * unit + np.where(optimal, unit // 2, 0)
    return scores


def _of_requests(columns: ZoneColumns, requests: list[dict[str, int]], qos: QoS) -> IntArray:
    size, free = columns.size, Free()
    most, optimal = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
    refused, counted = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    for number, one in enumerate(requests):
        concerned = _listed_somewhere(columns, one)
        found = zones_required(columns, one, qos, free, concerned)
        refused |= concerned & (found.count == 0)
        counted |= concerned
        optimal &= found.optimal | ~concerned
        np.maximum(most, found.count, out=most)
        if number < len(requests) - 1:
            drain(columns, free, found.chosen, one)
    scores = np.where(counted, normalized(most, optimal, columns.max_zones), LARGEST_SCORE)
    return np.where(refused, 0, scores)


def _listed_somewhere(columns: ZoneColumns, requests: Requests) -> BoolArray:
    """The nodes that have a zone with any of the requested names."""
    found = np.zeros(columns.size, dtype=bool)
    for name in requests:
        column = columns.resource(name)
        if column is not None:
            found |= column.somewhere
    return found


def zones_required(
    columns: ZoneColumns, requests: Requests, qos: QoS, free: Free | None = None, among: BoolArray | None = None
) -> ZonesRequired:
    """The zones that one request needs on each of the nodes `among`, all if None, given what is left of resources."""
    found = ZonesRequired(columns.key.zones, columns.size)
    usable = _usable(columns, requests)
    if not usable.any():
        return found
    left, columns_of = free or {}, {name: columns.resource(name) for name in requests}
    needs = [
        (left.get(name, column.available), amount)
        for name, amount in requests.items()
        if (column := columns_of[name]) is not None and amount and not floats(name, qos)
    ]
    slots = np.arange(columns.size) if among is None else np.flatnonzero(among)
    _compare(columns, found, slots, usable, needs, 1)
    for count in range(2, int(np.count_nonzero(usable, axis=0).max()) + 1):
        slots = slots[found.count[slots] == 0]
        if not len(slots):
            break
        likely = _may_suffice(usable[:, slots], [(free[:, slots], amount) for free, amount in needs], count)
        _settle(columns, found, slots[likely], usable, needs, count)
    return found


Needs = list[tuple[IntArray, int]]
"""What is free by zone and node, and how much is needed."""


def _usable(columns: ZoneColumns, requests: Requests) -> BoolArray:
    """The zones that list every requested name, be it with quantity 0."""
    usable = np.ones((columns.key.zones, columns.size), dtype=bool)
    for name in requests:
        column = columns.resource(name)
        usable &= False if column is None else column.listed
    return usable


def _may_suffice(usable: BoolArray, needs: Needs, count: int) -> BoolArray:
    """The nodes whose `count` fullest usable zones have enough of each resource by itself."""
    enough: BoolArray = np.count_nonzero(usable, axis=0) >= count
    for free, amount in needs:
        held = np.where(usable, free, 0)
        held.partition(len(held) - count, axis=0)
        enough &= held[-count:].sum(axis=0) >= amount
    return enough


def _settle(
    columns: ZoneColumns, found: ZonesRequired, slots: IntArray, usable: BoolArray, needs: Needs, count: int
) -> None:
    """Look for `count` zones on these nodes."""
    if not len(slots):
        return
    combinations = comb(columns.key.zones, count)
    if combinations > MOST_COMBINATIONS:
        _search(columns, found, slots, usable, needs, count)
        return
    step = max(1, CELLS // combinations)
    for begin in range(0, len(slots), step):
        _compare(columns, found, slots[begin : begin + step], usable, needs, count)


def _compare(
    columns: ZoneColumns, found: ZonesRequired, slots: IntArray, usable: BoolArray, needs: Needs, count: int
) -> None:
    """Compare all combinations of `count` zones."""
    chosen, distances = positions(columns.key.zones, count), columns.distances.means(count)
    fits = np.logical_and.reduce([_cut(usable, slots)[zone] for zone in chosen.T])
    for free, amount in needs:
        fits &= _together(_cut(free, slots), chosen) >= amount
    layouts = columns.layouts[slots]
    by_layout = distances.by_layout
    means = np.where(fits, by_layout if by_layout.shape[1] == 1 else by_layout[:, layouts], np.float32(np.inf))
    first = means.argmin(axis=0)
    least = means[first, np.arange(len(slots))]
    fitting = least < TOO_FAR
    slots, first = slots[fitting], first[fitting]
    found.count[slots] = count
    found.optimal[slots] = least[fitting] == distances.best[layouts[fitting]]
    for zone in chosen[first].T:
        found.chosen[zone, slots] = True


def _cut(by_node: NDArray[T], slots: IntArray) -> NDArray[T]:
    """The part of these nodes; without a copy if it is all of them."""
    return by_node if len(slots) == by_node.shape[1] else by_node[:, slots]


def _together(free: IntArray, chosen: IntArray) -> IntArray:
    """What each combination of zones has, by combination and node."""
    if chosen.shape[1] == 1:
        return free
    held = free[chosen[:, 0]]
    for zone in chosen.T[1:]:
        held += free[zone]
    return held


def _search(
    columns: ZoneColumns, found: ZonesRequired, slots: IntArray, usable: BoolArray, needs: Needs, count: int
) -> None:
    """The same where there are too many combinations to list; nodes in the same state are searched once."""
    states = np.vstack([columns.layouts[slots], usable[:, slots], *(free[:, slots] for free, _ in needs)])
    _, firsts, inverse = np.unique(states, axis=1, return_index=True, return_inverse=True)
    steps = search_steps(len(firsts))
    for number, slot in enumerate(slots[firsts].tolist()):
        costs = columns.distances.costs[columns.layouts[slot]].tolist()
        held = [(free[:, slot].tolist(), amount) for free, amount in needs]
        best = closest_zones(costs, np.flatnonzero(usable[:, slot]).tolist(), count, held, steps)
        if best is not None and mean(np.array([best.total]), count)[0] < TOO_FAR:
            alike = slots[inverse.reshape(-1) == number]
            found.count[alike] = count
            found.optimal[alike] = _is_optimal(columns.key.zones, costs, best, steps)
            found.chosen[np.ix_(best.zones, alike)] = True


def _is_optimal(zones: int, costs: list[list[int]], best: FoundZones, steps: int) -> bool:
    """Whether no zones, be they full, are closer; false if the search could not find out."""
    count = len(best.zones)
    ideal = closest_zones(costs, range(zones), count, [], steps)
    if ideal is None or not (ideal.is_sure and best.is_sure):
        return False
    means = mean(np.array([[best.total], [ideal.total]]), count)
    return bool(means[0, 0] == best_of(means)[0])
