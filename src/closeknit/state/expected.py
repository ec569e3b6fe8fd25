"""Pods of DaemonSets that are still to come: they count on their nodes until they are bound.

Kueue sees a daemon only once it runs, so a node that has just joined looks emptier than it is. Here a pod is due on
every node that its DaemonSet admits and that has none of it yet. Which rows that are is kept per DaemonSet; a change of
a DaemonSet looks at all rows at once, one of a node or a pod at a single row. The node filter is handed in: it is the
engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from ..model.daemon_set import DaemonSet
from ..model.shape import Shape
from .snapshot import Charge, Snapshot
from .table import BoolArray, IntArray

NodeFilter = Callable[[Snapshot, Shape, IntArray], BoolArray]
"""Which of these rows admit pods of a shape, whether the nodes are ready or not."""

Change = tuple[IntArray, Charge, int]


class Expected:
    """It belongs to one snapshot, and is built anew with it. `bound` has the owner and the node of pods that run."""

    def __init__(
        self,
        snapshot: Snapshot,
        admits: NodeFilter,
        daemon_sets: Mapping[str, DaemonSet],
        bound: Iterable[tuple[str, str]],
    ) -> None:
        self._snapshot, self._admits = snapshot, admits
        self._daemon_sets = dict(daemon_sets)
        self._keys = {one.uid: key for key, one in daemon_sets.items()}
        self._due = {key: np.zeros(len(snapshot.table), dtype=np.bool_) for key in daemon_sets}
        self._bound: dict[str, dict[int, int]] = {}
        """By the uid of the owner: how many of its pods run on a row."""
        for owner, node in bound:
            self._count(owner, node, 1)
        self._snapshot.expect(change for key in daemon_sets for change in self._look(key, self._all()))

    def put(self, key: str, daemon_set: DaemonSet) -> None:
        self.drop(key)
        self._daemon_sets[key] = daemon_set
        self._keys[daemon_set.uid] = key
        self._due[key] = np.zeros(len(self._snapshot.table), dtype=np.bool_)
        self._snapshot.expect(self._look(key, self._all()))

    def drop(self, key: str) -> None:
        daemon_set = self._daemon_sets.pop(key, None)
        if daemon_set is not None:
            self._keys.pop(daemon_set.uid, None)
            self._snapshot.expect([(np.flatnonzero(self._due.pop(key)), daemon_set.shape.charge, -1)])

    def look_at(self, node: str) -> None:
        """A node has other labels or taints than before."""
        row = self._snapshot.row_of.get(node)
        if row is not None:
            self._snapshot.expect(change for key in self._daemon_sets for change in self._look(key, np.array([row])))

    def bind(self, owner: str, node: str, pods: int) -> None:
        """Pods of an owner started on a node, or, with a negative number, are gone from it."""
        row = self._count(owner, node, pods)
        key = self._keys.get(owner)
        if row is not None and key is not None:
            self._snapshot.expect(self._look(key, np.array([row])))

    def _count(self, owner: str, node: str, pods: int) -> int | None:
        row = self._snapshot.row_of.get(node)
        if row is not None:
            rows = self._bound.setdefault(owner, {})
            rows[row] = rows.get(row, 0) + pods
            if not rows[row]:
                del rows[row]
        return row

    def _look(self, key: str, rows: IntArray) -> Iterator[Change]:
        """What has changed on these rows, for one DaemonSet."""
        one, due = self._daemon_sets[key], self._due[key]
        before, now = due[rows], self._admits(self._snapshot, one.shape, rows) & ~self._runs_on(one.uid, rows)
        due[rows] = now
        for changed, pods in ((rows[now & ~before], 1), (rows[before & ~now], -1)):
            if len(changed):
                yield changed, one.shape.charge, pods

    def _runs_on(self, uid: str, rows: IntArray) -> BoolArray:
        bound = self._bound.get(uid, {})
        if len(rows) == 1:
            return np.array([int(rows[0]) in bound])
        runs = np.zeros(len(self._snapshot.table), dtype=np.bool_)
        runs[np.fromiter(bound, dtype=np.int64, count=len(bound))] = True
        return runs[rows]

    def _all(self) -> IntArray:
        return np.arange(len(self._snapshot.table))
