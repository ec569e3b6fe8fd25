"""The state of a search: what is free on the nodes, counts per domain, and everything that was tried so far.

Pods are taken from the shared columns, so every tree sees them at once; `undo` goes back to a mark and restores every
column. Pods that were taken count for the rules of others, such as anti-affinity, at once.
"""

from __future__ import annotations

import numpy as np

from ...model.shape import Shape
from ...state.node_tree import NodeTree
from ...state.snapshot import Snapshot
from ...state.table import BoolArray, IntArray
from ..filters.limits import most_by_rules, reaches
from ..fit import Fit, fit_of
from ..policy import Policy
from .counts import DomainCounts, DomainFree
from .parts import Batch


class GroupTrial:
    """`ruled` means that pods of some shape have rules about other pods, so that distant nodes depend on each other."""

    def __init__(self, columns: Snapshot, policy: Policy, ruled: bool = False) -> None:
        self.columns, self.policy, self.ruled = columns, policy, ruled
        self._fits: dict[Shape, Fit] = {}
        self._free: list[DomainFree] = []
        self._reaches: dict[tuple[Shape, Shape], bool] = {}

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

    def room(self, batch: Batch, rows: IntArray, coming: int = 0) -> IntArray:
        """How many pods of a batch each of these rows holds now; rules hold when `coming` pods are placed, too."""
        fit = self.fit(batch.shape)
        pods = fit.pods[rows]
        if fit.spread is None:
            return pods
        return np.minimum(pods, fit.spread.room(self.columns.first_rows(rows), coming=coming))

    def is_short(self, batch: Batch, rows: IntArray) -> BoolArray:
        """Which of these rows have free amounts for fewer pods of a batch than it could use there."""
        fit = self.fit(batch.shape)
        if fit.rules is None:
            return np.asarray(fit.pods[rows] < batch.count)
        holds, caps = fit.without_rules(rows), fit.rules.caps(self.columns.first_rows(rows))
        return np.asarray(holds < (batch.count if caps is None else np.minimum(batch.count, caps)))

    def reaches(self, other: Shape, shape: Shape) -> bool:
        """Whether pods of another shape may decide where pods of a shape go, beyond the nodes that they take."""
        known = self._reaches.get((other, shape))
        if known is None:
            rules = self.policy.seen(shape).rules
            known = rules is not None and reaches(other.kind, rules, self.columns.neighbours.namespaces)
            self._reaches[other, shape] = known
        return known

    def has_rules(self, batch: Batch) -> bool:
        """Whether each pod of the batch changes where the next may go."""
        return self.ruled and self.fit(batch.shape).goes_one_by_one

    def most(self, batch: Batch, rows: IntArray, coming: int = 0) -> int:
        """No more pods of a batch with such rules than this fit on these rows."""
        return most_by_rules(self.fit(batch.shape), rows, coming)

    def take(self, batch: Batch, rows: IntArray, counts: IntArray) -> None:
        before = self.columns.version
        if self.policy.empty:
            self.columns.assume(rows, counts, batch.shape.charge)
            return
        self.columns.admit(rows, counts, batch.shape.charge)
        self._follow(batch, rows, counts, before)

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

    def mark(self) -> int:
        return self.columns.checkpoint()

    def undo(self, mark: int) -> None:
        self.columns.rollback(mark)
