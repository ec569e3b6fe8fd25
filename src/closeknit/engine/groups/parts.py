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
from ...model.resources import PODS
from ...model.shape import Shape
from ...state.node_tree import ROOT, NodeTree
from ...state.snapshot import Snapshot
from ...state.table import IntArray

NO_ROWS: IntArray = np.empty(0, dtype=np.int64)
NO_ROWS.flags.writeable = False

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
    running: IntArray = field(default_factory=lambda: NO_ROWS)
    minimum: int = 0
    total: int = 0
    need: IntArray = field(default_factory=lambda: NO_ROWS)
    wanted: IntArray = field(default_factory=lambda: NO_ROWS)
    """The resources that it needs, without `pods`, as a column of their rows; `column` has how much of each."""
    column: IntArray = field(default_factory=lambda: NO_ROWS)
    of_one_shape: bool = False
    """Whether `need` is what the pods of `wants` take, all of one shape: then counting those pods is enough."""
    wants: Mapping[Shape, int] = field(default_factory=dict)
    all_wants: Mapping[Shape, int] = field(default_factory=dict)
    order: Order | None = None
    """The order of domains: its own, or that of the nearest group around it."""
    watched: tuple[GroupPart, ...] = ()
    """Itself and the parts around it, outermost first, that have a preferred level or a number of pods in all."""
    divided: tuple[GroupPart, ...] = ()
    """The parts around it, outermost first, whose groups are apart."""

    @property
    def needed_parts(self) -> int:
        """How many of its parts have to be placed."""
        minimum = self.group.min_groups
        return len(self.parts) if minimum is None else min(minimum, len(self.parts))

    @property
    def pods(self) -> int:
        """The pods that its minimum places at least, for ordering and messages."""
        return sum(self.wants.values())

    @property
    def needs_none(self) -> bool:
        """Whether its minimums hold without a single pod placed."""
        if self.minimum or self.total:
            return False
        return sum(one.needs_none for one in self.parts) >= self.needed_parts

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
        self._charges: dict[Shape, IntArray] = {}
        self._needs: dict[tuple[Shape, int], tuple[IntArray, IntArray, IntArray]] = {}

    def read(self, request: Request) -> GroupPart | Reason:
        top = self._part(Group(request.groups), None)
        return top if self.wrong is None else self.wrong

    def _part(self, group: Group, above: GroupPart | None) -> GroupPart:
        part = GroupPart(group, self._count, above, self._bounds(group, group.constraint), self._apart(group.apart))
        self._count += 1
        part.total = max(0, group.min_total - sum(len(one.running) for one in group.pod_sets)) if group.min_total else 0
        part.order = group.order or (None if above is None else above.order)
        outside = () if above is None else above.watched
        prefers = part.bounds is not None and part.bounds.preferred is not None
        part.watched = (*outside, part) if prefers or part.total else outside
        if above is not None:
            part.divided = above.divided if above.apart is None else (*above.divided, above)
        for member in group.members:
            if isinstance(member, Group):
                part.parts.append(self._part(member, part))
            elif member.constraint is not None:
                alone = Group((replace(member, constraint=None),), member.name, member.constraint)
                part.parts.append(self._part(alone, part))
            else:
                part.batches.append(self._batch(part, member))
        running = [batch.running for batch in part.batches] + [one.running for one in part.parts]
        if any(map(len, running)):
            part.running = np.concatenate(running)
        part.minimum = self._minimum(part)
        self._sum_up(part)
        self._check_running(part)
        return part

    def _batch(self, part: GroupPart, pod_set: PodSet) -> Batch:
        rows = [row for name in pod_set.running if (row := self.columns.leaf_of_node(name)) is not None]
        return Batch(part, pod_set, self._charge(pod_set.shape), np.array(rows, dtype=np.int64) if rows else NO_ROWS)

    def _charge(self, shape: Shape) -> IntArray:
        known = self._charges.get(shape)
        if known is None:
            known = self._charges[shape] = self.columns.charge_vector(shape.charge)
        return known

    def _need(self, shape: Shape, count: int) -> tuple[IntArray, IntArray, IntArray]:
        """What pods of one shape take: `need`, `wanted` and `column` of a part."""
        known = self._needs.get((shape, count))
        if known is None:
            need = self._charge(shape) * count
            known = self._needs[shape, count] = need, *self._wanted(need)
        return known

    def _wanted(self, need: IntArray) -> tuple[IntArray, IntArray]:
        wanted = need > 0
        wanted[self.columns.index[PODS]] = False
        rows = np.flatnonzero(wanted)[:, None]
        return rows, need[rows]

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
            part.need, part.wanted, part.column = self._need(only.shape, part.minimum)
            part.wants, part.all_wants = {only.shape: part.minimum}, {only.shape: only.count}
            part.of_one_shape = True
            return
        if len(part.parts) == part.needed_parts == 1 and not part.batches:
            below = part.parts[0]
            part.need, part.wanted, part.column = below.need, below.wanted, below.column
            part.of_one_shape = below.of_one_shape
            part.wants, part.all_wants = +Counter(below.wants), +Counter(below.all_wants)
        else:
            self._add(part)
        if len(part.all_wants) == 1 and part.pods < part.total:
            self._raise(part)

    def _add(self, part: GroupPart) -> None:
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
        part.wanted, part.column = self._wanted(need)
        part.of_one_shape = len(part.wants) == 1 and all(
            np.array_equal(need, self._charge(shape) * count) for shape, count in part.wants.items()
        )

    def _raise(self, part: GroupPart) -> None:
        """All pods are of one shape, so at least `total` of them are placed."""
        ((shape, _),) = part.all_wants.items()
        part.wants, part.of_one_shape = {shape: part.total}, True
        part.need, part.wanted, part.column = self._need(shape, part.total)

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
