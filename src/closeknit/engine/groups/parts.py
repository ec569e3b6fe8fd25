"""A request prepared for the search: every group with what it needs at least, and where it has to go.

    GroupPart   a group: its constraint as levels of a tree, its batches and its parts
    Batch       the pods of one pod set of a group

`need` and `wants` are lower bounds for what a part takes when only its minimums are placed: amounts by resource, and
pods by shape. A domain that holds less cannot hold the part; one that holds more still may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...model.reason import Reason, Why, reason
from ...model.request import AUTO, Apart, Constraint, Group, Order, PodSet, Request
from ...model.shape import Shape
from ...state.node_tree import ROOT, NodeTree
from ...state.snapshot import Snapshot
from ...state.table import IntArray

Trees = Mapping[str, NodeTree]
"""Trees over the same columns, by the name of their topology."""


@dataclass(frozen=True, slots=True)
class LevelBounds:
    """A constraint as levels of a tree: all pods in one domain of `required`, if possible of `preferred`."""

    tree: NodeTree
    required: int = ROOT
    preferred: int | None = None

    @property
    def levels(self) -> range:
        """The levels to try, the preferred first, then upwards."""
        start = self.required if self.preferred is None else self.preferred
        return range(max(start, self.required), self.required - 1, -1)


@dataclass(eq=False, slots=True)
class Batch:
    """Pods of one pod set: `count` to place, and the rows where others run already."""

    part: GroupPart
    pod_set: PodSet
    charge: IntArray
    running: IntArray

    @property
    def shape(self) -> Shape:
        return self.pod_set.shape

    @property
    def count(self) -> int:
        return self.pod_set.count


@dataclass(eq=False, slots=True)
class GroupPart:
    """`at` numbers the parts in the order of the file.

    `minimum` counts the pods of its batches that have to be placed, beyond those that run; `total` those of everything
    below it.
    """

    group: Group
    at: int
    above: GroupPart | None
    bounds: LevelBounds | None
    apart: tuple[NodeTree, int, bool] | None
    batches: list[Batch] = field(default_factory=list)
    parts: list[GroupPart] = field(default_factory=list)
    running: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    minimum: int = 0
    total: int = 0
    need: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    wants: Mapping[Shape, int] = field(default_factory=dict)
    all_wants: Mapping[Shape, int] = field(default_factory=dict)

    @property
    def order(self) -> Order | None:
        """The order of domains: its own, or that of the nearest group around it."""
        part: GroupPart | None = self
        while part is not None:
            if part.group.order is not None:
                return part.group.order
            part = part.above
        return None

    @property
    def needed_parts(self) -> int:
        """How many of its parts have to be placed."""
        minimum = self.group.min_groups
        return len(self.parts) if minimum is None else min(minimum, len(self.parts))

    @property
    def pods(self) -> int:
        """The pods that its minimum places at least, for ordering and messages."""
        return sum(self.wants.values())

    def walk(self) -> Iterator[GroupPart]:
        yield self
        for part in self.parts:
            yield from part.walk()

    def lineage(self) -> Iterator[GroupPart]:
        """Itself and the parts around it, innermost first."""
        part: GroupPart | None = self
        while part is not None:
            yield part
            part = part.above

    @property
    def label(self) -> str:
        names = [part.group.name for part in self.lineage() if part.group.name]
        return "/".join(reversed(names)) or ", ".join(batch.pod_set.name for batch in self.batches)


class RequestReader:
    """Turns a request into parts, or finds the reason why it cannot be placed as it is."""

    def __init__(self, columns: Snapshot, trees: Trees) -> None:
        self.columns, self.trees = columns, trees
        self.wrong: Reason | None = None
        self._count = 0

    def read(self, request: Request) -> GroupPart | Reason:
        top = self._part(Group(request.groups), None)
        return top if self.wrong is None else self.wrong

    def _part(self, group: Group, above: GroupPart | None) -> GroupPart:
        part = GroupPart(group, self._count, above, self._bounds(group, group.constraint), self._apart(group.apart))
        self._count += 1
        for member in group.members:
            if isinstance(member, Group):
                part.parts.append(self._part(member, part))
            elif member.constraint is not None:
                alone = Group((replace(member, constraint=None),), member.name, member.constraint)
                part.parts.append(self._part(alone, part))
            else:
                part.batches.append(self._batch(part, member))
        running = [batch.running for batch in part.batches] + [one.running for one in part.parts]
        part.running = np.concatenate(running) if running else part.running
        part.minimum = self._minimum(part)
        part.total = max(0, (group.min_total or 0) - sum(len(one.running) for one in group.pod_sets))
        self._sum_up(part)
        self._check_running(part)
        return part

    def _batch(self, part: GroupPart, pod_set: PodSet) -> Batch:
        rows = [self.columns.row_of[name] for name in pod_set.running if name in self.columns.row_of]
        charge = self.columns.charge_vector(pod_set.shape.charge)
        return Batch(part, pod_set, charge, np.array(rows, dtype=np.int64))

    def _bounds(self, group: Group, constraint: Constraint | None) -> LevelBounds | None:
        if constraint is None or (constraint.spreads and not constraint.topology):
            return None
        tree = self.trees.get(constraint.topology)
        if tree is not None and constraint.spreads:
            return None
        if tree is None:
            self._refuse(reason(Why.NO_TOPOLOGY, group=group.name, topology=constraint.topology))
            return None
        required = self._level(tree, constraint.required)
        preferred = self._level(tree, constraint.preferred)
        return LevelBounds(tree, ROOT if required is None else required, preferred)

    def _apart(self, apart: Apart | None) -> tuple[NodeTree, int, bool] | None:
        if apart is None:
            return None
        tree = self.trees.get(apart.topology)
        if tree is None:
            self._refuse(reason(Why.NO_TOPOLOGY, group="", topology=apart.topology))
            return None
        level = self._level(tree, apart.level)
        return None if level is None else (tree, level, apart.required)

    def _level(self, tree: NodeTree, key: str | None) -> int | None:
        if key is None:
            return None
        level = len(tree.levels) - 1 if key == AUTO else tree.level(key)
        if level is None:
            self._refuse(reason(Why.NO_GROUP_LEVEL, level=key, topology=tree.topology.name))
        return level

    def _refuse(self, wrong: Reason) -> None:
        self.wrong = self.wrong or wrong

    def _minimum(self, part: GroupPart) -> int:
        """How many pods of its own batches have to be placed, beyond those that run."""
        pods = sum(batch.count for batch in part.batches)
        running = sum(len(batch.pod_set.running) for batch in part.batches)
        wanted = part.group.min_pods
        return pods if wanted is None else min(pods, max(0, wanted - running))

    def _sum_up(self, part: GroupPart) -> None:
        """Lower bounds over its batches and parts: of k out of n, the k smallest, each resource by itself."""
        if len(part.batches) == 1 and not part.parts:
            only = part.batches[0]
            part.need = only.charge * part.minimum
            part.wants, part.all_wants = {only.shape: part.minimum}, {only.shape: only.count}
            return
        spare = sum(batch.count for batch in part.batches) - part.minimum
        wants: Counter[Shape] = Counter()
        every: Counter[Shape] = Counter()
        for batch in part.batches:
            wants[batch.shape] += max(0, batch.count - spare)
            every[batch.shape] += batch.count
        needed = part.needed_parts
        need = self._smallest([(batch.charge, batch.count) for batch in part.batches], part.minimum)
        need = need + self._smallest([(one.need, 1) for one in part.parts], needed)
        for shape in {shape for one in part.parts for shape in one.wants}:
            wants[shape] += sum(sorted(one.wants.get(shape, 0) for one in part.parts)[:needed])
        for one in part.parts:
            every.update(one.all_wants)
        part.need, part.wants, part.all_wants = need, +wants, +every
        if len(every) == 1 and sum(wants.values()) < part.total:
            self._raise(part)

    def _raise(self, part: GroupPart) -> None:
        """All pods are of one shape, so at least `total` of them are placed."""
        ((shape, _),) = part.all_wants.items()
        part.wants = {shape: part.total}
        part.need = self.columns.charge_vector(shape.charge) * part.total

    def _smallest(self, vectors: list[tuple[IntArray, int]], count: int) -> IntArray:
        """The sum of the `count` smallest of these vectors, each there several times, for each resource by itself."""
        if not vectors or not count:
            return np.zeros(len(self.columns.resources), dtype=np.int64)
        amounts: IntArray = np.stack([amount for amount, _ in vectors])
        times = np.array([number for _, number in vectors])
        if count >= times.sum():
            amounts = amounts * times[:, None]
        else:
            amounts = np.sort(np.repeat(amounts, times, axis=0), axis=0)[:count]
        total: IntArray = amounts.sum(axis=0)
        return total

    def _check_running(self, part: GroupPart) -> None:
        """Members that run pin the required domain, so they must share one."""
        bounds = part.bounds
        if bounds is None or bounds.required == ROOT or not len(part.running):
            return
        places = bounds.tree.place[part.running]
        domains = {int(one) for one in bounds.tree.domain[bounds.required][places[places >= 0]]}
        if len(domains) > 1:
            names = [".".join(bounds.tree.path(bounds.required, one)) for one in sorted(domains)[:2]]
            level = bounds.tree.levels[bounds.required]
            self._refuse(reason(Why.RUNNING_APART, group=part.label, level=level, one=names[0], other=names[1]))
