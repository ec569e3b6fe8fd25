"""Free capacity per node, and which nodes a pod may use: updated incrementally.

A pod that selects its host costs one lookup. For all others there is a `NodeSearch` per shape: a heap of the nodes,
ordered by name, that are not known to be full for it. A full node leaves the heap and returns when it changes, so the
cost of a pod is about the number of nodes that changed since the previous pod of its shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import msgspec

from ....dialects import core
from ....model.node import Node
from ....model.pod_rules import PodRules
from ....model.resources import PODS
from ....model.shape import HARD_EFFECTS, Shape, Taint
from ...port import Key, Raw
from .bound_pods import BoundPods, refusal_text
from .node_affinity import NAME_FIELD, attracts

HOSTNAME = "kubernetes.io/hostname"
SEARCHES = 128
"""Maximum number of searches in the cache; the oldest is dropped."""
BEYOND_HELP = "Preemption is not helpful for scheduling"
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class Pin(NamedTuple):
    """A restriction of a pod to a few nodes: by the hostname label, or by the node's name."""

    label: str
    values: tuple[str, ...]


def pin_of(shape: Shape) -> Pin | None:
    for key, value in shape.selector:
        if key == HOSTNAME:
            return Pin(HOSTNAME, (value,))
    if shape.required is not None and len(shape.required) == 1:
        for one in shape.required[0].fields:
            if one.key == NAME_FIELD and one.operator == "In":
                return Pin("", one.values)
    return None


class NodeSearch:
    """The nodes that may have room for a shape: `heap` holds their names, `seen` is the position in the log."""

    __slots__ = ("heap", "members", "seen")

    def __init__(self, names: Iterable[str], seen: int) -> None:
        self.heap = list(names)
        heapify(self.heap)
        self.members = set(self.heap)
        self.seen = seen

    def offer(self, name: str) -> None:
        if name not in self.members:
            self.members.add(name)
            heappush(self.heap, name)

    def drop_first(self) -> None:
        self.members.discard(heappop(self.heap))


class NodeRoom:
    """Nodes, the pods' usage of them, and the search for room."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods = BoundPods(self.nodes)
        self._used: dict[str, dict[str, int]] = {}
        self._charges: dict[Key, tuple[str, tuple[tuple[str, int], ...]]] = {}
        self._labels: dict[str, dict[str, dict[str, None]]] = {HOSTNAME: {}}
        self._searches: dict[Shape, NodeSearch] = {}
        self._log: list[str] = []
        self._forgotten = 0

    # Nodes

    def put_node(self, raw: Raw) -> bool:
        """Add or update a node; whether the change affects scheduling."""
        node = node_of(raw)
        before = self.nodes.get(node.name)
        if node == before:
            return False
        self._unlabel(before)
        self.nodes[node.name] = node
        for key, index in self._labels.items():
            if key in node.labels:
                index.setdefault(node.labels[key], {})[node.name] = None
        self._happened(node.name)
        return True

    def drop_node(self, name: str) -> None:
        self._unlabel(self.nodes.pop(name, None))

    def _unlabel(self, node: Node | None) -> None:
        if node is not None:
            for key, index in self._labels.items():
                index.get(node.labels.get(key, ""), {}).pop(node.name, None)

    # Pods

    def charge(self, key: Key, node: str, amounts: tuple[tuple[str, int], ...]) -> None:
        """Charge a pod's requests to a node."""
        known = self._charges.get(key)
        if known is not None:
            if known[0] == node:
                return
            self.release(key)
        self._charges[key] = (node, amounts)
        used = self._used.setdefault(node, {})
        for resource, value in amounts:
            used[resource] = used.get(resource, 0) + value

    def is_charged(self, key: Key) -> bool:
        return key in self._charges

    def release(self, key: Key) -> str | None:
        """Release a pod's capacity; the node that has room again, or None if the pod used none."""
        known = self._charges.pop(key, None)
        self.pods.drop(key)
        if known is None:
            return None
        node, amounts = known
        used = self._used[node]
        for resource, value in amounts:
            used[resource] -= value
        self._happened(node)
        return node

    # Finding room

    def find(self, shape: Shape) -> str | None:
        """The first node by name that has room for a pod of this shape."""
        pin = pin_of(shape)
        if pin is not None:
            return next((name for name in self.pinned(pin) if self._takes(name, shape)), None)
        search = self._search(shape)
        while search.heap:
            name = search.heap[0]
            if self._takes(name, shape):
                return name
            search.drop_first()
        return None

    def find_by_rules(self, shape: Shape, rules: PodRules) -> str | None:
        """The first node by name that has room and that the pod's rules about other pods admit."""
        pin = pin_of(shape)
        names = sorted(self._candidates(shape)) if pin is None else self.pinned(pin)
        able = (name for name in names if self._takes(name, shape))
        return next((name for name in able if not self.pods.refusal(name, shape, rules)), None)

    def pinned(self, pin: Pin) -> list[str]:
        if not pin.label:
            return sorted(name for name in pin.values if name in self.nodes)
        index = self._labels[pin.label]
        return sorted(name for value in pin.values for name in index.get(value, ()))

    def lacks(self, name: str, shape: Shape) -> list[str]:
        """The resources that a node lacks for one more pod."""
        allocatable, used = self.nodes[name].allocatable, self._used.get(name) or {}
        return [
            resource
            for resource, need in shape.charge
            if need > 0 and need > allocatable.get(resource, 0) - used.get(resource, 0)
        ]

    def _takes(self, name: str, shape: Shape) -> bool:
        node = self.nodes.get(name)
        return node is not None and not self.lacks(name, shape) and not repels(node, shape) and attracts(node, shape)

    def _search(self, shape: Shape) -> NodeSearch:
        search = self._searches.get(shape)
        if search is None or search.seen < self._forgotten:
            self._searches.pop(shape, None)
            if len(self._searches) >= SEARCHES:
                del self._searches[next(iter(self._searches))]
            search = self._searches[shape] = NodeSearch(self._candidates(shape), self._forgotten + len(self._log))
            return search
        for name in self._log[search.seen - self._forgotten :]:
            search.offer(name)
        search.seen = self._forgotten + len(self._log)
        return search

    def _candidates(self, shape: Shape) -> Iterable[str]:
        """The nodes with the rarest label that the shape selects, or all nodes."""
        sets: list[dict[str, None]] = [self._having(key).get(value, {}) for key, value in shape.selector]
        if not sets:
            return self.nodes
        return min(sets, key=len)

    def _having(self, key: str) -> dict[str, dict[str, None]]:
        index = self._labels.get(key)
        if index is None:
            index = self._labels[key] = {}
            for node in self.nodes.values():
                if key in node.labels:
                    index.setdefault(node.labels[key], {})[node.name] = None
        return index

    def _happened(self, name: str) -> None:
        """Log a change of this node, so that all searches consider it again."""
        self._log.append(name)
        if len(self._log) > 4096 + 4 * len(self.nodes):
            half = len(self._log) // 2
            del self._log[:half]
            self._forgotten += half


