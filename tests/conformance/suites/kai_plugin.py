"""The building blocks of KAI's topology plugin that have a counterpart in the search for trees of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import msgspec
import numpy as np

from closeknit.dialects.core import PodSpec, WireNode, node, requests, shape
from closeknit.engine.groups.domains import domains, shares
from closeknit.engine.groups.parts import Part, Reader
from closeknit.engine.groups.scope import Scope
from closeknit.engine.groups.trial import Trial
from closeknit.engine.policy import Policy
from closeknit.model.node import Node
from closeknit.model.reason import Reason
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.resources import PODS, amounts
from closeknit.model.shape import Shape
from closeknit.model.topology import NODE, ListedTopology, Topology
from closeknit.state.node_tree import ROOT, NodeTree, node_columns, tree_over
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

from .case import Case, NotRun, Prepared

Raw = dict[str, Any]
NO_COUNTERPART = {
    "node_scores": "scores of 11 steps stand for an order of domains; the search orders domains themselves",
    "reverse_level_order": "an order in which KAI walks its own objects",
    "build_tree": "counts KAI's own objects, its root included",
}
READY = {"type": "Ready", "status": "True"}


def building_block(case: Case) -> Prepared:
    kind, given, expected = case["kind"], deepcopy(case["input"]), case["expected"]
    if kind in NO_COUNTERPART:
        raise NotRun(NO_COUNTERPART[kind])
    answer, want = BLOCKS[kind](given, expected)
    return Prepared(answer, lambda found: found, want)


Block = tuple[Callable[[], Any], Any]


def _levels(raw: Raw) -> Topology:
    return Topology(raw["metadata"]["name"], tuple(one["nodeLabel"] for one in raw["spec"]["levels"]))


def _constraint(raw: Raw | None, topology: str) -> Constraint | None:
    given = raw or {}
    required, preferred = (given.get(f"{word}TopologyLevel") or None for word in ("required", "preferred"))
    return Constraint(required, preferred, topology=given.get("topology", topology)) if raw else None


def _columns(nodes: Sequence[Raw]) -> Snapshot:
    ready = [{**one, "status": {**one["status"], "conditions": [READY]}} for one in nodes]
    return node_columns(NodeTable.of(node(msgspec.convert(one, WireNode)) for one in ready))


def _part(columns: Snapshot, trees: dict[str, NodeTree], group: Group) -> Part | None:
    """The part of a group, if its topology and levels exist."""
    read = Reader(columns, trees).read(Request((group,)))
    return None if isinstance(read, Reason) else read.parts[0]


def _scopes(trial: Trial, part: Part, around: Scope) -> Iterator[Scope]:
    if part.bounds is None:
        yield around
    else:
        yield from domains(trial, part, part.bounds, around, "binpack", ())


def subset_nodes(given: Raw, expected: Raw) -> Block:
    columns, topology = _columns(given["nodes"]), _levels(given["topology"])
    trees = {topology.name: tree_over(columns.table, topology)}
    specs = [msgspec.convert(one["spec"], PodSpec) for one in given["pods"]]
    running = tuple(one.node_name for one in specs if one.node_name)
    waiting = [shape(one) for one in specs if not one.node_name]
    for one in specs:
        if one.node_name:
            columns.use(one.node_name, requests(one))
    sets = tuple(PodSet(f"s{at}", waiting.count(one), one) for at, one in enumerate(dict.fromkeys(waiting)))
    constraint = _constraint(given["podGroup"]["spec"]["topologyConstraint"], topology.name)
    group = Group((*sets, *(PodSet("r", 0, Shape.of({}), running=running),)), "g", constraint)

    def answer() -> Any:
        part = _part(columns, trees, group)
        rows = np.array([columns.row_of[name] for name in given["candidateNodes"]], dtype=np.int64)
        found = [] if part is None else _scopes(Trial(columns, Policy()), part, Scope(rows=np.sort(rows)))
        return [sorted(columns.table.names[row] for row in one.all_rows(len(columns.table))) for one in found]

    return answer, [sorted(one) for one in expected["allSubsets"]]


def relevant_levels(given: Raw, expected: Raw) -> Block:
    topology = _levels(given["topology"])
    columns = node_columns(NodeTable.of([Node("n", dict.fromkeys(topology.levels, "x"), {PODS: 1})]))
    trees = {topology.name: tree_over(columns.table, topology)}
    group = Group((PodSet("s", 1, Shape.of({})),), "g", _constraint(given["topologyConstraint"], topology.name))

    def answer() -> Any:
        part = _part(columns, trees, group)
        if part is None or part.bounds is None:
            return None
        return ["root" if level == ROOT else topology.levels[level] for level in part.bounds.levels]

    return answer, expected["levels"]


def allocatable_pods(given: Raw, expected: Raw) -> Block:
    columns, topology = _columns(given["nodes"]), _levels(given["topology"])
    tree = tree_over(columns.table, topology)
    for one in given["existingPods"]:
        if not one["metadata"].get("deletionTimestamp"):
            columns.use(one["spec"]["nodeName"], requests(msgspec.convert(one["spec"], PodSpec)))
    asked = [shape(msgspec.convert(one["spec"], PodSpec)) for one in given["pods"]]

    def answer() -> Any:
        pods = np.minimum(Trial(columns, Policy()).fit(asked[0]).pods, len(asked))[tree.rows]
        found = []
        for want in expected["domains"]:
            level = topology.levels.index(want["level"])
            paths = [list(tree.path(level, one)) for one in range(len(tree.values[level]))]
            low, high = tree.range_of(level, paths.index(want["path"]))
            found.append({**want, "allocatablePods": int(pods[low:high].sum())})
        return {"total": int(pods.sum()), "domains": found}

    return answer, expected


def allocatable_domains(given: Raw, expected: Raw) -> Block:
    topology = _levels(given["topology"])
    columns, tree = _counted(topology, given["domains"])
    one = Shape.of({"cpu": 1})
    running = tuple(pod["spec"]["nodeName"] for pod in given["pods"] if pod["spec"].get("nodeName"))
    sets = (PodSet("s", given["podsToPlace"], one, running=running),)
    group = Group(sets, "g", _constraint(given["topologyConstraint"], topology.name))

    def answer() -> Any:
        part = _part(columns, {topology.name: tree}, group)
        if part is None:
            return None
        found = _scopes(Trial(columns, Policy()), part, Scope())
        return sorted(_name(tree, scope) for scope in found)

    depth = {key: at for at, key in enumerate(topology.levels)}
    want = expected["domains"]
    return answer, None if want is None else sorted((depth[one["level"]], one["path"][-1]) for one in want)


def _name(tree: NodeTree, scope: Scope) -> tuple[int, str]:
    """The widest domain that is exactly this scope."""
    for level in range(len(tree.levels)):
        for domain in range(len(tree.values[level])):
            if tree.range_of(level, domain) == (scope.low, scope.high) and len(tree.values[level][domain]) > 0:
                lower = level + 1
                same = lower < len(tree.levels) and tree.domain[lower][scope.low] == tree.domain[lower][scope.high - 1]
                if not same:
                    return level, tree.values[level][domain]
    return ROOT, ""


def _counted(topology: Topology, given: Sequence[Raw]) -> tuple[Snapshot, NodeTree]:
    """Nodes such that each domain holds as many pods as it says: a node for each leaf, and one for what is left."""
    depth = {key: at for at, key in enumerate(topology.levels)}
    paths: dict[str, tuple[str | None, ...]] = {}
    room: dict[str, int] = {}
    for one in sorted(given, key=lambda one: -depth[one["level"]]):
        at, own = depth[one["level"]], tuple(one["path"])
        below = [room[name] for name, path in paths.items() if own[-1] in path]
        name = (one.get("nodes") or [f"n-{'-'.join(own)}"])[0]
        above = (None,) * (at + 1 - len(own))
        paths[name] = (*above, *own, *(None,) * (len(topology.levels) - at - 1))
        room[name] = one["allocatablePods"] - sum(below)
    nodes = [Node(name, {}, {"cpu": count, PODS: 10**6}) for name, count in room.items()]
    columns = node_columns(NodeTable.of(nodes))
    return columns, tree_over(columns.table, ListedTopology(topology.name, (*topology.levels, NODE), paths))


def level_domains(given: Raw, expected: Raw) -> Block:
    tree, _ = _drawn(given["tree"])
    return lambda: sorted(tree.values[tree.levels.index(given["level"])]), sorted(expected["domains"])


def sort_tree(given: Raw, expected: Raw) -> Block:
    asked = amounts(given["request"])
    names = [name for name, amount in sorted(asked.items()) if amount]
    need = np.array([asked[name] for name in names], dtype=np.int64)

    def ordered(raw: Raw) -> Raw:
        children = sorted(raw.get("children") or (), key=lambda one: str(one["id"]))
        if not children:
            return {"id": raw["id"]}
        given_free = [amounts(one.get("freeResources") or {}) for one in children]
        free = np.array([[one.get(name, 0) for one in given_free] for name in names], dtype=np.int64)
        order = np.argsort(-shares(free, need), kind="stable")
        return {"id": raw["id"], "children": [ordered(children[at]) for at in order.tolist()]}

    tree = ordered(given["tree"])
    if expected.get("tree"):
        return lambda: tree, expected["tree"]
    return lambda: [one["id"] for one in tree["children"]], expected["rootChildren"]


def _drawn(raw: Raw) -> tuple[NodeTree, Snapshot]:
    """The tree of nested objects, with a node for each leaf."""
    levels: list[str] = []
    paths: dict[str, tuple[str | None, ...]] = {}

    def walk(one: Raw, path: tuple[str | None, ...]) -> None:
        if one["level"] not in levels:
            levels.append(one["level"])
        if not one.get("children"):
            paths[f"n-{one['id']}"] = (*path, one["id"])
        for child in one.get("children") or ():
            walk(child, (*path, one["id"]))

    walk(raw, ())
    columns = node_columns(NodeTable.of(Node(name, {}, {PODS: 1}) for name in paths))
    full = {name: (*path, *(None,) * (len(levels) - len(path))) for name, path in paths.items()}
    return tree_over(columns.table, ListedTopology("t", (*levels, NODE), full)), columns


def lowest_common_domain(given: Raw, expected: Raw) -> Block:
    nodes = [Node(one["metadata"]["name"], one["metadata"]["labels"], {PODS: 1}) for one in given["nodes"]]
    columns = node_columns(NodeTable.of(nodes))
    tree = tree_over(columns.table, Topology("t", tuple(given["levels"])))

    def answer() -> Any:
        names = [columns.table.names[row] for row in tree.rows.tolist()]
        level = tree.common(0, len(tree.rows), given["preferredLevel"] and tree.level(given["preferredLevel"]))
        path = [] if level == ROOT else list(tree.path(level, int(tree.domain[level][0])))
        return {"level": "root" if level == ROOT else tree.levels[level], "path": path, "validNodes": sorted(names)}

    return answer, {**expected, "validNodes": sorted(expected["validNodes"])}


def node_in_topology(given: Raw, expected: Raw) -> Block:
    columns = node_columns(NodeTable.of([Node("n", given["labels"], {PODS: 1})]))
    tree = tree_over(columns.table, Topology("t", tuple(given["levels"])))
    return lambda: {"inTopology": len(tree.rows) == 1}, expected


BLOCKS: dict[str, Callable[[Raw, Raw], Block]] = {
    "subset_nodes": subset_nodes,
    "relevant_levels": relevant_levels,
    "allocatable_pods": allocatable_pods,
    "allocatable_domains": allocatable_domains,
    "level_domains": level_domains,
    "sort_tree": sort_tree,
    "lowest_common_domain": lowest_common_domain,
    "node_in_topology": node_in_topology,
}
