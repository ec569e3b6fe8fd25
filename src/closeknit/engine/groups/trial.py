"""The state of a search: what is free on the nodes, counts per domain, and everything that was tried so far.

Pods are taken from the shared columns, so every tree sees them at once; `undo` goes back to a mark and restores every
column. Rules between pods, where there are any, follow along.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...model.request import PodSet
from ...model.shape import Shape
from ...state.node_tree import NodeTree
from ...state.snapshot import Snapshot
from ...state.table import IntArray
from ..fit import Fit, fit_of
from ..policy import Policy
from .counts import DomainCounts, DomainFree
from .parts import Batch


class Rules(Protocol):
    """Rules between pods, such as anti-affinity and topology spread, followed while pods are placed."""

    def room(self, pod_set: PodSet) -> IntArray | None:
        """How many more pods each row may take by these rules alone; None if no rule concerns the pod set."""

    def place(self, pod_set: PodSet, rows: IntArray, counts: IntArray) -> None: ...

    def checkpoint(self) -> int: ...

    def rollback(self, checkpoint: int) -> None: ...


Mark = tuple[int, int]


class GroupTrial:
    def __init__(self, columns: Snapshot, policy: Policy, rules: Rules | None = None) -> None:
        self.columns, self.policy, self.rules = columns, policy, rules
        self._fits: dict[Shape, Fit] = {}
        self._free: list[DomainFree] = []

    def fit(self, shape: Shape) -> Fit:
        """The pods of a shape that each row holds, up to date."""
        known = self._fits.get(shape)
        if known is None:
            known = self._fits[shape] = fit_of(self.columns, shape, None, self.policy)
        known.refresh()
        return known

    def counts(self, tree: NodeTree, shape: Shape) -> DomainCounts:
        fit = self.fit(shape)
        known = fit.parts.get(id(tree))
        if not isinstance(known, DomainCounts) or known.tree is not tree:
            known = fit.parts[id(tree)] = DomainCounts(tree, fit)
        known.refresh()
        return known

    def free(self, tree: NodeTree) -> DomainFree:
        known = tree.cache.get("free")
        if not isinstance(known, DomainFree) or known.columns is not self.columns:
            known = tree.cache["free"] = DomainFree(tree, self.columns)
        if known not in self._free:
            self._free.append(known)
        known.refresh()
        return known

    def room(self, batch: Batch, rows: IntArray) -> IntArray:
        """How many pods of a batch each of these rows holds now."""
        pods = self.fit(batch.shape).pods[rows]
        allowed = None if self.rules is None else self.rules.room(batch.pod_set)
        return pods if allowed is None else np.minimum(pods, allowed[rows])

    def has_rules(self, batch: Batch) -> bool:
        return self.rules is not None and self.rules.room(batch.pod_set) is not None

    def take(self, batch: Batch, rows: IntArray, counts: IntArray) -> None:
        before = self.columns.version
        self.columns.admit(rows, counts, batch.shape.charge)
        self._follow(batch, rows, counts, before)
        if self.rules is not None:
            self.rules.place(batch.pod_set, rows, counts)

    def _follow(self, batch: Batch, rows: IntArray, counts: IntArray, before: int) -> None:
        """Bring up to date what the next choice needs; the rest is repaired when it is asked for."""
        fit = self._fits.get(batch.shape)
        if fit is None or not fit.follow(rows, counts, before):
            return
        for known in fit.parts.values():
            if isinstance(known, DomainCounts):
                known.follow(rows, counts, before)
        taken = batch.charge[:, None] * counts
        for free in self._free:
            free.follow(rows, taken, before)

    def mark(self) -> Mark:
        return self.columns.checkpoint(), 0 if self.rules is None else self.rules.checkpoint()

    def undo(self, mark: Mark) -> None:
        self.columns.rollback(mark[0])
        if self.rules is not None:
            self.rules.rollback(mark[1])
