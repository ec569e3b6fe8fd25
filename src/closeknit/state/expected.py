"""Expected DaemonSet pods: each counts on its node before it is bound there.

Kueue counts a daemon only once it runs, so a node that has just joined looks emptier than it is. Here a pod is expected
on every node that its DaemonSet admits and where none of its pods runs yet. The rows are kept per DaemonSet; a change
of a DaemonSet recomputes all rows at once, a change of a node or a pod only one row. The engine's node filter is passed
in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from ..model.daemon_set import DaemonSet
from ..model.shape import Shape
from .columns import Charge
from .snapshot import Snapshot
from .table import BoolArray, IntArray

NodeFilter = Callable[[Snapshot, Shape, IntArray], BoolArray]
"""Which of these rows admit pods of a shape, regardless of whether the nodes are ready."""

Change = tuple[IntArray, Charge, int]


class Expected:
    """Belongs to the columns of all nodes, by node, and is rebuilt with them. `bound` yields owner and node of each
    running pod.
    """

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
        """How many pods of an owner run on each row, by the owner's uid."""
        for owner, node in bound:
            self._count(owner, node, 1)
        self._snapshot.columns.expect(change for key in daemon_sets for change in self._changes(key, self._all()))

    def put(self, key: str, daemon_set: DaemonSet) -> None:
        self.drop(key)
        self._daemon_sets[key] = daemon_set
        self._keys[daemon_set.uid] = key
        self._due[key] = np.zeros(len(self._snapshot.table), dtype=np.bool_)
        self._snapshot.columns.expect(self._changes(key, self._all()))

    def drop(self, key: str) -> None:
        daemon_set = self._daemon_sets.pop(key, None)
        if daemon_set is not None:
            self._keys.pop(daemon_set.uid, None)
            self._snapshot.columns.expect([(np.flatnonzero(self._due.pop(key)), daemon_set.shape.charge, -1)])

    def refresh(self, node: str) -> None:
        """Recompute a node whose labels or taints changed."""
        row = self._snapshot.row_of.get(node)
        if row is not None:
            self._snapshot.columns.expect(
                change for key in self._daemon_sets for change in self._changes(key, np.array([row]))
            )

    def bind(self, owner: str, node: str, pods: int) -> None:
        """Count pods of an owner that were bound to a node, or with a negative number are gone from it."""
        row = self._count(owner, node, pods)
        key = self._keys.get(owner)
        if row is not None and key is not None:
            self._snapshot.columns.expect(self._changes(key, np.array([row])))

    def _count(self, owner: str, node: str, pods: int) -> int | None:
        row = self._snapshot.row_of.get(node)
        if row is not None:
            rows = self._bound.setdefault(owner, {})
            rows[row] = rows.get(row, 0) + pods
            if not rows[row]:
                del rows[row]
        return row

    def _changes(self, key: str, rows: IntArray) -> Iterator[Change]:
        """What changed on these rows for one DaemonSet."""
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
