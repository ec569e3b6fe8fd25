"""Gangs on nodes: what the suites of the group dialects share.

A case gives raw objects; they are read by the function that every command uses, placed by the engine in their order,
and what was placed is checked here, without the engine, against every constraint and minimum of the request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from closeknit.dialects.core import WireNode, WirePod, node, requests
from closeknit.dialects.gang_reading import GangReading
from closeknit.dialects.gangs import read_gangs
from closeknit.engine.policy import Policy
from closeknit.model.node import Node
from closeknit.model.request import Group
from closeknit.model.resources import PODS
from closeknit.model.topology import ListedTopology, Topology
from closeknit.state.table import NodeTable

Raw = dict[str, Any]
READY = {"type": "Ready", "status": "True"}


@dataclass
class GangCluster:
    """Nodes, and objects in the order of their creation; `bind` gives every gang that fits its nodes."""

    nodes: list[Raw] = field(default_factory=list)
    objects: list[Raw] = field(default_factory=list)
    pods: list[Raw] = field(default_factory=list)
    served: set[str] = field(default_factory=set)
    """The gangs that have got a node for a pod."""

    def bind(self) -> dict[str, str]:
        """Place the gangs one after another, and set the nodes of their pods: new ones by namespace/name."""
        bound: dict[str, str] = {}
        for number in range(len(self.reading().gangs)):
            bound |= self._bind(self.reading(), number)
        return bound

    def reading(self) -> GangReading:
        labels = {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in self.nodes}
        pods = [{"apiVersion": "v1", "kind": "Pod", **pod} for pod in self.pods]
        return read_gangs([("case", one) for one in (*self.objects, *pods)], labels)

    def _bind(self, found: GangReading, number: int) -> dict[str, str]:
        from closeknit.engine.groups.place import place_groups
        from closeknit.state.node_tree import node_columns, tree_over

        gang = found.gangs[number]
        columns = node_columns(NodeTable.of(self._nodes()))
        for running in self._running():
            columns.use(running.spec.node_name or "", requests(running.spec))
        columns.commit()
        trees = {name: tree_over(columns.table, topology) for name, topology in found.topologies.items()}
        result = place_groups(columns, trees, gang.request, Policy())
        bound = {
            key: name
            for one in gang.request.pod_sets
            if one.name in result.placed
            for key, name in zip(one.pods, result.placed[one.name].nodes(columns), strict=False)
        }
        self.served |= {gang.key} if bound else set()
        for pod in self.pods:
            name = bound.get(key_of(pod))
            if name is not None:
                pod["spec"] = {**pod["spec"], "nodeName": name}
        return bound

    def _nodes(self) -> list[Node]:
        ready = [{**one, "status": {**one["status"], "conditions": [READY]}} for one in self.nodes]
        return [node(msgspec.convert(one, WireNode)) for one in ready]

    def _running(self) -> Iterator[WirePod]:
        wires = (msgspec.convert(pod, WirePod) for pod in self.pods)
        return (pod for pod in wires if pod.runs)

    def faults(self) -> list[str]:
        """What is wrong with the pods as they are bound now; minimums only of gangs that have got a node."""
        found = self.reading()
        faults = list(self._overfull())
        for gang in found.gangs:
            for group in gang.request.groups:
                faults += _outside(group, found.topologies, self.nodes)
                if gang.key in self.served and not _is_met(group):
                    faults.append(f"{gang.key} is below its minimums")
        return faults

    def _overfull(self) -> Iterator[str]:
        used: dict[str, Counter[str]] = {one["metadata"]["name"]: Counter() for one in self.nodes}
        for pod in self._running():
            used[pod.spec.node_name or ""].update({**requests(pod.spec), PODS: 1})
        for one in self._nodes():
            over = [name for name, amount in used[one.name].items() if amount > one.allocatable.get(name, 0)]
            yield from (f"{one.name} holds more {name} than it has" for name in over)


def key_of(pod: Raw) -> str:
    meta = pod["metadata"]
    return f"{meta.get('namespace') or 'default'}/{meta['name']}"


def _outside(group: Group, topologies: Mapping[str, Topology], nodes: Sequence[Raw]) -> Iterator[str]:
    """Groups at any depth whose bound pods are in several domains of their required level, or in none."""
    bounds = group.constraint
    if bounds is not None and bounds.required:
        used = {name for one in group.pod_sets for name in one.running}
        domains = {_domain(topologies[bounds.topology], bounds.required, one) for one in nodes if _name(one) in used}
        if len(domains) > 1 or None in domains:
            yield f"{group.name} is not in one {bounds.required}: {sorted(map(str, domains))}"
    for child in group.groups:
        yield from _outside(child, topologies, nodes)


def _domain(topology: Topology, level: str, one: Raw) -> tuple[str | None, ...] | None:
    index = topology.levels.index(level)
    labels = one["metadata"].get("labels") or {}
    path: Sequence[str | None] = [labels.get(key) for key in topology.levels]
    if isinstance(topology, ListedTopology):
        path = topology.paths[_name(one)]
    return None if path[index] is None else tuple(path[: index + 1])


def _name(one: Raw) -> str:
    return str(one["metadata"]["name"])


def _is_met(group: Group) -> bool:
    running = sum(len(one.running) for one in group.own_pod_sets)
    waiting = sum(one.count for one in group.own_pod_sets)
    pods = running + waiting if group.min_pods is None else group.min_pods
    groups = len(group.groups) if group.min_groups is None else group.min_groups
    total = sum(len(one.running) for one in group.pod_sets)
    return running >= pods and sum(map(_is_met, group.groups)) >= groups and total >= (group.min_total or 0)
