"""Which kinds of pods run where: what a pod's affinity, spread, host ports and exclusive volumes are compared with.

Pods of workloads come and go with the journal of the columns, so a trial that removes a victim removes its labels and
ports too, and a rollback restores them. Other pods are counted by node. Pods of a tree whose leaves are several nodes
are kept as leaves of that tree. Nothing is evaluated here; a term asks for the kinds that it selects, which are
remembered, and for their pods by value of a node label.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np

from ..model.node import Node
from ..model.pod_rules import PodKind, PodRules
from ..model.shape import Shape
from .table import MISSING, BoolArray, CodeArray, IntArray

if TYPE_CHECKING:
    from .columns import NodeColumns

Column = Literal["admitted", "assumed"]
Places = list[tuple[IntArray, IntArray]]
"""Rows or leaves and the pods on each, change by change; negative counts remove pods."""


class PlacesOfTree(Protocol):
    """A tree whose leaves have rows."""

    def rows_in(self, leaves: IntArray) -> tuple[IntArray, IntArray]: ...


Owner = PlacesOfTree | None
"""The tree of whose leaves places are; None for rows."""

MOST_CHOICES = 256
LONG = 16
"""Changes of one kind after which they are summed up."""


class ByValue(NamedTuple):
    """Pods by value of a node label, in the order of its column; `elsewhere` are those at values of no row."""

    pods: IntArray
    elsewhere: int

    @property
    def total(self) -> int:
        return int(self.pods.sum()) + self.elsewhere


class Neighbours:
    """`nodes` are all nodes of the cluster, `namespaces` the labels of its namespaces; both are empty without one."""

    def __init__(self, columns: NodeColumns) -> None:
        self.columns = columns
        self.nodes: Mapping[str, Node] = {}
        self.namespaces: Mapping[str, Mapping[str, str]] = {}
        self.outside = 0
        """Moves with every change that no row shows."""
        self.hostile: list[PodKind] = []
        """Kinds that keep other pods away, in order of appearance."""
        self.kinds: list[PodKind] = []
        """In order of appearance; kinds without pods stay until there are too many of them."""
        self.version = 0
        """Moves when kinds are forgotten, so that positions in `kinds` are void."""
        self._known: set[PodKind] = set()
        self._placed: dict[Column, dict[PodKind, dict[Owner, Places]]] = {"admitted": {}, "assumed": {}}
        self._other: dict[PodKind, dict[str, int]] = {}
        self._draining: dict[PodKind, dict[str, int]] = {}
        self._drained = False
        self._chosen: dict[Hashable, tuple[int, int, list[PodKind]]] = {}

    # What changes it

    def place(self, column: str, kind: PodKind, at: IntArray, counts: IntArray, owner: Owner = None) -> None:
        """Pods of a workload that are admitted or assumed; negative counts remove them."""
        assert column in ("admitted", "assumed")
        self._meet(kind)
        by_owner = self._placed["admitted" if column == "admitted" else "assumed"].setdefault(kind, {})
        places = by_owner.setdefault(owner, [])
        if places and places[-1][0] is at and not (places[-1][1] + counts).any():
            places.pop()
        else:
            places.append((at, counts))
        if len(places) > LONG:
            places[:] = [_summed(places)]

    def forget_places(self, owner: PlacesOfTree) -> None:
        """Forget the pods on the leaves of a tree that is laid again."""
        for table in self._placed.values():
            for by_owner in table.values():
                by_owner.pop(owner, None)

    def use(self, node: str, kind: PodKind, pods: int, drains: bool = False) -> None:
        """Pods that were not placed here, or that drain, on a node of the cluster; negative `pods` remove them."""
        self._meet(kind)
        self.outside += node not in self.columns.row_of
        nodes = (self._draining if drains else self._other).setdefault(kind, {})
        nodes[node] = nodes.get(node, 0) + pods
        if not nodes[node]:
            del nodes[node]

    def drain(self, sign: int) -> None:
        """Count draining pods as gone (-1), or as present again (1)."""
        self._drained = sign < 0

    def forget_choices(self) -> None:
        """Which kinds a term selects has changed: a namespace has other labels."""
        self.outside += 1
        self._chosen.clear()

    def _meet(self, kind: PodKind) -> None:
        if kind in self._known:
            return
        if len(self.kinds) > 1024 and len(self.kinds) > 2 * self._live():
            self._forget()
        self._known.add(kind)
        self.kinds.append(kind)
        if kind.anti:
            self.hostile.append(kind)

    def _live(self) -> int:
        return sum(1 for kind in self.kinds if self._has(kind))

    def _has(self, kind: PodKind) -> bool:
        by_node = self._other.get(kind) or self._draining.get(kind)
        placed = (places for one in self._placed.values() for places in one.get(kind, {}).values())
        return bool(by_node) or any(_summed(places)[1].any() for places in placed)

    def _forget(self) -> None:
        gone = {kind for kind in self.kinds if not self._has(kind)}
        for table in (*self._placed.values(), self._other, self._draining):
            for kind in gone:
                table.pop(kind, None)  # type: ignore[attr-defined]
        self.kinds = [kind for kind in self.kinds if kind not in gone]
        self.hostile = [kind for kind in self.hostile if kind not in gone]
        self._known -= gone
        self._chosen.clear()
        self.version += 1

    # What the engine reads

    def keeps_away(self, kind: PodKind, beside: Iterable[Shape] = ()) -> bool:
        """Whether a pod that ran here before, or one `beside`, may keep pods of this kind away from its domains."""
        others = (*self.hostile, *(one.kind for one in beside if one.kind is not None))
        return any(kind.is_in(term, self.namespaces) for other in others for term in other.anti)

    def ruled(self, shape: Shape, beside: Iterable[Shape] = ()) -> Shape:
        """The shape with rules, even if its pods ask for nothing themselves, where other pods may keep them away."""
        kind = shape.kind
        if kind is None or shape.rules is not None or not self.keeps_away(kind, beside):
            return shape
        return shape.ruled(PodRules(kind), kind)

    def take_over(self, before: Neighbours, owner: PlacesOfTree, mine: PlacesOfTree, leaves: IntArray) -> None:
        """Count the pods of other columns: by node, or on leaves of a tree of which `mine` has them as `leaves`."""
        self.nodes, self.namespaces, self._drained = before.nodes, before.namespaces, before._drained
        for drains, others in ((False, before._other), (True, before._draining)):
            for kind, nodes in others.items():
                for node, count in nodes.items():
                    self.use(node, kind, count, drains)
        names = before.columns.table.names
        for column, table in before._placed.items():
            for kind, by_owner in table.items():
                for row, count in zip(*_summed(by_owner.get(None, [])), strict=True):
                    self.use(names[row], kind, int(count))
                at, counts = _summed(by_owner.get(owner, []))
                if len(at):
                    self.place(column, kind, leaves[at], counts, mine)

    def choose(self, key: Hashable, is_chosen: Callable[[PodKind], bool]) -> list[PodKind]:
        """The kinds for which the test holds, remembered under this key; only new kinds are tested."""
        version, seen, chosen = self._chosen.get(key, (-1, 0, []))
        if version != self.version:
            seen, chosen = 0, []
        if seen < len(self.kinds):
            chosen = chosen + [kind for kind in self.kinds[seen:] if is_chosen(kind)]
            if len(self._chosen) > MOST_CHOICES:
                self._chosen.clear()
            self._chosen[key] = self.version, len(self.kinds), chosen
        return chosen

    def on_rows(self, kinds: Iterable[PodKind], empty: bool = False) -> IntArray:
        """Pods of these kinds on each row; what is on a leaf of several nodes counts on each of them.

        With `empty`, workloads that are admitted do not count.
        """
        pods = np.zeros(len(self.columns.table), dtype=np.int64)
        for kind in kinds:
            for node, count in self._by_node(kind, empty):
                row = self.columns.row_of.get(node)
                if row is not None:
                    pods[row] += count
            for owner, at, counts in self._places(kind, empty):
                rows, each = _spread(owner, at, counts)
                np.add.at(pods, rows, each)
        return pods

    def users_of(self, namespace: str, volume: str, empty: bool = False) -> int:
        """How many pods use a PersistentVolumeClaim."""

        def uses(kind: PodKind) -> bool:
            return kind.namespace == namespace and volume in kind.volumes

        kinds = self.choose(("volume", namespace, volume), uses)
        by_node = sum(count for kind in kinds for _, count in self._by_node(kind, empty))
        return by_node + sum(int(counts.sum()) for kind in kinds for _, _, counts in self._places(kind, empty))

    def by_value(
        self,
        kinds: Iterable[PodKind],
        key: str,
        empty: bool = False,
        sure: bool = False,
        among: BoolArray | None = None,
    ) -> ByValue:
        """Pods of these kinds by value of a node label. `among`, over rows, leaves out what is on other rows.

        A leaf may have several nodes with several values: its pods count at each of them, or at none if `sure`.
        """
        column = self.columns.table.labels.get(key)
        values = 0 if column is None else len(column.values)
        pods, elsewhere = np.zeros(values + 1, dtype=np.int64), 0
        for kind in kinds:
            for labels, count in self._outside(kind, empty, among):
                value = labels.get(key)
                code = None if value is None or column is None else column.index.get(value)
                if code is not None:
                    pods[code] += count
                elif value is not None:
                    elsewhere += count
            if column is None:
                continue
            for owner, places, counts in self._places(kind, empty):
                at, each = _at_values(column.codes, owner, places, counts, sure, among)
                np.add.at(pods, at, each)
        return ByValue(pods[:values], elsewhere)

    def at_other_values(self, kinds: Iterable[PodKind], key: str, values: list[str], empty: bool) -> list[int]:
        """Pods of these kinds at each of some values that no row has."""
        counts = dict.fromkeys(values, 0)
        for kind in kinds:
            for labels, count in self._outside(kind, empty, None):
                value = labels.get(key)
                if value in counts:
                    counts[value] += count
        return [counts[value] for value in values]

    def _outside(self, kind: PodKind, empty: bool, among: BoolArray | None) -> Iterable[tuple[Mapping[str, str], int]]:
        """Labels of the nodes of other pods, and how many pods each has."""
        for node, count in self._by_node(kind, empty):
            row = self.columns.row_of.get(node)
            if among is None or (row is not None and among[row]):
                yield self._labels_of(node, row), count

    def _labels_of(self, name: str, row: int | None) -> Mapping[str, str]:
        node = self.nodes.get(name)
        if node is not None:
            return node.labels
        return {} if row is None else dict(self.columns.table.label_values(row))

    def _by_node(self, kind: PodKind, empty: bool) -> Iterable[tuple[str, int]]:
        yield from self._other.get(kind, {}).items()
        if not self._drained and not empty:
            yield from self._draining.get(kind, {}).items()

    def _places(self, kind: PodKind, empty: bool) -> Iterator[tuple[Owner, IntArray, IntArray]]:
        for column, table in self._placed.items():
            if column == "assumed" or not empty:
                for owner, places in table.get(kind, {}).items():
                    yield from ((owner, at, counts) for at, counts in places)


def _spread(owner: Owner, at: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """The rows of places and the pods on each; pods on a leaf of several nodes count on each of them."""
    if owner is None or not len(at):
        return at, counts
    rows, starts = owner.rows_in(at)
    return rows, np.repeat(counts, np.diff(np.append(starts, len(rows))))


def _at_values(
    codes: CodeArray, owner: Owner, at: IntArray, counts: IntArray, sure: bool, among: BoolArray | None
) -> tuple[IntArray, IntArray]:
    """The codes at which pods of these places count, and how many; nodes without the label are left out."""
    if owner is None or not len(at):
        found = codes[at]
        inside = found != MISSING if among is None else (found != MISSING) & among[at]
        return found[inside], counts[inside]
    pairs: list[tuple[int, int]] = []
    for leaf, count in zip(at.tolist(), counts.tolist(), strict=True):
        rows = owner.rows_in(np.array([leaf]))[0]
        values = np.unique(codes[rows if among is None else rows[among[rows]]])
        if sure and len(values) > 1:
            continue
        pairs += [(code, count) for code in values.tolist() if code != MISSING]
    if not pairs:
        return at[:0], counts[:0]
    return np.array([one[0] for one in pairs]), np.array([one[1] for one in pairs])


def _summed(places: Places) -> tuple[IntArray, IntArray]:
    if not places:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    leaves, inverse = np.unique(np.concatenate([one[0] for one in places]), return_inverse=True)
    totals = np.zeros(len(leaves), dtype=np.int64)
    np.add.at(totals, inverse, np.concatenate([one[1] for one in places]))
    return leaves[totals != 0], totals[totals != 0]
