"""Random trees of groups on two to four nodes, small enough to try every placement.

They have what the larger random trees leave out: members that run, groups that are apart, a number of pods in all,
nodes without a domain, and an order for each group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from random import Random

from closeknit.model.node import Node
from closeknit.model.request import Apart, Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import Topology
from closeknit.state.node_tree import NodeTree, node_columns, tree_over
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

LEVELS = {"net": ("zone", "rack"), "power": ("feed",)}
MOST_PODS = 6
GPU = "nvidia.com/gpu"

Where = Mapping[str, tuple[str, ...]]
"""The nodes of the pods of each pod set."""


@dataclass(frozen=True)
class TinyCase:
    nodes: Mapping[str, Node]
    columns: Snapshot
    trees: Mapping[str, NodeTree]
    request: Request


def tiny_case(seed: int) -> TinyCase:
    random = Random(seed)
    nodes = {f"n{at}": _node(random, f"n{at}") for at in range(random.randint(2, 4))}
    columns = node_columns(NodeTable.of(nodes.values()))
    trees = {name: tree_over(columns.table, Topology(name, levels)) for name, levels in LEVELS.items()}
    maker = _Maker(random, [*nodes])
    return TinyCase(nodes, columns, trees, Request(tuple(maker.group(0) for _ in range(random.choice((1, 1, 2))))))


def _node(random: Random, name: str) -> Node:
    labels = {"zone": f"z{random.randrange(2)}", "rack": f"r{random.randrange(3)}", "feed": f"f{random.randrange(2)}"}
    if random.random() < 0.1:
        del labels[random.choice([*labels])]
    room = {"cpu": 1000 * random.randint(1, 4), GPU: random.randint(0, 2), "pods": random.choice((2, 10))}
    return Node(name, labels, room)


class _Maker:
    def __init__(self, random: Random, nodes: list[str]) -> None:
        self.random, self.nodes, self.groups, self.sets, self.pods = random, nodes, 0, 0, 0
        self.shapes = [self._shape() for _ in range(random.choice((1, 2)))]

    def group(self, depth: int) -> Group:
        random, name = self.random, f"g{self.groups}"
        self.groups += 1
        members: list[PodSet | Group] = []
        if depth < 2 and random.random() < 0.6:
            members += [self.group(depth + 1) for _ in range(random.randint(1, 3))]
        if not members or random.random() < 0.1:
            members += [self._pod_set() for _ in range(random.choice((1, 1, 2)))]
        made = Group(tuple(members), name)
        own, every = (sum(one.count + len(one.running) for one in sets) for sets in (made.own_pod_sets, made.pod_sets))
        return Group(
            made.members,
            name,
            self._constraint(),
            min_pods=random.choice((None, None, random.randint(0, own))) if made.own_pod_sets else None,
            min_groups=random.choice((None, random.randint(0, len(made.groups)))) if made.groups else None,
            min_total=random.randint(1, every) if every and random.random() < 0.15 else None,
            order=random.choice((None, "spread", "binpack")),
            apart=self._apart() if len(made.groups) > 1 and random.random() < 0.4 else None,
        )

    def _constraint(self) -> Constraint | None:
        topology = self.random.choice(("net", "net", "power"))
        levels = LEVELS[topology]
        required, preferred = (self.random.choice((None, None, *levels)) for _ in range(2))
        if required and preferred and levels.index(preferred) < levels.index(required):
            preferred = required
        return Constraint(required, preferred, topology=topology) if required or preferred else None

    def _apart(self) -> Apart:
        topology = self.random.choice(("net", "power"))
        return Apart(self.random.choice(LEVELS[topology]), self.random.random() < 0.75, topology)

    def _pod_set(self) -> PodSet:
        self.sets += 1
        count = min(self.random.choice((1, 1, 2, 3)), MOST_PODS - self.pods)
        self.pods += count
        running = tuple(self.random.choice(self.nodes) for _ in range(self.random.choice((0, 0, 0, 1, 2))))
        return PodSet(f"s{self.sets}", count, self.random.choice(self.shapes), running=running)

    def _shape(self) -> Shape:
        gpus = {GPU: 1} if self.random.random() < 0.3 else {}
        return Shape.of({"cpu": 1000 * self.random.choice((1, 1, 2)), **gpus})


def groups_of(request: Request) -> Iterator[Group]:
    waiting = [*request.groups]
    while waiting:
        waiting += (group := waiting.pop()).groups
        yield group


def holds(case: TinyCase, where: Where) -> bool:
    """Whether a placement breaks no limit: capacity, required levels, groups apart, no pods of groups left out."""
    return _has_room(case, where) and all(_holds(case, group, where) for group in groups_of(case.request))


def is_met(case: TinyCase, where: Where) -> bool:
    """Whether the minimums of the whole tree are met."""
    return all(_is_met(group, where) for group in case.request.groups)


def is_possible(case: TinyCase) -> bool:
    """Whether any placement at all holds and meets every minimum."""
    return any(is_met(case, where) and holds(case, where) for where in _everywhere(case, [*case.request.pod_sets]))


def _everywhere(case: TinyCase, sets: list[PodSet]) -> Iterator[dict[str, tuple[str, ...]]]:
    if not sets:
        yield {}
        return
    first, *rest = sets
    for where in _everywhere(case, rest):
        for count in range(first.count + 1):
            for nodes in combinations_with_replacement(case.nodes, count):
                more = {**where, first.name: nodes}
                if _has_room(case, more):
                    yield more


def _has_room(case: TinyCase, where: Where) -> bool:
    taken = {name: {"pods": 0, "cpu": 0, GPU: 0} for name in case.nodes}
    for one in case.request.pod_sets:
        for node in where.get(one.name, ()):
            for resource, amount in {**dict(one.shape.requests), "pods": 1}.items():
                taken[node][resource] += amount
    return all(
        amount <= case.nodes[node].allocatable[name] for node, found in taken.items() for name, amount in found.items()
    )


def _holds(case: TinyCase, group: Group, where: Where) -> bool:
    placed, constraint = _placed(group, where), group.constraint
    if placed and not _is_met(group, where):
        return False
    if constraint is not None and constraint.required is not None and placed:
        homes = {_domain(case, node, constraint.topology, constraint.required) for node in placed}
        running = {_domain(case, node, constraint.topology, constraint.required) for node in _running(group)} - {None}
        if None in homes or len(homes | running) > 1:
            return False
    apart = group.apart
    if apart is None or not apart.required:
        return True
    return all(
        _domains(case, apart, _placed(one, where)).isdisjoint(
            _domains(case, apart, [*_placed(other, where), *_running(other)])
        )
        for one, other in permutations(group.groups, 2)
    )


def _is_met(group: Group, where: Where) -> bool:
    own = sum(len(where[one.name]) + len(one.running) for one in group.own_pod_sets)
    every = sum(one.count + len(one.running) for one in group.own_pod_sets)
    met = sum(_is_met(one, where) for one in group.groups)
    total = len(_placed(group, where)) + len(_running(group))
    return (
        own >= (every if group.min_pods is None else group.min_pods)
        and met >= (len(group.groups) if group.min_groups is None else group.min_groups)
        and total >= (group.min_total or 0)
    )


def _placed(group: Group, where: Where) -> list[str]:
    return [node for one in group.pod_sets for node in where[one.name]]


def _running(group: Group) -> list[str]:
    return [node for one in group.pod_sets for node in one.running]


def _domain(case: TinyCase, node: str, topology: str, level: str) -> tuple[str, ...] | None:
    labels, levels = case.nodes[node].labels, LEVELS[topology]
    if any(key not in labels for key in levels):
        return None
    return tuple(labels[key] for key in levels[: levels.index(level) + 1])


def _domains(case: TinyCase, apart: Apart, nodes: list[str]) -> set[tuple[str, ...] | None]:
    return {_domain(case, node, apart.topology, apart.level) for node in nodes} - {None}
