"""The footprint of an assignment: which leaves it uses, in the tree of every flavor where it counts.

A host may be in the trees of several flavors. The ledger counts what is held there in all of them. In Kueue's profile,
what a cycle takes or frees counts only in the flavor concerned; so two flavors may both promise a host in one cycle,
and a victim in one frees no room in the other. With the gate OneLedgerForOverlappingFlavors it counts wherever the
ledger would count it. Flavors with contradicting labels share no node and are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ..state.ledger import Holding
from ..state.mirror import Mirror, Usage
from ..state.snapshot import Snapshot
from ..state.table import IntArray

Leaves = tuple[IntArray, IntArray]
"""Leaves of a tree, each once, and the pods on each."""


class Footprints:
    """`mirrors` are the world's, by flavor; call `share` after they change."""

    def __init__(self, mirrors: Mapping[str, Mirror]) -> None:
        self._mirrors = mirrors
        self._shared: dict[str, tuple[str, ...]] = {}
        """By flavor: itself and the flavors that may share hosts with it, if there are any."""

    def share(self) -> None:
        """Recompute which flavors share hosts, and count usage in all of them from now on."""
        found = {name: tuple(_overlapping(name, self._mirrors)) for name in self._mirrors}
        self._shared = {name: flavors for name, flavors in found.items() if len(flavors) > 1}

    def charge(self, holding: Holding, sign: int) -> None:
        """Count what a workload holds, or remove it (-1)."""
        for at, place in enumerate(holding.places):
            for flavor in self._shown_in(place):
                snapshot, leaves = self._of_holding(holding, at, flavor)
                _admit(snapshot, place, leaves, sign)

    def charge_places(self, places: Iterable[Usage], sign: int) -> None:
        """The same for places that no workload holds yet."""
        for place in places:
            for flavor in self._shown_in(place):
                snapshot = self._snapshot(flavor)
                _admit(snapshot, place, _leaves(snapshot, place), sign)

    def inside(self, holding: Holding, flavor: str) -> list[Leaves]:
        """The leaves of a holding that count in a flavor, place by place."""
        return [
            self._of_holding(holding, at, flavor)[1]
            for at, place in enumerate(holding.places)
            if flavor == place.flavor or flavor in self._shown_in(place)
        ]

    def _shown_in(self, place: Usage) -> tuple[str, ...]:
        if place.flavor in self._shared and place.assignment.by_host:
            return self._shared[place.flavor]
        return (place.flavor,)

    def _of_holding(self, holding: Holding, at: int, flavor: str) -> tuple[Snapshot | None, Leaves]:
        """The leaves of one of its places, cached per snapshot."""
        snapshot = self._snapshot(flavor)
        known = holding.leaves.get((at, flavor))
        if known is None or known[0] is not snapshot:
            known = holding.leaves[at, flavor] = (snapshot, _leaves(snapshot, holding.places[at]))
        return known

    def _snapshot(self, flavor: str) -> Snapshot | None:
        mirror = self._mirrors.get(flavor)
        return None if mirror is None else mirror.snapshot


def _overlapping(flavor: str, mirrors: Mapping[str, Mirror]) -> Iterator[str]:
    """The flavor itself, and other flavors by host whose labels one of its nodes may also have."""
    labels = mirrors[flavor].labels
    yield flavor
    for name, other in mirrors.items():
        agrees = all(labels.get(key, value) == value for key, value in other.labels.items())
        if name != flavor and other.topology.ends_at_host and agrees:
            yield name


def _leaves(snapshot: Snapshot | None, place: Usage) -> Leaves:
    """The leaves of a place; leaves that are not in the tree are skipped."""
    counts: dict[int, int] = {}
    if snapshot is not None:
        for name, count in place.assignment.domains:
            leaf = snapshot.tree.leaf_of.get(name)
            if leaf is not None:
                counts[leaf] = counts.get(leaf, 0) + count
    return np.fromiter(counts, dtype=np.int64), np.fromiter(counts.values(), dtype=np.int64)


def _admit(snapshot: Snapshot | None, place: Usage, at: Leaves, sign: int) -> None:
    leaves, counts = at
    if snapshot is not None and len(leaves):
        snapshot.admit(leaves, sign * counts, place.shape.charge)