def node_of(raw: Raw) -> Node:
    return core.node(msgspec.convert(raw, core.WireNode))


def repels(node: Node, shape: Shape) -> bool:
    """Whether a taint repels pods of this shape, or the node is cordoned."""
    taints = (*node.taints, CORDON) if node.unschedulable else node.taints
    return any(
        taint.effect in HARD_EFFECTS and not any(one.tolerates(taint) for one in shape.tolerations) for taint in taints
    )


def why_not(room: NodeRoom, shape: Shape, rules: PodRules | None = None) -> str:
    """kube-scheduler's message for a pod that fits on no node."""
    if not room.nodes:
        return "no nodes available to schedule pods"
    if rules is not None and rules.refused:
        return _sentence(len(room.nodes), refusal_text(rules.refused), {BEYOND_HELP: len(room.nodes)})
    causes: dict[str, int] = {}
    beyond_help = 0
    for name, node in room.nodes.items():
        found, hopeless = _causes(room, name, node, shape, rules)
        beyond_help += hopeless
        for one in found:
            causes[one] = causes.get(one, 0) + 1
    total = len(room.nodes)
    help_found = {
        BEYOND_HELP: beyond_help,
        "No preemption victims found for incoming pod": total - beyond_help,
    }
    return _sentence(total, _listed(causes), help_found)


def _sentence(total: int, causes: str, help_found: dict[str, int]) -> str:
    return (
        f"0/{total} nodes are available: {causes}. no new claims to deallocate, "
        f"preemption: 0/{total} nodes are available: {_listed(help_found)}."
    )


def _causes(room: NodeRoom, name: str, node: Node, shape: Shape, rules: PodRules | None) -> tuple[list[str], bool]:
    """Why a pod does not fit on a node, and whether removing other pods would not help."""
    if node.unschedulable and not any(one.tolerates(CORDON) for one in shape.tolerations):
        return ["node(s) were unschedulable"], True
    if repels(node, shape):
        return ["node(s) had untolerated taint(s)"], True
    if not attracts(node, shape):
        return ["node(s) didn't match Pod's node affinity/selector"], True
    lacking = room.lacks(name, shape)
    if not lacking and rules is not None:
        return [room.pods.refusal(name, shape, rules)], bool(rules.where)
    need = dict(shape.charge)
    never = any(need[resource] > node.allocatable.get(resource, 0) for resource in lacking)
    return ["Too many pods" if resource == PODS else f"Insufficient {resource}" for resource in lacking], never


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(sorted(f"{count} {text}" for text, count in counts.items() if count))
