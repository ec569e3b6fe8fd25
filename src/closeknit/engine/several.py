"""Replacing several failed nodes in one decision, near the survivors (our gate ReplaceSeveralNodes).

Surviving pods stay. Slices that lost pods are completed where they are, finest layer first. The other lost pods go as
near as possible: as many as fit into the domains of survivors, lowest level first, the rest further up, never beyond
the required level. The failed nodes are excluded even if they have become ready again.

    rack 1: h1 ✗ h2 ■■ h3 ▢▢     h1 lost two pods; h3 is in the survivors' rack and has room,
    rack 2: h4 ▢▢ h5 ▢▢          so they go there although h4 is just as empty
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed
from functools import partial

import numpy as np

from ..model.assignment import Assignment
from ..model.reason import Reason, Why, reason
from ..model.request import Constraint, Layer
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .find import Spread
from .gang import leaves_of, merged, place_gang, summed
from .gang_request import GangRequest
from .place import PodSetOutcome, Result
from .policy import Policy
from .replace import Broken, by_replica

Part = tuple[IntArray, IntArray]
"""Leaves and the pods that go there."""


def replace_several(snapshot: Snapshot, broken: list[Broken], nodes: Sequence[str], policy: Policy) -> Result:
    """New assignments for pod sets that lost any of these nodes, given by hostname; for all pod sets or none."""
    checkpoint = snapshot.checkpoint()
    outcomes: list[PodSetOutcome] = []
    try:
        for one in broken:
            repair = partial(_repaired, snapshot, nodes, changed(policy, empty=False))
            outcomes.append(by_replica(snapshot, one, set(nodes), policy, repair))
            if outcomes[-1].reason is not None:
                break
    finally:
        snapshot.rollback(checkpoint)
    return Result(tuple(outcomes))


def _repaired(snapshot: Snapshot, nodes: Sequence[str], policy: Policy, broken: Broken) -> PodSetOutcome:
    return _Repair(snapshot, broken, nodes, policy).run()


class _Repair:
    """One pod set: its surviving pods, lost pods, and replacements found so far."""

    def __init__(self, snapshot: Snapshot, broken: Broken, nodes: Sequence[str], policy: Policy) -> None:
        existing = broken.existing
        self.snapshot, self.pod_set, self.policy = snapshot, broken.pod_set, policy
        failed = set(nodes)
        self.nodes = nodes
        self.lost = sum(count for path, count in existing.domains if path[-1] in failed)
        self.kept = Assignment.of(
            existing.levels, ((path, n) for path, n in existing.domains if path[-1] not in failed)
        )
        self.usable = np.ones(snapshot.tree.leaves, dtype=np.int64) if broken.allowed is None else broken.allowed
        gone = [leaf for name in nodes if (leaf := snapshot.tree.leaf_of.get((name,))) is not None]
        self.usable[gone] = 0
        self.parts: list[Part] = []

    def run(self) -> PodSetOutcome:
        stale = np.flatnonzero(self.snapshot.leaves(self.kept.values) < 0)
        if len(stale):
            return self._failed(reason(Why.STALE_ASSIGNMENT, domain=self.kept.values[int(stale[0])][-1]))
        constraint = self.pod_set.constraint or Constraint(unconstrained=True)
        whole = self._complete(constraint.slices)
        if isinstance(whole, Reason):
            return self._failed(whole)
        why = self._near(constraint, whole) if whole else None
        if why is not None:
            return self._failed(why)
        if sum(int(pods.sum()) for _, pods in self.parts) < self.lost:
            return self._failed(reason(Why.NO_REPLACEMENT, node=",".join(self.nodes)))
        return PodSetOutcome(self.pod_set, merged(self.snapshot, [leaves_of(self.snapshot, self.kept), *self.parts]))

    def _failed(self, why: Reason) -> PodSetOutcome:
        return PodSetOutcome(self.pod_set, reason=why)

    def _take(self, placed: Spread) -> None:
        self.parts.append((placed.at, placed.pods))
        self.snapshot.assume(placed.at, placed.pods, self.pod_set.shape.charge)

    # Broken slices

    def _complete(self, layers: tuple[Layer, ...]) -> int | Reason:
        """Complete broken slices where they are, finest layer first; return how many pods are left for whole slices."""
        left = self.lost
        for number in range(len(layers) - 1, -1, -1):
            layer = layers[number]
            level = self.snapshot.topology.level(layer.level)
            if level is None or not layer.size:
                continue
            domains, held = summed(self.snapshot.tree.ancestors(self._leaves(), level), self._counts())
            for domain, count in zip(domains.tolist(), held.tolist(), strict=True):
                missing = min(-count % layer.size, left)
                if missing:
                    placed = self._inside(level, domain, missing, layers[number + 1 :])
                    if isinstance(placed, Reason):
                        return placed
                    self._take(placed)
                    left -= missing
        return left

    def _inside(self, level: int, domain: int, count: int, layers: tuple[Layer, ...]) -> Spread | Reason:
        """Place pods of a broken slice in the domain of that slice, in whole slices of the finer layers."""
        low, high = self.snapshot.tree.leaf_range(level, domain)
        inside = np.zeros_like(self.usable)
        inside[low:high] = self.usable[low:high]
        return self._place(Constraint(unconstrained=True, slices=layers), count, inside)

    # Whole ones

    def _near(self, constraint: Constraint, count: int) -> Reason | None:
        """Place as many pods as possible beside the survivors, the rest further up; None if all are placed."""
        tree, leaves = self.snapshot.tree, self._leaves()
        if not len(leaves):
            return self._fill(constraint, count, self.usable)[1]
        loose = Constraint(unconstrained=True, slices=constraint.slices)
        level = self.snapshot.topology.level(constraint.required or "")
        why: Reason | None = None
        for number in range(self.snapshot.topology.lowest, (level or 0) - 1, -1):
            inside = np.zeros_like(self.usable)
            for domain in np.unique(tree.ancestors(leaves, number)).tolist():
                low, high = tree.leaf_range(number, domain)
                inside[low:high] = self.usable[low:high]
            count, why = self._fill(loose, count, inside)
            if not count:
                return None
        return why if constraint.required is not None else self._fill(constraint, count, self.usable)[1]

    def _fill(self, constraint: Constraint, count: int, inside: IntArray) -> tuple[int, Reason | None]:
        """Place as many pods as fit; return how many are left, and why."""
        placed = self._place(constraint, count, inside)
        if not isinstance(placed, Reason):
            self._take(placed)
            return 0, None
        size = constraint.slices[0].size or 1 if constraint.slices else 1
        some = int(placed.values.get("fits", 0)) * size
        part = self._place(constraint, some, inside) if 0 < some < count else placed
        if isinstance(part, Reason):
            return count, placed
        self._take(part)
        return count - some, placed

    def _place(self, constraint: Constraint, count: int, inside: IntArray) -> Spread | Reason:
        return place_gang(GangRequest(self.snapshot, self.pod_set, None, self.policy, count, constraint, inside))

    def _leaves(self) -> IntArray:
        return np.concatenate([leaves_of(self.snapshot, self.kept)[0], *(leaves for leaves, _ in self.parts)])

    def _counts(self) -> IntArray:
        return np.concatenate([leaves_of(self.snapshot, self.kept)[1], *(counts for _, counts in self.parts)])
