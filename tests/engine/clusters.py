"""Small random clusters and requests for property tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from closeknit.engine.place import Result
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, Layer, PodSet, Request
from closeknit.model.shape import Shape, Taint, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

BLOCK, RACK = "example.com/block", "example.com/rack"
TOPOLOGY = Topology("default", (BLOCK, RACK, HOSTNAME))
BY_RACK = Topology("default", (BLOCK, RACK))
KINDS = ("required", "preferred", "unconstrained", "slices")
TAINT = Taint("dedicated", "x", "NoSchedule")
BOOLEANS = st.booleans()
T = TypeVar("T")


@dataclass(frozen=True)
class Cluster:
    nodes: tuple[Node, ...]
    used: tuple[int, ...]

    def snapshot(self, topology: Topology = TOPOLOGY) -> Snapshot:
        """With `used` pods of one cpu on each node, by workloads that were not placed here."""
        snapshot = Snapshot(topology, NodeTable.of(self.nodes))
        for node, pods in zip(self.nodes, self.used, strict=True):
            for _ in range(pods):
                snapshot.use(node.name, {"cpu": 1000})
        return snapshot


def host(
    name: str, block: str, rack: str, cpu: int, pods: int = 110, taints: tuple[Taint, ...] = (), ready: bool = True
) -> Node:
    labels = {BLOCK: block, RACK: f"{block}-{rack}", HOSTNAME: name}
    return Node(name, labels, {"cpu": cpu * 1000, "pods": pods}, taints, ready)


@cache
def numbers(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


def pick(draw: st.DrawFn, values: Sequence[T]) -> T:
    """One of them, the first in the simplest case.

    `st.sampled_from` in the body of a strategy is a new strategy for every draw, and hypothesis validates each again.
    """
    return values[draw(numbers(0, len(values) - 1))]


def random_host(draw: st.DrawFn, name: str) -> Node:
    return host(
        name,
        pick(draw, "abc"),
        pick(draw, "123"),
        draw(numbers(0, 9)),
        pick(draw, (110, 110, 3)),
        pick(draw, ((), (), (), (TAINT,))),
        pick(draw, (True, True, True, False)),
    )


@st.composite
def hosts(draw: st.DrawFn, name: str) -> Node:
    return random_host(draw, name)


@st.composite
def clusters(draw: st.DrawFn, most: int = 14) -> Cluster:
    size = draw(numbers(1, most))
    nodes = tuple(random_host(draw, f"h{number:02d}") for number in range(size))
    used = tuple(draw(numbers(0, 3)) for _ in range(size))
    return Cluster(nodes, used)


def random_constraint(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Constraint:
    levels = [BLOCK, RACK, HOSTNAME]
    kind = pick(draw, kinds)
    level = draw(numbers(0, 2))
    slices: tuple[Layer, ...] = ()
    if kind == "slices" or draw(BOOLEANS):
        at = draw(numbers(level, 2))
        slices = (Layer(levels[at], draw(numbers(1, 4))),)
    match kind:
        case "required":
            return Constraint(required=levels[level], slices=slices)
        case "preferred":
            return Constraint(preferred=levels[level], slices=slices)
        case "slices":
            return Constraint(slices=slices)
    return Constraint(unconstrained=True, slices=slices)


def random_shape(draw: st.DrawFn) -> Shape:
    return Shape.of(
        {"cpu": pick(draw, (500, 1000, 2000))}, None, pick(draw, ((), (Toleration("dedicated", "Exists"),)))
    )


@st.composite
def requests(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, most: int = 24) -> Request:
    """One pod set, or a leader with its workers."""
    constraint = random_constraint(draw, kinds)
    count = draw(numbers(1, most))
    if draw(BOOLEANS) and not constraint.spreads:
        leader = PodSet("leader", 1, random_shape(draw), constraint)
        workers = PodSet("workers", max(2, count), random_shape(draw), constraint)
        return Request((Group((leader, workers), "group"),))
    return Request.of([PodSet("main", count, random_shape(draw), constraint)])


def shown(result: Result) -> list[tuple[str, object]]:
    """A result as plain values, to compare."""
    return [
        (o.pod_set.name, str(o.reason) if o.assignment is None else tuple(o.assignment.domains))
        for o in result.outcomes
    ]


def pods_by_node(result: Result) -> dict[str, dict[str, int]]:
    """Pods that a result puts on each host, by pod set."""
    found: dict[str, dict[str, int]] = {}
    for outcome in result.outcomes:
        for path, count in outcome.assignment.domains if outcome.assignment else ():
            found.setdefault(path[-1], {})[outcome.pod_set.name] = count
    return found


def columns(snapshot: Snapshot) -> dict[str, dict[str, list[int]]]:
    """What every usable leaf has left, by its name and resource: independent of how rows are laid out."""
    usable = snapshot.usable(np.arange(snapshot.tree.leaves))
    return {
        "/".join(name): {
            resource: snapshot.remaining[at, leaf].tolist() for resource, at in sorted(snapshot.index.items())
        }
        for leaf, name in enumerate(snapshot.tree.names)
        if usable[leaf]
    }
