"""Random trees of groups on small clusters, for comparing the search with an exact solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from closeknit.model.node import Node
from closeknit.model.pod_rules import HostPort, PodKind, PodRules, PodTerm, SpreadRule
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Requirement, Shape, Taint, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.node_tree import NodeTree, node_columns, tree_over
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

LEVELS = ("zone", "block", "rack")
GPU = "nvidia.com/gpu"
MOST_GROUPS, MOST_NODES = 12, 40
TAINT = Taint("dedicated", "x", "NoSchedule")


@dataclass(frozen=True)
class Case:
    """A cluster, its trees, and a request."""

    seed: int
    columns: Snapshot
    trees: dict[str, NodeTree]
    request: Request


def random_case(seed: int, more: int = 0, filters: bool = False) -> Case:
    """The case of a seed; with `more`, every node has that much more free CPU and that many more free pods.

    With `filters`, some nodes have taints, and some pods host ports, anti-affinity or topology spread.
    """
    random = Random(seed)
    drawn = RandomFilters(seed) if filters else None
    depth = random.randint(1, 3)
    nodes = [_grown(node, more) for node in _nodes(random, depth)]
    nodes = nodes if drawn is None else [drawn.node(one) for one in nodes]
    columns = node_columns(NodeTable.of(nodes))
    trees = {"net": tree_over(columns.table, Topology("net", LEVELS[3 - depth :]))}
    if random.random() < 0.25:
        trees["power"] = tree_over(columns.table, Topology("power", ("feed",)))
    return Case(seed, columns, trees, Request((_Maker(random, trees, drawn).group(0, -1),)))


def _nodes(random: Random, depth: int) -> list[Node]:
    count, wide = random.randint(4, MOST_NODES), random.randint(2, 4)
    gpus = random.choice([(0,), (4, 8), (1, 2, 4), (8,)])
    found = []
    for at in range(count):
        rack = at * wide ** (depth - 1) // count if depth > 1 else at * wide // count
        labels = {"rack": f"r{rack:02}", "block": f"b{rack // wide:02}", "zone": f"z{rack // wide**2:02}"}
        labels |= {"feed": f"f{random.randrange(3)}", "pool": random.choice("aab")}
        room = {"cpu": random.choice((4000, 8000, 16000)), GPU: random.choice(gpus), "pods": random.choice((4, 110))}
        found.append(Node(f"n{at:02}", labels, room))
    return found


def _grown(node: Node, more: int) -> Node:
    room = {**node.allocatable, "cpu": node.allocatable["cpu"] + 1000 * more, "pods": node.allocatable["pods"] + more}
    return replace(node, allocatable=room)


class RandomFilters:
    """Draws what the filters of nodes and pods look at, apart from the rest of a case, which stays as it is."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"filters of {seed}")

    def node(self, node: Node) -> Node:
        taints = (TAINT,) if self.random.random() < 0.15 else ()
        return replace(node, labels={**node.labels, HOSTNAME: node.name}, taints=taints)

    def shape(self, shape: Shape, at: int, shapes: int) -> Shape:
        """The shape with rules about pods of its own app or of another one."""
        random = self.random
        other = self._app(random.choice((at, at, random.randrange(shapes))))
        ports = (HostPort("TCP", 80),) if random.random() < 0.2 else ()
        anti = (PodTerm(random.choice((HOSTNAME, HOSTNAME, "rack")), other, ("default",)),)
        kind = PodKind("default", (("app", f"a{at}"),), ports, anti if random.random() < 0.25 else ())
        spread = (SpreadRule(random.choice(LEVELS), random.randint(1, 3), self._app(at)),)
        rules = PodRules(kind, spread=spread if random.random() < 0.2 else ())
        tolerations = (Toleration(TAINT.key, "Exists"),) if random.random() < 0.5 else ()
        return replace(shape, tolerations=tolerations).ruled(rules if rules.asks else None, kind)

    def _app(self, at: int) -> tuple[Requirement, ...]:
        return (Requirement("app", "In", (f"a{at}",)),)


class _Maker:
    """Groups of a random tree."""

    def __init__(self, random: Random, trees: dict[str, NodeTree], drawn: RandomFilters | None) -> None:
        self.random, self.trees, self.groups = random, trees, 0
        self.shapes = [self._shape() for _ in range(random.choice((1, 1, 2, 3)))]
        if drawn is not None:
            self.shapes = [drawn.shape(one, at, len(self.shapes)) for at, one in enumerate(self.shapes)]

    def group(self, depth: int, above: int) -> Group:
        random = self.random
        self.groups += 1
        name = f"g{self.groups}"
        constraint, level = self._constraint(above)
        inner = depth < 3 and self.groups < MOST_GROUPS and random.random() < (0.9, 0.5, 0.3)[min(depth, 2)]
        if not inner:
            sets = tuple(self._pods(f"{name}-{at}") for at in range(random.choice((1, 1, 1, 2))))
            total = sum(one.count for one in sets)
            return Group(sets, name, constraint, min_pods=random.choice((None, None, None, max(1, total - 1))))
        wanted = range(random.randint(1, 4))
        members = [self.group(depth + 1, level) for _ in wanted if self.groups < MOST_GROUPS] or [self._leaf(name)]
        most = random.choice((None, None, max(1, len(members) - 1)))
        return Group(tuple(members), name, constraint, min_groups=most)

    def _leaf(self, name: str) -> Group:
        return Group((self._pods(name),), name)

    def _constraint(self, above: int) -> tuple[Constraint | None, int]:
        """A constraint at or below the level of the group around it."""
        random = self.random
        levels = self.trees["net"].levels
        if "power" in self.trees and random.random() < 0.15:
            return Constraint(required="feed", topology="power"), above
        if random.random() < 0.3:
            return None, above
        required = random.randint(max(above, 0), len(levels) - 1) if random.random() < 0.7 else None
        low = required if required is not None else max(above, 0)
        preferred = random.randint(low, len(levels) - 1) if required is None or random.random() < 0.5 else None
        outer, inner = (None if one is None else levels[one] for one in (required, preferred))
        return Constraint(outer, inner, topology="net"), above if required is None else required

    def _pods(self, name: str) -> PodSet:
        return PodSet(name, self.random.choice((1, 1, 2, 3, 4, 6)), self.random.choice(self.shapes))

    def _shape(self) -> Shape:
        random = self.random
        asks = {"cpu": random.choice((500, 1000, 2000, 3000, 5000))}
        if random.random() < 0.5:
            asks[GPU] = random.choice((1, 1, 2, 4))
        return Shape.of(asks, selector={"pool": "a"} if random.random() < 0.2 else None)
